/* SPDX-License-Identifier: BSD-2-Clause */
/* The root task takes away what threads on other cores use at that moment. */
#include "programs.h"
#include "thread.h"

enum { ROUNDS = 1500 };
enum { POOL = 1000, ENDPOINT = 1001, NOTE = 1002, REPLY = 1003, SPACE = 1010, PAGE = 1020, VICTIM = 1030,
       TABLE = 1040 };
enum { WORKER = 1100 };

/* An address with a page table to itself. */
#define TARGET 0x40000000ull
#define TARGET_WORDS 512u

static _Atomic bool finished;

static struct program root_program(bool (*next)(struct program *, unsigned))
{
	return (struct program){ .thread = machine->root, .next = next, .left = ROUNDS,
	                         .vaddr = ROOT_IPC_BUFFER_VADDR };
}

/* The last call must have given `expected`; true when the root task may stop. */
static bool over(struct program *self, uint64_t expected)
{
	if (self->step)
		EXPECT(last(self), expected);
	if (self->left && self->step % self->slot == 0 && self->step)
		self->left--;
	self->step++;
	if (!self->left)
		atomic_store_explicit(&finished, true, memory_order_relaxed);
	return !self->left;
}

static bool stopped(void) { return atomic_load_explicit(&finished, memory_order_relaxed); }

static void run(struct program *p, unsigned count)
{
	atomic_store(&finished, false);
	run_programs(p, count, 0);
}

/* Objects come and go, all at once, while others send, receive, signal and wait. */
static bool revoker_next(struct program *self, unsigned core)
{
	self->slot = 4;
	if (over(self, 0))
		return false;
	switch (self->step % 4) {
	case 1: return invoke_on(self, core, POOL, UNTYPED_RETYPE, W(OBJECT_ENDPOINT, 0, ENDPOINT, 1), W(CNODE));
	case 2: return invoke_on(self, core, POOL, UNTYPED_RETYPE, W(OBJECT_NOTIFICATION, 0, NOTE, 1), W(CNODE));
	case 3: return invoke_on(self, core, POOL, UNTYPED_RETYPE, W(OBJECT_REPLY, 0, REPLY, 1), W(CNODE));
	default: return invoke_on(self, core, CNODE, CNODE_REVOKE, W(POOL), NONE);
	}
}

static bool user_next(struct program *self, unsigned core)
{
	static const struct {
		uint8_t number, slot;
	} moves[] = { { SYS_SEND, 1 }, { SYS_RECV, 1 }, { SYS_CALL, 1 }, { SYS_REPLY_RECV, 1 }, { SYS_SIGNAL, 2 },
	              { SYS_NB_SEND, 1 },
		      { SYS_SIGNAL, 2 }, { SYS_WAIT, 2 } };
	uint64_t error = self->step ? last(self) : 0;
	EXPECT(error == 0 || error == SKERRY_BAD_CAP || error == SKERRY_DELETED || error == SKERRY_NO_REPLY ||
	               error == SKERRY_BUSY, true);
	if (stopped())
		return false;
	unsigned move = (self->step++ * (2 * self->index + 1) + self->index) % (sizeof(moves) / sizeof(moves[0]));
	return post(self, core, moves[move].number, POOL + moves[move].slot, 0, self->step % 3 ? REPLY : 0);
}

static void objects_go(void)
{
	struct program p[5] = { root_program(revoker_next) };
	make(OBJECT_UNTYPED, 14, POOL, 1);
	for (unsigned i = 0; i < 4; i++)
		p[1 + i] = (struct program){ .thread = spawn(WORKER + 10 * i, 100, 1 + i % 2), .next = user_next,
		                             .index = i };
	run(p, 5);
}

/*
 * A page is unmapped while others store into it: once FRAME_UNMAP is over nothing may arrive there any more. The root
 * task reads it through another mapping.
 */
static uint64_t sum_of_page(unsigned core)
{
	uint64_t sum = 0, value = 0;
	for (unsigned i = 0; i < TARGET_WORDS; i++) {
		EXPECT(hosted_load(machine, core, buffer_at(PAGE + 1) + 8 * i, &value), true);
		sum += value;
	}
	return sum;
}

static bool unmapper_next(struct program *self, unsigned core)
{
	bool tables = self->index;
	self->slot = 2;
	if (over(self, 0))
		return false;
	if (self->step % 2 && self->step > 1) { /* unmapped a moment ago */
		uint64_t sum = sum_of_page(core);
		for (unsigned i = 0; i < self->left % 16; i++)
			EXPECT(sum_of_page(core), sum);
		return tables ? invoke_on(self, core, TABLE, PAGE_TABLE_MAP, W(TARGET), W(VSPACE))
		              : invoke_on(self, core, PAGE, FRAME_MAP, W(TARGET, RIGHT_ALL, 0), W(VSPACE));
	}
	if (self->step == 1)
		return post(self, core, SYS_YIELD, 0, 0, 0);
	return tables ? invoke_on(self, core, TABLE, PAGE_TABLE_UNMAP, NONE, NONE)
	       : invoke_on(self, core, PAGE, FRAME_UNMAP, NONE, NONE);
}

static bool writer_next(struct program *self, unsigned core)
{
	if (stopped())
		return false;
	for (unsigned i = 0; i < 64; i++) {
		self->step++;
		if (hosted_store(machine, core, TARGET + self->step * (2 * self->index + 1) % TARGET_WORDS * 8,
		                 self->step))
			self->value++;
	}
	return post(self, core, SYS_YIELD, 0, 0, 0);
}

static void page_goes(void)
{
	struct program p[4] = { root_program(unmapper_next) };
	for (unsigned level = 0; level < 2; level++) { /* the tables on the way there */
		make(OBJECT_PAGE_TABLE, 0, TABLE + 1 - level, 1);
		EXPECT(call(TABLE + 1 - level, PAGE_TABLE_MAP, W(TARGET), W(VSPACE)), 0);
	}
	make_page(PAGE, TARGET);
	copy(PAGE + 1, PAGE, RIGHT_ALL, 0);
	EXPECT(call(PAGE + 1, FRAME_MAP, W(buffer_at(PAGE + 1), RIGHT_READ, 0), W(VSPACE)), 0);
	for (unsigned i = 0; i < 3; i++)
		p[1 + i] = (struct program){ .thread = spawn(WORKER + 10 * i, 100, 1 + i % 2), .next = writer_next,
		                             .index = i };
	run(p, 4);
	EXPECT(p[1].value + p[2].value + p[3].value > 0, true);
}

/* An address space goes while threads live in it; they are given the root task's, and so on. */
static bool housebreaker_next(struct program *self, unsigned core)
{
	self->slot = 6;
	if (over(self, 0))
		return false;
	uint64_t victim = WORKER + 10 * (self->left % 3);
	switch (self->step % 6) {
	case 1: return invoke_on(self, core, POOL, UNTYPED_RETYPE, W(OBJECT_VSPACE, 0, SPACE, 1), W(CNODE));
	case 2: return invoke_on(self, core, victim, TCB_SUSPEND, NONE, NONE);
	case 3: return invoke_on(self, core, victim, TCB_CONFIGURE, W(0, 0), W(CNODE, SPACE));
	case 4: return invoke_on(self, core, victim, TCB_RESUME, NONE, NONE);
	case 5: return invoke_on(self, core, CNODE, CNODE_COPY, W(SPACE + 1, SPACE, RIGHT_ALL), W(CNODE));
	default: return invoke_on(self, core, CNODE, CNODE_REVOKE, W(POOL), NONE);
	}
}

static bool tenant_next(struct program *self, unsigned core)
{
	if (stopped())
		return false;
	hosted_touch(machine, core, TARGET);
	return post(self, core, SYS_YIELD, 0, 0, 0);
}

static void address_space_goes(void)
{
	struct program p[4] = { root_program(housebreaker_next) };
	make(OBJECT_UNTYPED, 14, POOL, 1);
	for (unsigned i = 0; i < 3; i++)
		p[1 + i] = (struct program){ .thread = spawn(WORKER + 10 * i, 100, 1 + i % 2), .next = tenant_next };
	run(p, 4);
}

/* Threads are made, run on another core, and are destroyed while they work. */
static bool killer_next(struct program *self, unsigned core)
{
	self->slot = 6;
	if (over(self, 0))
		return false;
	switch (self->step % 6) {
	case 1: return invoke_on(self, core, POOL, UNTYPED_RETYPE, W(OBJECT_TCB, 0, VICTIM, 1), W(CNODE));
	case 2: return invoke_on(self, core, VICTIM, TCB_CONFIGURE, W(0, 0), W(CNODE, VSPACE));
	case 3: return invoke_on(self, core, VICTIM, TCB_SCHEDULE, W(99 + self->left % 3, 1 + self->left % 2),
	                         W(ROOT_SLOT_TCB));
	case 4: return invoke_on(self, core, VICTIM, TCB_RESUME, NONE, NONE);
	case 5: return invoke_on(self, core, VICTIM, TCB_SCHEDULE, W(99 + self->left % 3, 1 + self->left / 2 % 2),
	                         W(ROOT_SLOT_TCB));
	default: return invoke_on(self, core, CNODE, CNODE_REVOKE, W(POOL), NONE);
	}
}

static bool mortal_next(struct program *self, unsigned core)
{
	if (stopped())
		return false;
	bool signals = ++self->step % 3;
	return post(self, core, signals ? SYS_SIGNAL : SYS_YIELD, signals ? NOTE : 0, 0, 0);
}

static void threads_go(void)
{
	struct program p[4] = { root_program(killer_next) };
	make(OBJECT_UNTYPED, 12, POOL, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_TCB, 0, VICTIM, 1), W(CNODE)), 0);
	p[1] = (struct program){ .thread = (struct thread *)slot_of(VICTIM)->cap.object, .next = mortal_next };
	revoke(POOL); /* those to come are at the same place */
	for (unsigned i = 0; i < 2; i++)
		p[2 + i] = (struct program){ .thread = spawn(WORKER + 10 * i, 100, 1 + i), .next = mortal_next };
	run(p, 4);
}

TESTS(destruction) = {
	{ "objects go while threads use them", objects_go, 3 | TEST_ONCE },
	{ "a page goes while threads write into it", page_goes, 3 | TEST_ONCE },
	{ "an address space goes while threads live in it", address_space_goes, 3 | TEST_ONCE },
	{ "threads go while they run", threads_go, 3 | TEST_ONCE },
	{ 0 },
};
