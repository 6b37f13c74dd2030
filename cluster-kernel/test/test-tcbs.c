/* SPDX-License-Identifier: BSD-2-Clause */
/* What invocations of TCBs leave in the kernel and in a core. */
#include "harness.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, EP = 1010, NODE = 1020, SPACE = 1030, REPLY = 1040 };

/*
 * The fast path goes to a thread in another address space and leaves the slow path's words for the next switch as
 * they were. That thread then sets its own: it stays in its space.
 */
static void tls_behind_the_fast_path(void)
{
	struct thread *root = running(0);
	uint64_t start[21] = { 1, 0x1000, 0x2000 };
	make(OBJECT_TCB, 0, A, 1);
	make(OBJECT_VSPACE, 0, SPACE, 1);
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	EXPECT(call(A, TCB_CONFIGURE, W(0, 0), W(CNODE, SPACE)), 0);
	EXPECT(call(A, TCB_SCHEDULE, W(255, 0), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(A, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	const struct thread *server = (const struct thread *)slot_of(A)->cap.object;
	const struct cpu *cpu = machine->kernel.cpu[0];
	simple(0, SYS_YIELD, 0);
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	EXPECT(running(0), root);
	EXPECT(cpu->own.loaded_vspace, slot_of(VSPACE)->cap.object);
	syscall_on(0, SYS_CALL, EP, 0, W(1), NONE, 0);
	EXPECT(running(0), server);
	EXPECT(machine->core[0].fast, true);
	EXPECT(syscall_on(0, SYS_CALL, A, TCB_SET_TLS, W(0x7000), NONE, 0), 0);
	EXPECT(running(0), server);
	EXPECT(cpu->own.loaded_vspace, slot_of(SPACE)->cap.object);
	EXPECT(machine->core[0].tls, 0x7000);
}

static uint64_t configure(uint64_t cnode, uint64_t vspace) { return call(A, TCB_CONFIGURE, W(0, 0), W(cnode, vspace)); }

/* What the old CSpace was the last to hold has gone when the call ends, not when the core's timer looks after it. */
static void what_it_had_goes_at_once(void)
{
	make(OBJECT_TCB, 0, A, 1);
	make(OBJECT_CNODE, 4, NODE, 1);
	make(OBJECT_NOTIFICATION, 0, EP, 1);
	EXPECT(call(NODE, CNODE_COPY, W(1, EP, RIGHT_ALL), W(CNODE)), 0);
	EXPECT(configure(NODE, VSPACE), 0);
	delete(NODE);
	const struct notification *held = (const struct notification *)slot_of(EP)->cap.object;
	EXPECT(held->references, 2);
	EXPECT(configure(CNODE, VSPACE), 0);
	EXPECT(machine->kernel.reap_list, 0);
	EXPECT(held->references, 1);
}

/* As if it had been suspended in a retype: what was left of that is not the new registers'. */
static void new_registers(void)
{
	static const uint64_t registers[21] = { 0, 0x1000, 0x2000 };
	struct thread *thread = make_thread(A, 50, 0);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	thread->retype_left = 1000 << 16 | 5;
	EXPECT(call(A, TCB_WRITE_REGISTERS, registers, 21, NONE), 0);
	EXPECT(thread->retype_left, 0);
}

/* The count of an object's capabilities ends before it overflows: in a release image nothing else stops it. */
static void capabilities_are_counted_to_an_end(void)
{
	enum { NOTE = 1500, TO = 1501 };
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	check_every(1u << 30);
	uint32_t *references = &((struct notification *)slot_of(NOTE)->cap.object)->references;
	*references = UINT32_MAX - CAP_COPIES_LEFT;
	EXPECT(call(CNODE, CNODE_COPY, W(TO, NOTE, RIGHT_ALL), W(CNODE)), SKERRY_NO_RESOURCE);
	EXPECT(call(CNODE, CNODE_MINT, W(TO, NOTE, RIGHT_ALL, 7), W(CNODE)), SKERRY_NO_RESOURCE);
	EXPECT(*references, UINT32_MAX - CAP_COPIES_LEFT);
	EXPECT(slot_empty(slot_of(TO)), true);
	--*references;
	EXPECT(call(CNODE, CNODE_COPY, W(TO, NOTE, RIGHT_ALL), W(CNODE)), 0);
	*references = 2;
	check_every(1);
}

/* The TCBs of the following tests: nobody's authority but what it is given. */
enum { BY = 1050, OTHER = 1051 };

static uint64_t set_cores(uint64_t tcb, uint64_t authority, uint64_t word)
{
	return call(tcb, TCB_SET_CORES, W(word), W(authority));
}
static uint64_t schedule(uint64_t tcb, uint64_t authority, uint64_t core)
{
	return call(tcb, TCB_SCHEDULE, W(0, core), W(authority));
}

/* A new TCB's authority puts no thread anywhere, its own included, and gives nobody a core: whoever has made it. */
static void a_new_tcb_has_no_cores(void)
{
	make(OBJECT_TCB, 0, BY, 1);
	make(OBJECT_TCB, 0, OTHER, 1);
	for (uint64_t core = 0; core < machine->config.cores; core++) {
		EXPECT(schedule(OTHER, BY, core), SKERRY_NO_RIGHTS);
		EXPECT(schedule(BY, BY, core), SKERRY_NO_RIGHTS);
		EXPECT(set_cores(OTHER, BY, 1ull << core), SKERRY_NO_RIGHTS);
		EXPECT(set_cores(BY, BY, 1ull << core), SKERRY_NO_RIGHTS);
	}
	EXPECT(set_cores(OTHER, BY, 0), 0);
}

/*
 * For every pair of sets: what is within the authority's is given, the rest is refused and changes nothing; threads are
 * put on the cores of the authority's set and no others, and a set that was given away gives no more.
 */
static void sets_within_sets(void)
{
	const uint64_t cores = machine->config.cores, all = (1ull << cores) - 1;
	make(OBJECT_TCB, 0, BY, 1);
	make(OBJECT_TCB, 0, OTHER, 1);
	const struct thread *other = (const struct thread *)slot_of(OTHER)->cap.object;
	for (uint64_t has = 0; has <= all; has++)
		for (uint64_t wanted = 0; wanted <= all; wanted++) {
			EXPECT(set_cores(BY, ROOT_SLOT_TCB, has), 0);
			EXPECT(set_cores(OTHER, ROOT_SLOT_TCB, all), 0);
			EXPECT(set_cores(OTHER, BY, wanted), wanted & ~has ? SKERRY_NO_RIGHTS : SKERRY_OK);
			EXPECT(core_set_get64(&other->cores, 0), wanted & ~has ? all : wanted);
			EXPECT(set_cores(BY, BY, wanted), wanted & ~has ? SKERRY_NO_RIGHTS : SKERRY_OK);
			for (uint64_t core = 0; core < cores; core++) {
				const uint64_t now = wanted & ~has ? has : wanted;
				EXPECT(schedule(OTHER, BY, core), now >> core & 1 ? SKERRY_OK : SKERRY_NO_RIGHTS);
				EXPECT(other->next_core == core || !(now >> core & 1), true);
			}
		}
	EXPECT(schedule(OTHER, ROOT_SLOT_TCB, cores), SKERRY_BAD_ARGUMENT);
}

/* Words of any number; those beyond the kernel's cores name cores that nobody has. Without a word, or without a TCB,
 * nothing. */
static void words_of_a_set(void)
{
	uint64_t words[MESSAGE_WORDS_MAX] = { 1 };
	make(OBJECT_TCB, 0, BY, 1);
	make(OBJECT_NOTIFICATION, 0, EP, 1);
	const struct thread *by = (const struct thread *)slot_of(BY)->cap.object;
	EXPECT(call(BY, TCB_SET_CORES, words, MESSAGE_WORDS_MAX, W(ROOT_SLOT_TCB)), 0);
	EXPECT(by->cores.word[0], 1);
	for (unsigned i = 1; i < MESSAGE_WORDS_MAX; i++) {
		words[i] = 1ull << i % 64;
		EXPECT(call(BY, TCB_SET_CORES, words, MESSAGE_WORDS_MAX, W(ROOT_SLOT_TCB)), SKERRY_NO_RIGHTS);
		EXPECT(call(BY, TCB_SET_CORES, words, i, W(ROOT_SLOT_TCB)), 0);
		words[i] = 0;
	}
	EXPECT(set_cores(BY, ROOT_SLOT_TCB, 1ull << machine->config.cores), SKERRY_NO_RIGHTS);
	EXPECT(set_cores(BY, EP, 0), SKERRY_BAD_CAP);
	EXPECT(call(BY, TCB_SET_CORES, W(1), NONE), SKERRY_BAD_CAP);
	EXPECT(call(BY, TCB_SET_CORES, NONE, W(ROOT_SLOT_TCB)), SKERRY_TRUNCATED);
	EXPECT(by->cores.word[0], 1);
}

/* A thread that was given no core would run on core 0, which may be another program's. */
static void no_core_no_thread(void)
{
	uint64_t registers[21] = { 1, 0x1000, 0x2000 };
	make(OBJECT_TCB, 0, A, 1);
	EXPECT(configure(CNODE, VSPACE), 0);
	const struct thread *thread = (const struct thread *)slot_of(A)->cap.object;
	EXPECT(call(A, TCB_RESUME, NONE, NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(call(A, TCB_WRITE_REGISTERS, registers, 21, NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(thread->state, THREAD_INACTIVE);
	registers[0] = 0;
	EXPECT(call(A, TCB_WRITE_REGISTERS, registers, 21, NONE), 0);
	EXPECT(schedule(A, A, 0), SKERRY_NO_RIGHTS);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), SKERRY_BAD_ARGUMENT);
	EXPECT(schedule(A, ROOT_SLOT_TCB, 0), 0);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
	EXPECT(thread->state, THREAD_READY);
}

/* Where its threads are does not change when a set does: who gave the set moves them. */
static void a_set_moves_nobody(void)
{
	struct thread *thread = make_thread(A, 50, 1);
	EXPECT(set_cores(A, ROOT_SLOT_TCB, 1), 0);
	EXPECT(thread->next_core, 1);
	EXPECT(schedule(A, A, 1), SKERRY_NO_RIGHTS);
	EXPECT(schedule(A, A, 0), 0);
	EXPECT(thread->next_core, 0);
	EXPECT(set_cores(ROOT_SLOT_TCB, ROOT_SLOT_TCB, 1), 0); /* no way back, for the first task either */
	EXPECT(set_cores(ROOT_SLOT_TCB, ROOT_SLOT_TCB, 3), SKERRY_NO_RIGHTS);
	EXPECT(schedule(A, ROOT_SLOT_TCB, 1), SKERRY_NO_RIGHTS);
}

TESTS(tcbs) = {
	{ "a new TCB has no cores", a_new_tcb_has_no_cores, 1 },
	{ "sets of cores within sets", sets_within_sets, 3 },
	{ "words of a set of cores", words_of_a_set, 2 },
	{ "no core, no thread", no_core_no_thread, 1 },
	{ "a set of cores moves nobody", a_set_moves_nobody, 2 },
	{ "thread-local storage behind the fast path", tls_behind_the_fast_path, 1 },
	{ "what a thread had goes at once", what_it_had_goes_at_once, 1 },
	{ "new registers end a retype", new_registers, 1 },
	{ "capabilities are counted to an end", capabilities_are_counted_to_an_end, 1 },
	{ 0 },
};
