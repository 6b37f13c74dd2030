/* SPDX-License-Identifier: BSD-2-Clause */
/* Regime rtm where transactions abort: what it does then, what it counts, and that nothing of them is left. */
#include "transaction.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "programs.h"
#include "thread.h"

enum { ENDPOINT = 1000, REPLY = 1001, NOTE = 1002, FRAME = 1003, NODE = 1004, COPY = 1010, SERVER = 1100,
       OTHER = 1110 };

static struct cpu *cpu(unsigned core) { return machine->kernel.cpu[core]; }
static struct transaction_stat *stat(unsigned core) { return &cpu(core)->own.stat->transactions; }

static uint32_t never(enum transaction_place place)
{
	(void)place;
	return TRANSACTION_GOES_ON;
}

/* The next `aborts_left` transactions abort where they end, all of them, with `aborts_with`. */
static unsigned aborts_left;
static uint32_t aborts_with;

static uint32_t at_the_end(enum transaction_place place)
{
	if (place != TRANSACTION_ENDS || !aborts_left)
		return TRANSACTION_GOES_ON;
	aborts_left--;
	return aborts_with;
}

/* An entry of core 0 whose first `count` transactions abort so: what it adds to each counter. */
static void expect_entry(uint32_t status, unsigned count, enum abort_cause cause, unsigned aborted, unsigned fallbacks)
{
	struct transaction_stat before = *stat(0);
	uint64_t entries = cpu(0)->own.stat->entries;
	aborts_left = count;
	aborts_with = status;
	transaction_aborts = at_the_end;
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(simple(0, SYS_POLL, NOTE), 0); /* it was signalled once */
	transaction_aborts = never;
	EXPECT(cpu(0)->own.stat->entries - entries, 2);
	EXPECT(stat(0)->aborted[cause] - before.aborted[cause], aborted);
	EXPECT(stat(0)->fallbacks - before.fallbacks, fallbacks);
	EXPECT(stat(0)->committed - before.committed, 2 - fallbacks);
	EXPECT(stat(0)->begun - before.begun, 2 - fallbacks + aborted);
}

static void causes(void)
{
	unsigned all = RTM_ATTEMPTS;
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	expect_entry(0, 0, ABORT_OTHER, 0, 0);
	expect_entry(TRANSACTION_CONFLICT | TRANSACTION_RETRY, 1, ABORT_CONFLICT, 1, 0);
	expect_entry(TRANSACTION_CONFLICT | TRANSACTION_RETRY, all - 1, ABORT_CONFLICT, all - 1, 0);
	expect_entry(TRANSACTION_CONFLICT | TRANSACTION_RETRY, all, ABORT_CONFLICT, all, 1);
	expect_entry(TRANSACTION_RETRY, all, ABORT_RETRY, all, 1);
	expect_entry(TRANSACTION_DEBUG, all, ABORT_DEBUG, all, 1);
	expect_entry(TRANSACTION_NESTED, all, ABORT_NESTED, all, 1);
	expect_entry(0, all, ABORT_OTHER, all, 1);
	expect_entry(TRANSACTION_CAPACITY, 1, ABORT_CAPACITY, 1, 1); /* the next would be as large */
	expect_entry(TRANSACTION_CAPACITY | TRANSACTION_CONFLICT | TRANSACTION_RETRY, 1, ABORT_CAPACITY, 1, 1);
	cpu(0)->own.lock.retry_budget.attempts = 1;
	expect_entry(TRANSACTION_CONFLICT | TRANSACTION_RETRY, 1, ABORT_CONFLICT, 1, 1);
	cpu(0)->own.lock.retry_budget.attempts = 0; /* a machine without transactions */
	struct transaction_stat before = *stat(0);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(stat(0)->begun, before.begun);
	EXPECT(stat(0)->fallbacks, before.fallbacks + 1);
}

static uint32_t always(enum transaction_place place)
{
	return place == TRANSACTION_BEGINS ? TRANSACTION_CONFLICT : TRANSACTION_GOES_ON;
}

/* As under an emulator that knows the instructions, but not what they do. */
static void all_abort(void)
{
	transaction_aborts = always;
	struct transaction_stat before = *stat(0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	revoke(U);
	transaction_aborts = never;
	EXPECT(stat(0)->committed, before.committed);
	EXPECT(stat(0)->begun - before.begun, RTM_ATTEMPTS * (stat(0)->fallbacks - before.fallbacks));
}

/* What cannot be taken back is done once, with the lock, and was not begun before. */
static void irrevocable(void)
{
	transaction_aborts = never;
	struct transaction_stat before = *stat(0);
	uint32_t printed = machine->console_size;
	EXPECT(simple(0, SYS_DEBUG_PUT, ROOT_SLOT_CONTROL), 0);
	EXPECT(machine->console_size, printed + 1);
	EXPECT(call(ROOT_SLOT_IO_PORT, IO_PORT_OUT, W(0x70, 1, 0x5a), NONE), 0);
	EXPECT(machine->port[0x70], 0x5a);
	EXPECT(stat(0)->begun - before.begun, 2);
	EXPECT(stat(0)->committed, before.committed);
	EXPECT(stat(0)->aborted[ABORT_EXPLICIT] - before.aborted[ABORT_EXPLICIT], 2);
	EXPECT(stat(0)->fallbacks - before.fallbacks, 2);
}

/* Somebody has the lock, for `held_for` spins of its waiters. */
static unsigned held_for;
static struct clh_node *holder;

static void wait_turn(void)
{
	if (held_for && --held_for == 0)
		atomic_store(&holder->held, 0);
}

static void take_lock(unsigned turns)
{
	holder = atomic_load(&machine->kernel.lock.queue.tail);
	atomic_store(&holder->held, 1);
	held_for = turns;
	transaction_waits = wait_turn;
}

static void lock_held(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	transaction_aborts = never;
	cpu(0)->own.lock.retry_budget = (struct rtm_retry_budget){ .attempts = 1, .turns = 100 };
	struct transaction_stat before = *stat(0);
	take_lock(50);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(held_for, 0);
	EXPECT(stat(0)->begun - before.begun, 2);
	EXPECT(stat(0)->aborted[ABORT_EXPLICIT] - before.aborted[ABORT_EXPLICIT], 1);
	EXPECT(stat(0)->committed - before.committed, 1); /* it cost no attempt: there was but one */
	EXPECT(stat(0)->fallbacks, before.fallbacks);
	EXPECT(cpu(0)->own.stat->lock[LOCK_CLASS_KERNEL].conflicts, 0);
}

/* A core that waits outside has no place in the queue: after some time it queues. */
static void patience_ends(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	transaction_aborts = never;
	cpu(0)->own.lock.retry_budget = (struct rtm_retry_budget){ .attempts = 1, .turns = 20 };
	struct transaction_stat before = *stat(0);
	take_lock(50);
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(stat(0)->begun - before.begun, 1);
	EXPECT(stat(0)->fallbacks - before.fallbacks, 1);
	EXPECT(cpu(0)->own.stat->lock[LOCK_CLASS_KERNEL].conflicts, 1);
}

static uint32_t lock_is_taken(enum transaction_place place)
{
	if (place != TRANSACTION_ENDS || !aborts_left)
		return TRANSACTION_GOES_ON;
	aborts_left--;
	take_lock(50);
	return TRANSACTION_CONFLICT | TRANSACTION_RETRY;
}

/* A conflict, and the lock is held: that was the lock, and no attempt. */
static void lock_taken(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	cpu(0)->own.lock.retry_budget = (struct rtm_retry_budget){ .attempts = 1, .turns = 100 };
	struct transaction_stat before = *stat(0);
	aborts_left = 1;
	transaction_aborts = lock_is_taken;
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	transaction_aborts = never;
	EXPECT(held_for, 0);
	EXPECT(stat(0)->aborted[ABORT_CONFLICT] - before.aborted[ABORT_CONFLICT], 1);
	EXPECT(stat(0)->committed - before.committed, 1);
	EXPECT(stat(0)->fallbacks, before.fallbacks);
}

/* After a run of many cores with aborts everywhere: nothing was counted twice, nothing got lost. */
static bool relay_next(struct program *self, unsigned core)
{
	if (self->step++ % 2 == 0)
		return post(self, core, SYS_WAIT, NOTE + self->index, 0, 0);
	EXPECT(last(self), 0);
	if (self->left && --self->left == 0 && self->index == 2)
		return false;
	return post(self, core, SYS_SIGNAL, NOTE + (self->index + 1) % 3, 0, 0);
}

static void adds_up(void)
{
	struct program p[3];
	uint64_t begun = 0, committed = 0, aborted = 0;
	const struct transaction_count before = transaction_count;
	transaction_aborts = 0; /* drawn */
	make(OBJECT_NOTIFICATION, 0, NOTE, 3);
	for (unsigned i = 0; i < 3; i++)
		p[i] = (struct program){ .thread = spawn(SERVER + 10 * i, 100, i), .next = relay_next, .index = i,
		                         .left = 2000 };
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(1, 0), W(ROOT_SLOT_TCB)), 0);
	run_programs(p, 3, 0);
	transaction_aborts = never;
	for (unsigned c = 0; c < 3; c++) {
		const struct core_stat *s = cpu(c)->own.stat;
		uint64_t here = 0;
		for (unsigned i = 0; i < ABORT_CAUSES; i++)
			here += s->transactions.aborted[i];
		EXPECT(s->transactions.begun, s->transactions.committed + here);
		EXPECT(s->entries, s->transactions.committed + s->transactions.fallbacks);
		EXPECT(s->lock[LOCK_CLASS_KERNEL].acquisitions, s->transactions.fallbacks);
		EXPECT(here > 100, true);
		begun += s->transactions.begun, committed += s->transactions.committed, aborted += here;
	}
	EXPECT(begun - (transaction_count.begun - before.begun) < 100, true); /* the machine booted before */
	EXPECT(committed - (transaction_count.committed - before.committed) < 100, true);
	EXPECT(aborted - (transaction_count.aborted - before.aborted) < 100, true);
}

/*
 * Each operation is done once without an abort, then repeatedly from the same state with one: at its first place,
 * its second, and so on. All memory must be the same afterwards.
 */
static unsigned place, abort_at;

static uint32_t at_place(enum transaction_place where)
{
	(void)where;
	return place++ == abort_at ? TRANSACTION_CONFLICT | TRANSACTION_RETRY : TRANSACTION_GOES_ON;
}

enum { MEMORY = 16 << 20, POINTS = 24 };

struct state {
	uint8_t memory[MEMORY];
	struct kernel kernel;
	uint64_t time;
};
static struct state *before, *expected, *now;

static void save(struct state *state)
{
	memcpy(state->memory, (void *)direct(machine->info.memory[0].base), MEMORY);
	state->kernel = machine->kernel;
	state->time = machine->time;
}

static void leave_out(struct state *state, const void *what, size_t size)
{
	memset(state->memory + ((uint64_t)what - (uint64_t)direct(machine->info.memory[0].base)), 0, size);
}

/* But for what is to differ. */
static void save_to_compare(struct state *state)
{
	save(state);
	leave_out(state, stat(0), sizeof(struct transaction_stat));
	leave_out(state, &cpu(0)->own.lock.status, sizeof(cpu(0)->own.lock.status));
}

static void restore(const struct state *state)
{
	memcpy((void *)direct(machine->info.memory[0].base), state->memory, MEMORY);
	machine->kernel = state->kernel;
	machine->time = state->time;
}

static void expect_same(unsigned step, unsigned at)
{
	if (!memcmp(now, expected, sizeof(*now)))
		return;
	size_t i = 0;
	while (((uint8_t *)now)[i] == ((uint8_t *)expected)[i])
		i++;
	fprintf(stderr, "step %u, an abort at place %u leaves a trace at byte %#zx\n", step, at, i);
	abort();
}

static const struct step {
	uint64_t number, cptr, label, words[6], caps[1];
	uint8_t word_count, cap_count;
} steps[] = {
	{ SYS_SIGNAL, NOTE, 0, { 0 }, { 0 }, 0, 0 },
	{ SYS_POLL, NOTE, 0, { 0 }, { 0 }, 0, 0 },
	{ SYS_CALL, ENDPOINT, 0, { 1, 2 }, { 0 }, 2, 0 },                     /* to the server and back, fast */
	{ SYS_REPLY_RECV, ENDPOINT, 0, { 3, 4 }, { 0 }, 2, 0 },
	{ SYS_CALL, ENDPOINT, 7, { 1, 2, 3, 4, 5, 6 }, { 0 }, 6, 0 },         /* and slow */
	{ SYS_REPLY_RECV, ENDPOINT, 7, { 6, 5, 4, 3, 2, 1 }, { 0 }, 6, 0 },
	{ SYS_CALL, CNODE, CNODE_COPY, { COPY, NOTE, RIGHT_ALL }, { CNODE }, 3, 1 },
	{ SYS_CALL, CNODE, CNODE_MINT, { COPY + 1, NOTE, RIGHT_WRITE, 5 }, { CNODE }, 4, 1 },
	{ SYS_CALL, CNODE, CNODE_DELETE, { COPY }, { 0 }, 1, 0 },
	{ SYS_CALL, CNODE, CNODE_REVOKE, { NOTE }, { 0 }, 1, 0 },
	{ SYS_CALL, OTHER, TCB_SCHEDULE, { 90, 0 }, { ROOT_SLOT_TCB }, 2, 1 },
	{ SYS_CALL, OTHER, TCB_SUSPEND, { 0 }, { 0 }, 0, 0 },
	{ SYS_CALL, OTHER, TCB_RESUME, { 0 }, { 0 }, 0, 0 },
	{ SYS_CALL, CNODE, CNODE_DELETE, { OTHER }, { 0 }, 1, 0 },            /* a thread */
	{ SYS_CALL, FRAME, FRAME_MAP, { 0x500000, RIGHT_ALL, CACHE_WRITE_BACK }, { VSPACE }, 3, 1 },
	{ SYS_CALL, FRAME, FRAME_UNMAP, { 0 }, { 0 }, 0, 0 },                 /* not without the lock */
	{ SYS_YIELD, 0, 0, { 0 }, { 0 }, 0, 0 },
	{ SYS_CALL, NODE, CNODE_DELETE, { 1 }, { 0 }, 1, 0 },
	{ SYS_DEBUG_PUT, ROOT_SLOT_CONTROL, 0, { 'y' }, { 0 }, 1, 0 },
	{ 99, 0, 0, { 0 }, { 0 }, 0, 0 },                                     /* a fault, which stops the root task */
};
enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void do_step(const struct step *s)
{
	struct hosted_call order = { .number = s->number, .cptr = s->cptr, .reply = REPLY,
	                             .info = message_info(s->label, s->cap_count, s->word_count) };
	struct ipc_buffer *buffer = thread_ipc_buffer(running(0));
	for (unsigned i = 0; i < s->word_count; i++)
		*(i < MESSAGE_REGISTERS ? &order.word[i] : &buffer->words[i]) = s->words[i];
	for (unsigned i = 0; i < s->cap_count; i++)
		buffer->caps[i] = s->caps[i];
	place = 0;
	hosted_post_call(machine, 0, &order);
	settle();
}

static void prepare(void)
{
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	make(OBJECT_CNODE, 4, NODE, 1);
	make_thread(OTHER, 80, 0);
	struct thread *server = make_thread(SERVER, 120, 0);
	root_priority(100);
	EXPECT(running(0) == server, true);
	syscall_on(0, SYS_RECV, ENDPOINT, 0, NONE, NONE, REPLY);
	EXPECT(running(0) == machine->root, true);
}

static void no_trace(void)
{
	struct hosted *saved = machine;
	struct hosted_config config = { .cluster = 10, .cores = 1, .memory = MEMORY, .gsis = 4, .seed = 1 };
	unsigned aborts = 0;
	before = calloc(1, sizeof(*before)), expected = calloc(1, sizeof(*expected)), now = calloc(1, sizeof(*now));
	transaction_aborts = never;
	machine = hosted_create(&config);
	prepare();
	for (unsigned i = 0; i < STEPS; i++) {
		save(before);
		abort_at = ~0u;
		transaction_aborts = at_place;
		do_step(&steps[i]);
		unsigned places = place, stride = places / POINTS + 1;
		EXPECT(places >= 2, true);
		if (running(0) == machine->root) /* it is back from its call, which was none of no effect */
			EXPECT(result(machine->root), 0);
		save_to_compare(expected);
		for (abort_at = 0; abort_at < places; abort_at += stride) {
			uint64_t aborted = transaction_count.aborted;
			restore(before);
			do_step(&steps[i]);
			aborts += transaction_count.aborted - aborted;
			EXPECT(transaction_count.aborted > aborted, true);
			save_to_compare(now);
			expect_same(i, abort_at);
		}
		transaction_aborts = never;
	}
	EXPECT(aborts > 200, true);
	hosted_destroy(machine);
	machine = saved;
	free(before), free(expected), free(now);
}

TESTS(transactions) = {
	{ "causes of aborts, and what is done then", causes, 1 },
	{ "every transaction aborts", all_abort, 1 },
	{ "what cannot be taken back", irrevocable, 1 },
	{ "the lock is held", lock_held, 2 },
	{ "the lock is held for long", patience_ends, 2 },
	{ "the lock is taken meanwhile", lock_taken, 2 },
	{ "statistics add up", adds_up, 3 | TEST_ONCE },
	{ "an abort leaves no trace, wherever it happens", no_trace, 1 | TEST_ONCE },
	{ 0 },
};
