/* SPDX-License-Identifier: BSD-2-Clause */
/* Mistakes that builds with assertions must report (core/assert.h), each made in a process of its own, which ends by
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "endpoint.h"
#include "harness.h"
#include "kernel.h"
#include "notification.h"
#include LOCKING_HEADER

enum { N = 100, ENDPOINT = 101, THREAD = 102, OTHER = 104 };

static struct cpu *cpu;
static struct notification *notification;
static struct endpoint *endpoint;
static struct thread *thread, *other;
static unsigned *line; /* of what the child did first and last; shared with it */

/* Remembers where it stands. */
#define FIRST(statement) do { line[0] = __LINE__; statement; } while (0)
#define LAST(statement)  do { line[1] = __LINE__; statement; } while (0)

static void *object(uint64_t slot) { return (void *)slot_of(slot)->cap.object; }

static void prepare(void)
{
	make(OBJECT_NOTIFICATION, 0, N, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	thread = make_thread(THREAD, 100, 0);
	other = make_thread(OTHER, 100, 0);
	settle();
	notification = object(N), endpoint = object(ENDPOINT);
	cpu = machine->kernel.cpu[0];
}

/* Reports `what`, and the places of the first and the last statement, where they are named. */
static void reported(void (*mistake)(void), const char *what)
{
	char text[4096], place[64];
	prepare();
	line = mmap(0, 2 * sizeof(*line), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	last_words(mistake, text, sizeof(text));
	bool found = strstr(text, what);
	for (unsigned i = 0; i < 2 && found; i++) {
		snprintf(place, sizeof(place), "test-contracts.c:%u", line[i]);
		found = !line[i] || strstr(text, place);
	}
	if (!found)
		fprintf(stderr, "expected '%s', lines %u and %u, got: %s\n", what, line[0], line[1], text);
	EXPECT(found, true);
	munmap(line, 2 * sizeof(*line));
}

static void enters_twice(void)
{
	FIRST(kernel_enter(cpu));
	LAST(kernel_enter(cpu));
}
static void locks_twice(void)
{
	kernel_enter(cpu);
	FIRST(object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION));
	LAST(object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION));
}
static void locks_a_pair_of_one(void)
{
	kernel_enter(cpu);
	LAST(object_lock_pair(cpu, &thread->lock, &thread->lock, LOCK_CLASS_TCB));
}
static void locks_out_of_order(void)
{
	kernel_enter(cpu);
	FIRST(object_lock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT));
	LAST(object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION));
}
static void queue_behind_threads(void)
{
	kernel_enter(cpu);
	FIRST(object_lock_pair(cpu, &thread->lock, &other->lock, LOCK_CLASS_TCB));
	LAST(object_lock(cpu, &cpu->shared.ready.lock, LOCK_CLASS_RUN_QUEUE));
}
static void leaves_with_a_lock(void)
{
	kernel_enter(cpu);
	FIRST(object_lock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT));
	LAST(kernel_exit(cpu));
}
static void unlocks_what_is_free(void)
{
	FIRST(kernel_enter(cpu));
	LAST(object_unlock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT));
}
static void leaves_twice(void)
{
	FIRST(kernel_enter(cpu));
	kernel_exit(cpu);
	LAST(kernel_exit(cpu));
}
static void needs_a_lock(void) { LAST(assert_held(&endpoint->lock)); }
static void needs_the_kernel(void) { LAST(assert_entered()); }
static void needs_it_alone(void)
{
	FIRST(kernel_enter(cpu));
	LAST(assert_exclusive());
}
static void is_wrong(void) { LAST(kernel_assert(thread == other)); }
static void queues_twice(void)
{
	kernel_enter_exclusive(cpu);
	thread_queue_append(&endpoint->senders, thread);
	thread_queue_append(&endpoint->senders, other);
	thread_queue_append(&endpoint->senders, thread);
}
static void starts_alone(void) /* no mistake: what the last four miss is there */
{
	kernel_enter_exclusive(cpu);
	assert_exclusive();
	assert_held(&endpoint->lock);
	object_lock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	object_lock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	object_lock_pair(cpu, &other->lock, &thread->lock, LOCK_CLASS_TCB);
	object_unlock(cpu, &notification->lock, LOCK_CLASS_NOTIFICATION);
	object_unlock_pair(cpu, &thread->lock, &other->lock, LOCK_CLASS_TCB);
	object_unlock(cpu, &endpoint->lock, LOCK_CLASS_ENDPOINT);
	kernel_exit(cpu);
	kernel_enter(cpu);
	assert_entered();
	fprintf(stderr, "all is well\n");
	abort();
}

static void the_kernels_lock(void) { reported(enters_twice, "the kernel's lock is taken twice"); }
static void the_lock_is_free(void) { reported(leaves_twice, "the kernel's lock is released twice"); }
static void a_lock_twice(void) { reported(locks_twice, "a lock is taken twice"); }
static void a_pair_of_one(void) { reported(locks_a_pair_of_one, "as both of a pair"); }
static void locks_in_order(void) { reported(locks_out_of_order, "lock order: "); }
static void threads_come_last(void) { reported(queue_behind_threads, "lock order: "); }
static void locks_that_stay(void) { reported(leaves_with_a_lock, "with an object's lock held"); }
static void a_free_lock(void) { reported(unlocks_what_is_free, "that is not held"); }
static void preconditions(void) { reported(needs_a_lock, "not held: &endpoint->lock"); }
static void outside(void) { reported(needs_the_kernel, "outside of the kernel's lock"); }
static void an_expression(void) { reported(is_wrong, "assertion failed: thread == other"); }
static void a_long_check(void) { reported(queues_twice, "assertion failed: !thread_queue_contains(queue, thread)"); }
static void no_mistake(void) { reported(starts_alone, "all is well"); }
static void a_reader(void)
{
	if (strcmp(REGIME_HEADER, "fine.h"))
		return; /* every entry has the kernel for itself */
	reported(needs_it_alone, "must be exclusive and is not");
}

TESTS(contracts) = {
	{ "the kernel's lock", the_kernels_lock, 1 | TEST_ONCE },
	{ "the kernel's lock is free", the_lock_is_free, 1 | TEST_ONCE },
	{ "a lock twice", a_lock_twice, 1 | TEST_ONCE },
	{ "a pair of one", a_pair_of_one, 1 | TEST_ONCE },
	{ "locks are taken in order", locks_in_order, 1 | TEST_ONCE },
	{ "TCBs come last", threads_come_last, 1 | TEST_ONCE },
	{ "a lock that is still held", locks_that_stay, 1 | TEST_ONCE },
	{ "a lock that is free", a_free_lock, 1 | TEST_ONCE },
	{ "a lock that is wanted", preconditions, 1 | TEST_ONCE },
	{ "outside the kernel", outside, 1 | TEST_ONCE },
	{ "a reader that should be a writer", a_reader, 1 | TEST_ONCE },
	{ "an expression", an_expression, 1 | TEST_ONCE },
	{ "a queue that is walked", a_long_check, 1 | TEST_ONCE },
	{ "no mistake", no_mistake, 1 | TEST_ONCE },
	{ 0 },
};
