/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define revoke revoke_terminal /* harness.h has another */
#include <sys/wait.h>
#include <unistd.h>
#undef revoke
#include "check.h"
#include "draw-localities.h"
#include "message.h"
#include "watch.h"

struct hosted *machine;
static const char *name;
static unsigned steps, checked_every = 1;
static bool changes; /* the kernel's granularity and the localities of objects, between steps */
static uint64_t change_seed;

void check_every(unsigned number)
{
	checked_every = number;
	if (number == 1)
		kernel_check(machine);
}

void expect_failed(const char *file, int line, const char *expression, uint64_t got, uint64_t expected)
{
	fprintf(stderr, "%s: %s:%d: %s is %#llx, expected %#llx\n", name, file, line, expression,
	        (unsigned long long)got, (unsigned long long)expected);
	abort();
}

bool order_granularity(enum granularity wanted)
{
	struct cpu *cpu = machine->kernel.cpu[0];
	bool under_way;
	EXPECT(kernel_granularity(cpu, wanted, &under_way), true);
	if (!cpu->own.pending)
		return under_way;
	/* arch_finish() for a core that is not in the kernel */
	EXPECT(cpu->own.pending, PENDING_INTERRUPT | PENDING_FAST);
	cpu->own.pending = 0;
	cpu->own.interrupt_cores = (struct core_set){ 0 };
	cpu_allow_fast(cpu);
	for (unsigned i = 0; i < machine->config.cores; i++)
		hosted_interrupt(&machine->core[i], HOSTED_VECTOR_RESCHEDULE);
	return under_way;
}

/* Two orders in three of four steps: a change begins, or is taken back at once, or goes on. */
static void change_granularity(void)
{
	change_seed = change_seed * 6364136223846793005ull + 1442695040888963407ull;
	unsigned drawn = change_seed >> 60;
	for (unsigned i = 0; drawn >= 4 && i < 2; i++)
		order_granularity(drawn >> i & 1 ? GRANULARITY_FINE : GRANULARITY_COARSE);
}

bool is_changing(void) { return changes; }

void settle(void)
{
	if (changes) {
		draw_localities(machine, &change_seed);
		change_granularity();
	}
	hosted_run(machine);
	if (++steps % checked_every == 0)
		kernel_check(machine);
}

void enter_once(void)
{
	EXPECT(machine->config.cores, 1);
	EXPECT(hosted_core_busy(&machine->core[0]), true);
	hosted_self = &machine->core[0];
	fiber_resume(&hosted_self->fiber);
	hosted_self = 0;
	kernel_check(machine);
}

void root_priority(unsigned priority)
{
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(priority, 0), W(ROOT_SLOT_TCB)), 0);
}

struct thread *running(unsigned core)
{
	struct cpu *cpu = machine->kernel.cpu[core];
	return current(cpu) == &cpu->shared.idle ? 0 : current(cpu);
}

uint64_t syscall_on(unsigned core, unsigned number, uint64_t cptr, uint64_t label, const uint64_t *words,
                    unsigned word_count, const uint64_t *caps, unsigned cap_count, uint64_t reply)
{
	struct hosted_call order = { .number = number, .cptr = cptr, .reply = reply,
		                     .info = message_info(label, cap_count, word_count) };
	struct thread *thread = running(core);
	EXPECT(thread != 0, true);
	struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	for (unsigned i = 0; i < word_count && i < MESSAGE_REGISTERS; i++)
		order.word[i] = words[i];
	for (unsigned i = MESSAGE_REGISTERS; buffer && i < word_count; i++)
		buffer->words[i] = words[i];
	for (unsigned i = 0; buffer && i < cap_count; i++)
		buffer->caps[i] = caps[i];
	hosted_post_call(machine, core, &order);
	settle();
	EXPECT(hosted_done(machine, core), true);
	return result(thread);
}

uint64_t call(uint64_t cptr, uint64_t label, const uint64_t *words, unsigned word_count, const uint64_t *caps,
              unsigned cap_count)
{
	return syscall_on(0, SYS_CALL, cptr, label, words, word_count, caps, cap_count, 0);
}

uint64_t simple(unsigned core, unsigned number, uint64_t cptr)
{
	return syscall_on(core, number, cptr, 0, W(0), NONE, 0);
}

void make(uint64_t object, uint64_t size_bits, uint64_t slot, uint64_t count)
{
	uint64_t untyped = U;
	while (machine->root_cnode[untyped].cap.size_bits < 22) /* the pieces before are small */
		untyped++;
	EXPECT(call(untyped, UNTYPED_RETYPE, W(object, size_bits, slot, count), W(CNODE)), 0);
}

void copy(uint64_t to, uint64_t from, uint64_t rights, uint64_t badge)
{
	EXPECT(call(CNODE, badge ? CNODE_MINT : CNODE_COPY, W(to, from, rights, badge), W(CNODE)), 0);
}

void delete(uint64_t slot) { EXPECT(call(CNODE, CNODE_DELETE, W(slot), NONE), 0); }
void revoke(uint64_t slot) { EXPECT(call(CNODE, CNODE_REVOKE, W(slot), NONE), 0); }
const struct slot *slot_of(uint64_t slot) { return &machine->root_cnode[slot]; }

struct thread *make_thread(uint64_t slot, unsigned priority, unsigned core)
{
	uint64_t start[21] = { 1, 0x1000 * slot, 0x2000 * slot }; /* resume, RIP, RSP */
	make(OBJECT_TCB, 0, slot, 1);
	make(OBJECT_FRAME_4K, 0, slot + 1, 1);
	EXPECT(call(slot, TCB_CONFIGURE, W(1024, 0), W(CNODE, VSPACE, slot + 1)), 0);
	EXPECT(call(slot, TCB_SCHEDULE, W(priority, core), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(slot, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	return (struct thread *)slot_of(slot)->cap.object;
}

uint64_t result(const struct thread *thread) { return thread->context.registers.rax; }
uint64_t badge(const struct thread *thread) { return thread->context.registers.rdi; }
uint64_t word(const struct thread *thread, unsigned index) { return message_word(thread, index); }

static char where[200];
static const char *whereabouts(void) { return where; }

/* The tables of all files with TESTS(); none where the explorer links the harness. */
extern const struct test_file __start_test_files[] __attribute__((weak)), __stop_test_files[] __attribute__((weak));

/* Returns the tests of a file, or ends with the names of all. */
static const struct test *tests_of(const char *file)
{
	for (const struct test_file *each = __start_test_files; each < __stop_test_files; each++)
		if (!strcmp(each->name, file))
			return each->tests;
	fprintf(stderr, "expected a file of tests, got '%s'. There are", file);
	for (const struct test_file *each = __start_test_files; each < __stop_test_files; each++)
		fprintf(stderr, " %s", each->name);
	fputc('\n', stderr);
	exit(2);
}

/*
 * FILE [--threads] [--changes] [WORD]: cores as threads of the host, tests of several; the kernel's granularity changes
 * all the time, at random, and which cores may touch an object; only tests with the word in their name.
 */
int main(int argc, char **argv)
{
	unsigned cores_max = strcmp(REGIME_HEADER, "none.h") ? HOSTED_CORES : 1;
	const struct test *tests = tests_of(argc > 1 ? argv[1] : "");
	argc--, argv++;
	bool threads = argc > 1 && !strcmp(argv[1], "--threads");
	changes = argc > 1 + threads && !strcmp(argv[1 + threads], "--changes");
	const char *word = argc > 1 + threads + changes ? argv[1 + threads + changes] : "";
	watch(whereabouts);
	for (const struct test *test = tests; test->name; test++) {
		unsigned cores = test->cores & ~TEST_ONCE;
		/* other interleavings */
		unsigned repeats = test->cores & TEST_ONCE ? 1 : cores == 1 ? 2 : threads ? 5 : 20;
		struct hosted_config config = { .cores = cores, .gsis = HOSTED_PINS, .threads = threads };
		if (cores > cores_max || (threads && cores == 1) || !strstr(test->name, word))
			continue;
		name = test->name;
		for (config.seed = 1; config.seed <= repeats; config.seed++) {
			snprintf(where, sizeof(where), "this was '%s', interleaving %llu of %u", name,
			         (unsigned long long)config.seed, repeats);
			machine = hosted_create(&config);
			if (config.seed % 2 == 0)
				machine->kernel.work_budget = 1; /* every preemption point is taken */
			kernel_check(machine);
			steps = 0;
			change_seed = config.seed;
			checked_every = 1;
			test->run();
			hosted_destroy(machine);
		}
		printf("ok %s\n", name);
	}
	return 0;
}

enum { HIGH = 1000, SPARE = 1020 };

struct thread *stopped_high, *stopped_worker;

/* The worker has an equal, so that the clock moves. */
void stopped_begin(void)
{
	make(OBJECT_NOTIFICATION, 0, STOPPED_NOTE, 1);
	stopped_high = make_thread(HIGH, 200, 0);
	stopped_worker = make_thread(STOPPED_WORKER, 100, 0);
	make_thread(SPARE, 100, 0);
	root_priority(10);
	EXPECT(running(0), stopped_high);
}

void stopped_wait(uint64_t deadline) { syscall_on(0, SYS_WAIT, STOPPED_NOTE, 0, W(deadline), NONE, 0); }

void stopped_call(unsigned budgets, uint64_t cptr, uint64_t label, const uint64_t *words, unsigned word_count,
                  const uint64_t *caps, unsigned cap_count)
{
	for (unsigned ticks = 1; running(0) == stopped_high; ticks++) /* too few pass before the worker runs */
		stopped_wait(machine->time + ticks + budgets);
	EXPECT(running(0), stopped_worker);
	syscall_on(0, SYS_CALL, cptr, label, words, word_count, caps, cap_count, 0);
	EXPECT(running(0), stopped_high);
	EXPECT(stopped_worker->context.again, true);
}

void stopped_finish(uint64_t expected)
{
	stopped_wait(0);
	while (running(0) != stopped_worker)
		simple(0, SYS_YIELD, 0);
	EXPECT(result(stopped_worker), expected);
	EXPECT(simple(0, SYS_SIGNAL, STOPPED_NOTE), 0);
	EXPECT(running(0), stopped_high);
}

void last_words(void (*mistake)(void), char *text, size_t size)
{
	int pipes[2], status;
	EXPECT(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(pipes[1], STDERR_FILENO);
		hosted_self = &machine->core[0];
		mistake();
		_exit(0);
	}
	close(pipes[1]);
	size_t length = 0;
	for (ssize_t got; length < size - 1 && (got = read(pipes[0], text + length, size - 1 - length)) > 0;)
		length += got;
	text[length] = 0;
	close(pipes[0]);
	EXPECT(waitpid(child, &status, 0), child);
	EXPECT(WIFSIGNALED(status), true);
}
