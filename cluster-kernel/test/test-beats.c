/* SPDX-License-Identifier: BSD-2-Clause */
/* Each core's beat in the ledger, what a debugger orders by it, and the last words of a kernel that panics. */
#define revoke revoke_terminal /* harness.h has another */
#include <signal.h>
#undef revoke
#include <stdio.h>
#include <string.h>
#include <skerry/ledger.h>
#include "arch.h"
#include "harness.h"
#include "kernel.h"
#include "vspace.h"

enum { NOTE = 1000, EQUAL = 1010, BEAT_MS = 50, STEPS = 10 };

static struct ledger_kernel *ledger;
static uint64_t period;

/* The test's machine once more, with a ledger. */
static void begin(void)
{
	struct hosted_config config = machine->config;
	unsigned budget = machine->kernel.work_budget;
	hosted_destroy(machine);
	config.beat_ms = BEAT_MS;
	machine = hosted_create(&config);
	machine->kernel.work_budget = budget;
	ledger = machine->kernel.ledger;
	period = machine->kernel.tsc_hz / 1000 * BEAT_MS;
	EXPECT(ledger != 0, true);
	EXPECT(ledger->magic, LEDGER_MAGIC);
	EXPECT(ledger->state, LEDGER_RUNNING);
}

static uint64_t beats(unsigned core) { return ledger->beats[core]; }

static void pass(uint64_t cycles)
{
	hosted_advance(machine, cycles);
	settle();
}

static void expect_all(uint64_t count)
{
	for (unsigned core = 0; core < HOSTED_CORES; core++)
		EXPECT(beats(core), core < machine->config.cores ? count : 0);
}

/* One core runs the root task, the others idle; a core that has been late does not make up for it. */
static void each_core_beats(void)
{
	uint64_t count = 1; /* as soon as it starts */
	begin();
	settle();
	expect_all(count);
	for (unsigned i = 0; i < STEPS; i++) {
		pass(period - period / 4);
		expect_all(count);
		pass(period / 4);
		expect_all(++count);
	}
	pass(STEPS * period);
	expect_all(++count);
}

/* The timer interrupts for slices and deadlines ten times as often. */
static void beats_beside_other_timers(void)
{
	unsigned changes = 0;
	begin();
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	struct thread *sleeper = make_thread(EQUAL, 200, 0), *last = 0;
	make_thread(EQUAL + 2, 50, 0);
	root_priority(50);
	uint64_t count = beats(0);
	for (unsigned i = 0; i < 10 * STEPS; i++) {
		if (running(0) == sleeper)
			syscall_on(0, SYS_WAIT, NOTE, 0, W(hosted_now(machine) + period / 20), NONE, 0);
		changes += running(0) != last;
		last = running(0);
		pass(period / 10);
	}
	EXPECT(beats(0) - count, STEPS);
	EXPECT(changes > STEPS, true);
}

static void expect_timer_set(unsigned core)
{
	uint64_t timer = machine->core[core].timer;
	EXPECT(timer > hosted_now(machine), true);
	EXPECT(timer <= machine->kernel.cpu[core]->own.beat_at, true);
}

/* Whatever the core did last, and whatever the timer was set for before. */
static void the_timer_is_always_set(void)
{
	begin();
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	settle();
	expect_timer_set(0);
	expect_timer_set(1);
	syscall_on(0, SYS_WAIT, NOTE, 0, W(hosted_now(machine) + period / 4), NONE, 0); /* the core idles */
	expect_timer_set(0);
	pass(period / 3);
	EXPECT(result(running(0)), SKERRY_TIMED_OUT);
	expect_timer_set(0);
	make_thread(EQUAL, 255, 0);
	simple(0, SYS_YIELD, 0);
	expect_timer_set(0);
	delete(EQUAL); /* no slice has to end any more */
	settle();
	expect_timer_set(0);
	pass(period);
	expect_timer_set(0);
	expect_timer_set(1);
}

/* A core that waits for a deadline many beats away. */
static void a_late_deadline(void)
{
	begin();
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	syscall_on(0, SYS_WAIT, NOTE, 0, W(hosted_now(machine) + STEPS * period), NONE, 0);
	EXPECT(running(0) == 0, true);
	for (unsigned i = 1; i < STEPS; i++) {
		uint64_t count = beats(0);
		pass(period);
		EXPECT(beats(0), count + 1);
		EXPECT(running(0) == 0, true);
		expect_timer_set(0);
	}
	pass(period);
	EXPECT(result(running(0)), SKERRY_TIMED_OUT);
}

static void no_ledger(void)
{
	EXPECT(machine->kernel.ledger == 0, true);
	EXPECT(machine->kernel.cpu[0]->own.beat_at, 0);
	EXPECT(machine->core[0].timer, 0);
}

static void expect_page(uint64_t vaddr, const void *page, unsigned rights)
{
	uint64_t entry = hosted_touch(machine, 0, vaddr);
	EXPECT(arch_pte_address(entry, LEVEL_4K), physical(page));
	EXPECT(entry >> PTE_RIGHTS & RIGHT_ALL, rights);
}

/* The kernel's page is read by programs, and written by none; the manager's page is the manager's. */
static void whose_pages(void)
{
	begin();
	for (unsigned page = 0; page < sizeof(*ledger); page += 4096)
		expect_page(ROOT_LEDGER_VADDR + page, (const char *)ledger + page, RIGHT_READ);
	expect_page(ROOT_LEDGER_VADDR + sizeof(*ledger), ledger + 1, RIGHT_READ | RIGHT_WRITE);
}

/* --- orders --- */

static uint64_t order_word(enum ledger_order order, unsigned core) { return LEDGER_ORDER_MAGIC | core << 8 | order; }

static void say_words(int number)
{
	char text[LEDGER_TEXT + 1] = { 0 };
	(void)number;
	for (unsigned i = 0; i < LEDGER_TEXT; i++)
		text[i] = (char)(ledger->text[i / 8] >> i % 8 * 8);
	if (ledger->state == LEDGER_DYING)
		fprintf(stderr, "reason %u core %u: %s\n", ledger->reason, ledger->core, text);
	else
		fprintf(stderr, "no last words\n");
}

/* In a child. */
static void obey(void)
{
	signal(SIGABRT, say_words);
	hosted_self = 0;
	hosted_advance(machine, period);
	hosted_run(machine);
}

/* The next beat ends the machine so. */
static void expect_end(uint64_t order, const char *first, const char *second)
{
	char text[4096];
	ledger->order = order;
	last_words(obey, text, sizeof(text));
	if (!strstr(text, first) || !strstr(text, second))
		fprintf(stderr, "expected '%s' and '%s', got: %s\n", first, second, text);
	EXPECT(strstr(text, first) && strstr(text, second), true);
}

static void orders_are_obeyed(void)
{
	if (machine->config.threads)
		return; /* a child of a process with threads has one */
	begin();
	settle();
	expect_end(order_word(LEDGER_ORDER_PANIC, 0), "core 0: ordered from outside",
	           "reason 1 core 0: ordered from outside the machine\n");
	expect_end(order_word(LEDGER_ORDER_PANIC, 1), "core 1: ordered from outside",
	           "reason 1 core 1: ordered from outside the machine\n");
	expect_end(order_word(LEDGER_ORDER_HANG_CORE, 0), "core 0: told to hang", "no last words\n");
	expect_end(order_word(LEDGER_ORDER_HANG_CORE, 1), "core 1: told to hang", "no last words\n");
	expect_end(order_word(LEDGER_ORDER_HANG, 7), "told to hang", "no last words\n");
	expect_end(order_word(LEDGER_ORDER_INIT, 7), "told to reset itself", "no last words\n");
}

/* Orders to cores that do not exist, for the manager, with unknown numbers; words that are no orders. */
static void other_words_are_not(void)
{
	const uint64_t words[] = {
		order_word(LEDGER_ORDER_PANIC, 2), order_word(LEDGER_ORDER_HANG_CORE, 2),
		order_word(LEDGER_ORDER_MANAGER, 0), order_word(LEDGER_ORDER_GARBAGE, 0), order_word(LEDGER_ORDERS, 0),
		order_word(LEDGER_ORDER_NONE, 0), LEDGER_ORDER_PANIC, LEDGER_ORDER_HANG, LEDGER_ORDER_INIT,
		(~LEDGER_ORDER_MAGIC & ~0xffffull) | LEDGER_ORDER_HANG,
	};
	begin();
	settle();
	uint64_t count = beats(0);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		ledger->order = words[i];
		pass(period);
		expect_all(++count);
		EXPECT(ledger->order, words[i]);
		EXPECT(ledger->state, LEDGER_RUNNING);
	}
}

TESTS(beats) = {
	{ "each core beats", each_core_beats, 1 },
	{ "each of several cores beats", each_core_beats, 3 },
	{ "beats beside other timers", beats_beside_other_timers, 1 },
	{ "the timer is always set", the_timer_is_always_set, 2 },
	{ "a late deadline", a_late_deadline, 1 },
	{ "no ledger, no beats", no_ledger, 1 },
	{ "whose pages", whose_pages, 1 },
	{ "orders are obeyed", orders_are_obeyed, 2 | TEST_ONCE },
	{ "other words are not", other_words_are_not, 2 },
	{ 0 },
};
