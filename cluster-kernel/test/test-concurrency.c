/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores that work on the same objects at the same time: messages, signals, deadlines, interrupts, moves. */
#include <skerry/doorbell.h>
#include "programs.h"
#include "thread.h"

enum { ROUNDS = 4000 };
enum { ENDPOINT = 1000, REPLY = 1001, NOTE = 1010, SERVER = 1100, CLIENT = 1110, OTHER = 1120, WORKER = 1130 };

static struct program root_program(bool (*next)(struct program *, unsigned), uint64_t left)
{
	return (struct program){ .thread = machine->root, .next = next, .left = left, .vaddr = ROOT_IPC_BUFFER_VADDR };
}

/* Long messages: four words in registers, as many in the buffer, each a function of the sender and the round. */
enum { LONG = 8 };

static bool send_long(struct program *self, unsigned core, unsigned number, uint64_t seed)
{
	struct hosted_call order = { .number = number, .cptr = self->slot, .reply = REPLY,
	                             .info = message_info(7, 0, LONG) };
	for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
		order.word[i] = seed + i;
	for (unsigned i = MESSAGE_REGISTERS; i < LONG; i++)
		EXPECT(hosted_store(machine, core, self->vaddr + 8 * i, seed + i), true);
	hosted_post_call(machine, core, &order);
	return true;
}

static void expect_long(const struct program *self, unsigned core, uint64_t seed)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < MESSAGE_REGISTERS; i++)
		EXPECT(word(self->thread, i), seed + i);
	for (unsigned i = MESSAGE_REGISTERS; i < LONG; i++) {
		EXPECT(hosted_load(machine, core, self->vaddr + 8 * i, &value), true);
		EXPECT(value, seed + i);
	}
}

static bool client_next(struct program *self, unsigned core)
{
	if (self->step++) {
		EXPECT(last(self), 0);
		expect_long(self, core, ~self->value);
		if (--self->left == 0)
			return false;
	}
	self->value = (uint64_t)self->index << 48 | self->left << 8;
	return send_long(self, core, SYS_CALL, self->value);
}

/* Answers with the complement of the first word, and so on from there. */
static bool server_next(struct program *self, unsigned core)
{
	if (!self->step++)
		return post(self, core, SYS_RECV, ENDPOINT, 0, REPLY);
	EXPECT(last(self), 0);
	uint64_t seed = word(self->thread, 0);
	EXPECT(badge(self->thread), seed >> 48);
	expect_long(self, core, seed);
	return send_long(self, core, SYS_REPLY_RECV, ~seed);
}

static void calls(unsigned server_core)
{
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	struct program p[4] = { { .thread = spawn(SERVER, 120, server_core), .next = server_next, .slot = ENDPOINT,
		                  .vaddr = buffer_at(SERVER) } };
	for (unsigned i = 1; i < 4; i++) {
		uint64_t slot = CLIENT + 10 * i;
		copy(ENDPOINT + 4 + i, ENDPOINT, RIGHT_ALL, i);
		p[i] = (struct program){ .thread = spawn(slot, 100 + i % 2, i % 3), .next = client_next, .index = i,
			                 .slot = ENDPOINT + 4 + i, .left = ROUNDS, .vaddr = buffer_at(slot) };
	}
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(1, 0), W(ROOT_SLOT_TCB)), 0);
	run_programs(p, 4, 0);
}

static void calls_cross_cores(void) { calls(1); }
static void calls_meet_on_a_core(void) { calls(0); }

/* Round and round: each waits for its own notification and signals the next one's. */
static bool relay_next(struct program *self, unsigned core)
{
	if (self->step++ % 2 == 0)
		return post(self, core, SYS_WAIT, NOTE + self->index, 0, 0);
	EXPECT(last(self), 0);
	EXPECT(badge(self->thread), 1);
	if (self->left)
		self->left--;
	if (!self->left && self->index == self->value - 1)
		return false; /* nobody waits any more */
	return post(self, core, SYS_SIGNAL, NOTE + (self->index + 1) % self->value, 0, 0);
}

static void wake_ups_cross_cores(void)
{
	enum { RING = 5 };
	struct program p[RING];
	make(OBJECT_NOTIFICATION, 0, NOTE, RING);
	for (unsigned i = 0; i < RING; i++)
		p[i] = (struct program){ .thread = spawn(WORKER + 10 * i, 100 + i % 2, i % 3), .next = relay_next,
		                         .index = i,
			                 .left = ROUNDS, .value = RING };
	EXPECT(simple(0, SYS_SIGNAL, NOTE), 0);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(1, 0), W(ROOT_SLOT_TCB)), 0);
	run_programs(p, RING, 0);
}

/* Many signal one word, each its own bit, and wait for the answer. */
static bool signaller_next(struct program *self, unsigned core)
{
	if (self->step++ % 2 == 0)
		return post(self, core, SYS_SIGNAL, NOTE + 8 + self->index, 0, 0);
	EXPECT(last(self), 0);
	if (self->step > 2 && --self->left == 0)
		return false;
	return post(self, core, SYS_WAIT, NOTE + self->index, 0, 0);
}

static bool collector_next(struct program *self, unsigned core)
{
	if (!self->value) {
		if (self->step) {
			EXPECT(last(self), 0);
			self->value = badge(self->thread);
			EXPECT(self->value & ~0xeull, 0);
		}
		self->step++;
		if (!self->value)
			return post(self, core, SYS_WAIT, NOTE, 0, 0);
	}
	unsigned who = __builtin_ctzll(self->value);
	self->value &= self->value - 1;
	if (!self->value)
		self->step = 0;
	return post(self, core, SYS_SIGNAL, NOTE + who, 0, 0);
}

static void signals_gather(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 4);
	struct program p[4] = { { .thread = spawn(SERVER, 100, 0), .next = collector_next } };
	for (unsigned i = 1; i < 4; i++) {
		copy(NOTE + 8 + i, NOTE, RIGHT_WRITE, 1ull << i);
		p[i] = (struct program){ .thread = spawn(WORKER + 10 * i, 100, i % 3), .next = signaller_next,
		                         .index = i,
			                 .left = ROUNDS };
	}
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(1, 0), W(ROOT_SLOT_TCB)), 0);
	run_programs(p, 4, 0);
}

/* Waits with deadlines that pass at about the time of the signal. */
static bool hasty_next(struct program *self, unsigned core)
{
	if (self->step++ % 2 == 0)
		return post(self, core, SYS_SIGNAL, NOTE + (self->index + 1) % 3, 0, 0);
	if (self->step > 2) {
		self->value += last(self) == SKERRY_TIMED_OUT;
		EXPECT(last(self) == SKERRY_TIMED_OUT || last(self) == 0, true);
		if (--self->left == 0)
			return false;
	}
	return post(self, core, SYS_WAIT, NOTE + self->index, hosted_now(machine) + 1 + self->left % 64, 0);
}

static void deadlines_pass(void)
{
	struct program p[3];
	make(OBJECT_NOTIFICATION, 0, NOTE, 3);
	for (unsigned i = 0; i < 3; i++)
		p[i] = (struct program){ .thread = spawn(WORKER + 10 * i, 100, i), .next = hasty_next, .index = i,
		                         .left = ROUNDS };
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(1, 0), W(ROOT_SLOT_TCB)), 0);
	run_programs(p, 3, 100);
}

/* The root task has done all its rounds: the workers stop. */
static _Atomic bool finished;

/* Works, and notices if a call is lost, made twice, or half made: each moves it on by one instruction. */
static bool worker_next(struct program *self, unsigned core)
{
	const struct thread_registers *r = &self->thread->context.registers;
	EXPECT(r->rip, self->value + SYSCALL_SIZE * self->step);
	if (self->step++)
		EXPECT(last(self), 0);
	if (atomic_load_explicit(&finished, memory_order_relaxed))
		return false;
	return post(self, core, self->step % 2 ? SYS_SIGNAL : SYS_YIELD, self->step % 2 ? NOTE : 0, 0, 0);
}

static struct program worker(uint64_t slot, unsigned core)
{
	struct thread *thread = spawn(slot, 100, core);
	return (struct program){ .thread = thread, .next = worker_next, .value = thread->context.registers.rip };
}

/* With the workers; they may be as important as the root task, which makes way for them, but not more. */
static void run_workers(bool (*root_next)(struct program *, unsigned))
{
	struct program p[4] = { root_program(root_next, ROUNDS) };
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	for (unsigned i = 0; i < 3; i++)
		p[1 + i] = worker(WORKER + 10 * i, i);
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(102, 0), W(ROOT_SLOT_TCB)), 0);
	atomic_store(&finished, false);
	run_programs(p, 4, 0);
}

/* A round of the root task: true when it has none left, or makes way. */
static bool makes_way(struct program *self, unsigned core)
{
	if (self->step++)
		EXPECT(last(self), 0);
	if (self->left == 0 || --self->left == 0)
		atomic_store_explicit(&finished, true, memory_order_relaxed);
	else if (self->left % 4 == 0)
		post(self, core, SYS_YIELD, 0, 0, 0);
	else
		return false;
	return true;
}

/* The root task sends the workers to and fro. */
static bool mover_next(struct program *self, unsigned core)
{
	if (makes_way(self, core))
		return self->left;
	uint64_t who = WORKER + 10 * (self->step % 3), to = (self->step * 7 + self->step / 5) % 3;
	return invoke_on(self, core, who, TCB_SCHEDULE, W(100 + self->step % 3, to), W(ROOT_SLOT_TCB));
}

static void threads_move_about(void) { run_workers(mover_next); }

/* The root task stops the workers and lets them go on, wherever they are. */
static bool stopper_next(struct program *self, unsigned core)
{
	if (makes_way(self, core))
		return self->left;
	return invoke_on(self, core, WORKER + 10 * (self->step % 3), self->value++ % 4 < 2 ? TCB_SUSPEND : TCB_RESUME,
	                 NONE, NONE);
}

static void threads_are_stopped(void) { run_workers(stopper_next); }

/* A device raises its line, its driver says when it has seen that. */
enum { PIN = 3, HANDLER = 1020 };

static bool device_next(struct program *self, unsigned core)
{
	if (self->step++ && --self->left == 0)
		return false;
	hosted_raise_pin(machine, PIN);
	return post(self, core, SYS_WAIT, NOTE + 1, 0, 0);
}

static bool driver_next(struct program *self, unsigned core)
{
	switch (self->step++ % 3) {
	case 0: return post(self, core, SYS_WAIT, NOTE, 0, 0);
	case 1:
		EXPECT(badge(self->thread), 4);
		return invoke_on(self, core, HANDLER, IRQ_ACK, NONE, NONE);
	default: return post(self, core, SYS_SIGNAL, NOTE + 1, 0, 0);
	}
}

static void interrupts_arrive(void)
{
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	copy(NOTE + 2, NOTE, RIGHT_WRITE, 4);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(HANDLER, 2, PIN, 1), W(CNODE)), 0);
	EXPECT(call(HANDLER, IRQ_SET_NOTIFICATION, NONE, W(NOTE + 2)), 0);
	struct program p[2] = { { .thread = spawn(SERVER, 100, 0), .next = driver_next },
		                { .thread = spawn(CLIENT, 100, 1), .next = device_next, .left = ROUNDS } };
	EXPECT(call(ROOT_SLOT_TCB, TCB_SCHEDULE, W(1, 0), W(ROOT_SLOT_TCB)), 0);
	run_programs(p, 2, 0);
}

/* Two kernels ring each other through a channel. */
static bool ringer_next(struct program *self, unsigned core)
{
	if (self->step++ % 2 == 0)
		return post(self, core, SYS_SIGNAL, NOTE + 1, 0, 0);
	if (self->step > 2 && --self->left == 0)
		return false;
	return post(self, core, SYS_WAIT, NOTE, 0, 0);
}

static void doorbells_ring(void)
{
	struct hosted *pair[2], *saved = machine;
	struct program p[2];
	for (unsigned side = 0; side < 2; side++) {
		const struct hosted_link link = { .id = 1, .side = side, .peer = 11 - side, .peer_cores = 2 };
		struct hosted_config config = { .cluster = 10 + side, .cores = 2, .seed = saved->config.seed,
			                        .threads = saved->config.threads, .channel_count = 1,
			                        .channel = &link };
		machine = pair[side] = hosted_create(&config);
		make(OBJECT_NOTIFICATION, 0, NOTE, 1);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(9, 1), W(NOTE)), 0);
		EXPECT(call(CNODE, CNODE_MINT, W(NOTE + 1, ROOT_SLOT_CHANNEL, RIGHT_ALL, 9), W(CNODE)), 0);
		p[side] = root_program(ringer_next, ROUNDS);
		p[side].machine = machine;
	}
	run_programs(p, 2, 0);
	for (unsigned side = 0; side < 2; side++)
		hosted_destroy(pair[side]);
	machine = saved;
}

/* Deadlines by the host's own clock. */
static void real_deadlines_pass(void)
{
	struct hosted_config config = { .cluster = 10, .cores = 2, .threads = true, .tsc = true };
	struct hosted *saved = machine;
	machine = hosted_create(&config);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	struct thread *waits = spawn(WORKER, 100, 1);
	syscall_on(1, SYS_WAIT, NOTE, 0, W(hosted_now(machine) + 2000000), NONE, 0);
	while (running(1) != waits)
		hosted_run(machine);
	EXPECT(result(waits), SKERRY_TIMED_OUT);
	hosted_destroy(machine);
	machine = saved;
}

TESTS(concurrency) = {
	{ "calls cross cores", calls_cross_cores, 3 | TEST_ONCE },
	{ "calls from other cores meet calls from here", calls_meet_on_a_core, 3 | TEST_ONCE },
	{ "wake-ups cross cores", wake_ups_cross_cores, 3 | TEST_ONCE },
	{ "signals from many cores gather in one word", signals_gather, 3 | TEST_ONCE },
	{ "deadlines pass while signals arrive", deadlines_pass, 3 | TEST_ONCE },
	{ "threads move from core to core", threads_move_about, 3 | TEST_ONCE },
	{ "threads are stopped and go on", threads_are_stopped, 3 | TEST_ONCE },
	{ "interrupts reach a driver on another core", interrupts_arrive, 3 | TEST_ONCE },
	{ "doorbells ring between kernels", doorbells_ring, 2 | TEST_ONCE },
	{ "deadlines pass by the host's clock", real_deadlines_pass, 2 | TEST_ONCE },
	{ 0 },
};
