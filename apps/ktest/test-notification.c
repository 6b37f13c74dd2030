/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

/* Waits once on arg[0]; result in out[0], word in out[1]. */
static void waiter(struct worker *self)
{
	uint64_t word = 0;
	self->count = 1;
	self->out[0] = (uint64_t)(int64_t)notification_wait(self->arg[0], self->arg[1], &word);
	self->out[1] = word;
}

static struct worker *wait(uint64_t notification, unsigned core)
{
	struct worker *worker = worker_start(waiter, 200, core, notification, 0);
	until(waits(worker));
	return worker;
}

TEST(signal_first, 1, 0, "notification: a signal waits for the waiter")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	check_ok(notification_signal(notification));
	check_ok(notification_wait(notification, 0, &word));
	check_eq(word, 1);
}

TEST(wait_first, 1, 0, "notification: a waiter waits for the signal")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w = wait(notification, 0);
	check(!w->done);
	check_ok(notification_signal(badged(notification, 6, RIGHT_ALL)));
	until(w->done);
	check_eq(w->out[0], 0);
	check_eq(w->out[1], 6);
}

TEST(accumulate, 1, 0, "notification: badges accumulate by OR")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	check_ok(notification_signal(badged(notification, 0x0f, RIGHT_ALL)));
	check_ok(notification_signal(badged(notification, 0x3c, RIGHT_ALL)));
	check_ok(notification_signal(badged(notification, 1ull << 63, RIGHT_ALL)));
	check_ok(notification_wait(notification, 0, &word));
	check_eq(word, 1ull << 63 | 0x3f);
}

TEST(taken, 1, 0, "notification: what was taken is gone")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	check_ok(notification_signal(notification));
	check_ok(notification_wait(notification, 0, &word));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0);
	check_error(notification_wait(notification, read_tsc() + 1000, &word), TIMED_OUT);
}

TEST(poll, 1, 0, "notification: POLL of nothing is 0, of something takes it")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word = 9;
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0);
	check_ok(notification_signal(badged(notification, 0x80, RIGHT_ALL)));
	check_ok(notification_poll(notification, &word));
	check_eq(word, 0x80);
}

TEST(one_of_many, 1, 0, "notification: a signal wakes one waiter, in the order in which they came")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w[4];
	for (unsigned i = 0; i < 4; i++)
		w[i] = wait(notification, i % 2 ? last_core() : 0);
	for (unsigned i = 0; i < 4; i++) {
		check_ok(notification_signal(badged(notification, 1ull << i, RIGHT_ALL)));
		until(w[i]->done);
		check_eq(w[i]->out[1], 1ull << i);
		sleep_ms(1);
		for (unsigned j = i + 1; j < 4; j++)
			check(!w[j]->done);
	}
}

TEST(rights, 1, 0, "notification: NO_RIGHTS without WRITE to signal, without READ to wait and poll")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	uint64_t reader = copy_of(notification, RIGHT_READ), writer = copy_of(notification, RIGHT_WRITE);
	check_error(notification_signal(reader), NO_RIGHTS);
	check_error(notification_wait(writer, 0, &word), NO_RIGHTS);
	check_error(notification_poll(writer, &word), NO_RIGHTS);
	check_ok(notification_signal(writer));
	check_ok(notification_wait(reader, 0, &word));
}

TEST(not_notification, 1, 0, "notification: BAD_CAP for what is none")
{
	uint64_t cap[] = { object(OBJECT_ENDPOINT, 0), object(OBJECT_TCB, 0), slot(), 0, ~0ull }, word;
	for (unsigned i = 0; i < sizeof(cap) / sizeof(cap[0]); i++) {
		check_error(notification_signal(cap[i]), BAD_CAP);
		check_error(notification_wait(cap[i], 0, &word), BAD_CAP);
		check_error(notification_poll(cap[i], &word), BAD_CAP);
	}
}

TEST(deleted, 1, 0, "notification: its end wakes all waiters with DELETED")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *a = wait(notification, 0), *b = wait(notification, last_core());
	check_ok(cnode_delete(ROOT_SLOT_CNODE, notification));
	until(a->done && b->done);
	check_eq(a->out[0], -SKERRY_DELETED);
	check_eq(b->out[0], -SKERRY_DELETED);
}

TEST(suspended, 1, 0, "notification: a suspended waiter takes no signal")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word;
	struct worker *w = wait(notification, 0);
	check_ok(tcb_suspend(w->tcb));
	check_ok(notification_signal(notification));
	check(!w->done);
	check_ok(notification_poll(notification, &word));
	check_eq(word, 1);
}

static void ping(struct worker *self)
{
	for (uint64_t i = 0; i < self->arg[2]; i++) {
		check_ok(notification_signal(self->arg[0]));
		check_ok(notification_wait(self->arg[1], 0, 0));
	}
}

static void pong(struct worker *self)
{
	for (uint64_t i = 0; i < self->arg[2]; i++) {
		check_ok(notification_wait(self->arg[1], 0, 0));
		check_ok(notification_signal(self->arg[0]));
	}
}

static void ping_pong(void (*a_main)(struct worker *), void (*b_main)(struct worker *), unsigned core_b, unsigned count)
{
	uint64_t n = objects(OBJECT_NOTIFICATION, 0, 2);
	struct worker *a = worker_make(a_main, 60, 0), *b = worker_make(b_main, 60, core_b);
	a->arg[0] = b->arg[1] = n;
	a->arg[1] = b->arg[0] = n + 1;
	a->arg[2] = b->arg[2] = count;
	check_ok(tcb_resume(a->tcb));
	check_ok(tcb_resume(b->tcb));
	until(a->done && b->done);
}

TEST(back_and_forth, 1, 0, "notification: two thousand wake-ups there and back on one core")
{
	ping_pong(ping, pong, 0, 2000);
}
TEST(remote_back_and_forth, 2, 0, "notification: two hundred wake-ups there and back between cores")
{
	ping_pong(ping, pong, last_core(), 200);
}

static void adder(struct worker *self)
{
	for (unsigned i = 0; i < 500; i++) {
		check_ok(notification_signal(self->arg[0]));
		while (self->out[0] == self->count) {
			pause_turn(); /* lets an emulator turn to the core that is waited for */
			thread_yield();
		}
		self->count++;
	}
}

/* Each signaller waits until its own bit was seen: a lost one stops it. */
TEST(none_lost, 2, 0, "notification: no signal of many cores is lost")
{
	enum { COUNT = 4 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct worker *w[COUNT];
	for (unsigned i = 0; i < COUNT; i++)
		w[i] = worker_start(adder, 60, i % cores(), badged(notification, 1ull << i, RIGHT_ALL), 0);
	for (unsigned done = 0; done < COUNT * 500;) {
		uint64_t word;
		check_ok(notification_wait(notification, deadline_ms(30000), &word));
		for (unsigned i = 0; i < COUNT; i++) {
			if (word >> i & 1) {
				w[i]->out[0]++;
				done++;
			}
		}
	}
}

/* Signals arg[2], waits on arg[0]; result in out[0], word in out[1]. */
static void signal_waiter(struct worker *self)
{
	uint64_t word = 0;
	self->out[0] = (uint64_t)(int64_t)notification_signal_wait(self->arg[2], self->arg[0], self->arg[1], &word);
	self->out[1] = word;
}

static struct worker *signal_wait(uint64_t peer, uint64_t notification, uint64_t deadline, unsigned core)
{
	struct worker *worker = worker_make(signal_waiter, 200, core);
	worker->arg[0] = notification;
	worker->arg[1] = deadline;
	worker->arg[2] = peer;
	check_ok(tcb_resume(worker->tcb));
	return worker;
}

TEST(signal_wait, 1, 0, "signal and wait: the one is signalled, then the other waited for")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t n = objects(OBJECT_NOTIFICATION, 0, 2), word;
		struct worker *w = signal_wait(badged(n, 0x12, RIGHT_WRITE), copy_of(n + 1, RIGHT_READ), 0, core);
		check_ok(notification_wait(n, 0, &word));
		check_eq(word, 0x12);
		until(waits(w));
		check(!w->done);
		check_ok(notification_signal(badged(n + 1, 0x21, RIGHT_ALL)));
		until(w->done);
		check_eq(w->out[0], 0);
		check_eq(w->out[1], 0x21);
	}
}

TEST(signal_wait_at_once, 1, 0, "signal and wait: a pending word ends the wait, the signal is made all the same")
{
	uint64_t n = objects(OBJECT_NOTIFICATION, 0, 2), word;
	check_ok(notification_signal(badged(n + 1, 6, RIGHT_ALL)));
	check_ok(notification_signal_wait(badged(n, 5, RIGHT_ALL), n + 1, 0, &word));
	check_eq(word, 6);
	check_ok(notification_poll(n, &word));
	check_eq(word, 5);
	check_ok(notification_signal_wait(badged(n, 3, RIGHT_ALL), n, 0, &word)); /* one's own */
	check_eq(word, 3);
}

TEST(signal_wait_timed_out, 1, 0, "signal and wait: a deadline that has passed, or passes, takes no signal back")
{
	for (unsigned i = 0; i < 2; i++) {
		uint64_t n = objects(OBJECT_NOTIFICATION, 0, 2), word;
		check_error(notification_signal_wait(n, n + 1, i ? read_tsc() + 1000 : 1, &word), TIMED_OUT);
		check_ok(notification_poll(n, &word));
		check_eq(word, 1);
	}
}

TEST(signal_wait_refused, 1, 0, "signal and wait: what may not be signalled or waited for leaves both as they were")
{
	uint64_t n = objects(OBJECT_NOTIFICATION, 0, 2), word;
	uint64_t reader = copy_of(n, RIGHT_READ), writer = copy_of(n + 1, RIGHT_WRITE);
	uint64_t bad[] = { object(OBJECT_ENDPOINT, 0), object(OBJECT_TCB, 0), slot(), 0, ~0ull };
	check_ok(notification_signal(n + 1));
	check_error(notification_signal_wait(reader, n + 1, 0, &word), NO_RIGHTS);
	check_error(notification_signal_wait(n, writer, 0, &word), NO_RIGHTS);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_error(notification_signal_wait(bad[i], n + 1, 0, &word), BAD_CAP);
		check_error(notification_signal_wait(n, bad[i], 0, &word), BAD_CAP);
	}
	check_ok(notification_poll(n, &word));
	check_eq(word, 0);
	check_ok(notification_poll(n + 1, &word));
	check_eq(word, 1);
}

TEST(signal_wait_restarted, 1, 0, "signal and wait: suspended in its wait, a thread waits again and signals no more")
{
	for (unsigned core = 0; core < cores(); core++) {
		uint64_t n = objects(OBJECT_NOTIFICATION, 0, 2), word;
		struct worker *w = signal_wait(n, n + 1, 0, core);
		check_ok(notification_wait(n, 0, &word));
		until(waits(w));
		check_ok(tcb_suspend(w->tcb));
		check_ok(tcb_resume(w->tcb));
		until(waits(w));
		check_ok(notification_poll(n, &word));
		check_eq(word, 0);
		check_ok(notification_signal(n + 1));
		until(w->done);
		check_eq(w->out[1], 1);
	}
}

static void ping_at_once(struct worker *self)
{
	for (uint64_t i = 0; i < self->arg[2]; i++)
		check_ok(notification_signal_wait(self->arg[0], self->arg[1], 0, 0));
}

static void pong_at_once(struct worker *self)
{
	check_ok(notification_wait(self->arg[1], 0, 0));
	for (uint64_t i = 1; i < self->arg[2]; i++)
		check_ok(notification_signal_wait(self->arg[0], self->arg[1], 0, 0));
	check_ok(notification_signal(self->arg[0]));
}

TEST(signal_wait_back_and_forth, 1, 0, "signal and wait: two thousand wake-ups there and back on one core")
{
	ping_pong(ping_at_once, pong_at_once, 0, 2000);
}
TEST(signal_wait_remote_back_and_forth, 2, 0, "signal and wait: two hundred wake-ups there and back between cores")
{
	ping_pong(ping_at_once, pong_at_once, last_core(), 200);
}

/* Each of 63 members wakes a thread of some core, and the last is refused. */
TEST(signal_set, 1, 0, "signal set: one call wakes the waiters of all cores, up to the first that is refused")
{
	enum { WAITERS = 12 };
	uint64_t n = objects(OBJECT_NOTIFICATION, 0, 64), word, set = (1ull << WAITERS) - 1;
	struct worker *w[WAITERS];
	for (unsigned i = 0; i < WAITERS; i++)
		w[i] = wait(n + i, i % cores());
	check_ok(notification_signal_set(n, &set));
	check_eq(set, 0);
	for (unsigned i = 0; i < WAITERS; i++) {
		until(w[i]->done);
		check_eq(w[i]->out[0], 0);
		check_eq(w[i]->out[1], 1);
	}
	set = ~0ull;
	check_ok(cnode_delete(ROOT_SLOT_CNODE, n + 40));
	check_error(notification_signal_set(n, &set), BAD_CAP);
	check_eq(set, ~0ull << 40);
	for (unsigned i = 0; i < 64; i++) {
		if (i == 40)
			continue;
		check_ok(notification_poll(n + i, &word));
		check_eq(word, i < 40);
	}
}

TEST(signal_set_refused, 1, 0, "signal set: BAD_CAP and NO_RIGHTS as for a signal, and the rest of the set")
{
	uint64_t n = object(OBJECT_NOTIFICATION, 0), word, set = 0;
	uint64_t bad[] = { object(OBJECT_ENDPOINT, 0), object(OBJECT_TCB, 0), slot(), 0, ~0ull };
	check_ok(notification_signal_set(~0ull, &set));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		set = 1;
		check_error(notification_signal_set(bad[i], &set), BAD_CAP);
		check_eq(set, 1);
	}
	check_error(notification_signal_set(copy_of(n, RIGHT_READ), &set), NO_RIGHTS);
	check_ok(notification_signal_set(copy_of(n, RIGHT_WRITE), &set));
	check_ok(notification_poll(n, &word));
	check_eq(word, 1);
}
