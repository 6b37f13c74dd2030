/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer-model.h"
#include <stdatomic.h>

enum { BELLS = PLATFORM_NET + 1 };

struct thread threads[THREADS_MAX];
unsigned thread_places = MODEL_THREADS;

/* Locks and notifications are the machine's: waiting for them is no loop that could be explored. */
static struct explore_line lock_line[MODEL_LOCKS], bell_line[BELLS];
static struct {
	bool held[MODEL_LOCKS], rung[BELLS], ended[EXPLORE_THREADS];
	uint64_t time, wakes[BELLS]; /* wakes: deadlines of the threads that wait */
} machine;
static _Atomic uint32_t own[EXPLORE_THREADS]; /* each thread's: its writes are seen before what it raises */

void model_set_up(void)
{
	for (unsigned i = 0; i < MODEL_THREADS; i++)
		threads[i] = (struct thread){ .index = i, .tid = (int)i + 1 };
	explore_name(lock_line, sizeof(lock_line), "locks");
	explore_name(bell_line, sizeof(bell_line), "notifications");
	explore_hardware(&machine, sizeof(machine));
}

static void raise(struct explore_line *line)
{
	if (explore_self() >= EXPLORE_THREADS) /* a case's begin() */
		return;
	atomic_fetch_add_explicit(&own[explore_self()], 1, memory_order_release);
	explore_raise(line);
}

static bool is_free(void *argument) { return !machine.held[(uintptr_t)argument]; }

struct thread *thread_self(void) { return &threads[explore_self()]; }

/* For assertions. What the lock guards is plain memory here: whoever touches it without the lock is a data race. */
#ifdef LAYER_CORES
struct lock layer_mutex = { .state = LOCK_HELD };
#else
_Atomic int layer_held = 1;
#endif

void model_take(unsigned lock)
{
	explore_rest(&lock_line[lock], is_free, (void *)(uintptr_t)lock);
	machine.held[lock] = true;
}

void model_release(unsigned lock)
{
	raise(&lock_line[lock]);
	machine.held[lock] = false;
}

bool model_is_taken(unsigned lock) { return machine.held[lock]; }

void layer_lock(void) { model_take(0); }
void layer_unlock(void) { model_release(0); }

void platform_signal(unsigned notification)
{
	raise(&bell_line[notification]);
	machine.rung[notification] = true;
}

#ifdef LAYER_CORES
void platform_signal_set(uint64_t set)
{
	for (; set; set &= set - 1)
		platform_signal((unsigned)__builtin_ctzll(set));
}
#endif

static bool awake(void *argument)
{
	unsigned notification = (unsigned)(uintptr_t)argument;

	return machine.rung[notification] ||
	       (machine.wakes[notification] && machine.time >= machine.wakes[notification]);
}

void platform_wait(unsigned notification, uint64_t deadline)
{
	machine.wakes[notification] = deadline;
	explore_rest(&bell_line[notification], awake, (void *)(uintptr_t)notification);
	machine.rung[notification] = false;
}

static bool always(void *argument)
{
	(void)argument;
	return true;
}

bool model_take_signal(void)
{
	explore_rest(&bell_line[PLATFORM_NET], always, 0);
	const bool rung = machine.rung[PLATFORM_NET];
	machine.rung[PLATFORM_NET] = false;
	return rung;
}

void platform_signal_peer(uint64_t slot) { platform_signal((unsigned)slot); }

void platform_signal_wait(uint64_t slot, unsigned notification, uint64_t deadline)
{
	if (slot)
		platform_signal_peer(slot);
	platform_wait(notification, deadline);
}

void thread_sleep(struct thread *self, uint64_t deadline)
{
	layer_unlock();
	platform_wait(self->index, deadline);
	layer_lock();
}
void thread_signal(struct thread *thread) { platform_signal(thread->index); }

uint64_t clock_cycles(void) { return machine.time; }

/* The place of the lock is written, too: reading the time under the lock is not the same before and after. */
void model_set_time(uint64_t now)
{
	layer_lock();
	for (unsigned i = 0; i < MODEL_THREADS; i++)
		raise(&bell_line[i]);
	raise(&bell_line[PLATFORM_NET]);
	machine.time = now;
	layer_unlock();
}

void model_wait_for(const bool *condition)
{
	while (!*condition)
		event_wait(0);
}

void model_set(bool *condition)
{
	*condition = true;
	event_notify();
}

void model_ended(void) { machine.ended[explore_self()] = true; }

void model_all_ended(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		EXPLORE_CHECK(machine.ended[i], "thread %u sleeps for ever", i);
}
