/* SPDX-License-Identifier: BSD-2-Clause */
#include "timer.h"
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "schedule.h"
#include "work.h"
#include LOCKING_HEADER

/* Returns the length of the right spine, which is the shortest path to a missing child. */
static unsigned heap_rank(const struct thread *thread) { return thread ? thread->timer.rank : 0; }

/* Restores the leftist order of the children; returns whether the rank changed. */
static bool order_children(struct thread *thread)
{
	struct timer_node *node = &thread->timer;
	unsigned before = node->rank;
	if (heap_rank(node->left) < heap_rank(node->right)) {
		struct thread *right = node->right;
		node->right = node->left;
		node->left = right;
	}
	node->rank = heap_rank(node->right) + 1;
	return node->rank != before;
}

/* For assertions: the thread waits until its deadline, or is kept. */
static inline bool has_place(const struct thread *thread) { return !thread->in_timers == thread->timer.kept; }

/* Down the right spines only: no deeper than twice the logarithm of the number of threads. */
static struct thread *heap_merge(struct thread *a, struct thread *b)
{
	if (!a || !b)
		return a ? a : b;
	kernel_assert(a != b && has_place(a) && has_place(b));
	if (b->deadline < a->deadline) {
		struct thread *later = a;
		a = b;
		b = later;
	}
	kernel_assert(!a->timer.right || a->timer.right->deadline >= a->deadline);
	a->timer.right = heap_merge(a->timer.right, b);
	a->timer.right->timer.parent = a;
	order_children(a);
	return a;
}

/* For assertions: children have no earlier deadline than their parent, and name it. */
static inline bool in_order(const struct thread *parent, const struct thread *child)
{
	return !child || (child->deadline >= parent->deadline && child->timer.parent == parent &&
	                  in_order(child, child->timer.left) &&
	                  in_order(child, child->timer.right));
}

static void set_first(struct cpu *home, unsigned level, uint64_t first) NEEDS(home->shared.ready.lock);
static void set_root(struct cpu *home, unsigned level, struct thread *root) NEEDS(home->shared.ready.lock);
static void heap_insert(struct cpu *home, struct thread *thread) NEEDS(home->shared.ready.lock);
static void take_out(struct cpu *home, struct thread *thread) NEEDS(home->shared.ready.lock);

/* Sets a priority's deadline in the tree, and updates the path above it. */
static void set_first(struct cpu *home, unsigned level, uint64_t first)
{
	assert_held(&home->shared.ready.lock);
	struct timers *timers = &home->shared.timers;
	for (unsigned i = PRIORITIES + level; timers->first[i] != first; i /= 2) {
		timers->first[i] = first;
		if (i == 1)
			break;
		first = timer_earlier(first, timers->first[i ^ 1]);
	}
}

static void set_root(struct cpu *home, unsigned level, struct thread *root)
{
	assert_held(&home->shared.ready.lock);
	kernel_assert(level < PRIORITIES && (!root || root->deadline));
	struct timers *timers = &home->shared.timers;
	timers->heap[level] = root;
	if (root)
		root->timer.parent = 0;
	if (root && (!timers->first[PRIORITIES + level] || root->deadline < timers->first[PRIORITIES + level]))
		set_first(home, level, root->deadline);
}

static void heap_insert(struct cpu *home, struct thread *thread)
{
	assert_held(&home->shared.ready.lock);
	kernel_assert(thread->in_timers && thread->deadline);
	unsigned level = thread_moves(thread) ? PRIORITIES - 1 : thread->priority;
	thread->timer = (struct timer_node){ .rank = 1, .level = (uint16_t)level };
	set_root(home, level, heap_merge(home->shared.timers.heap[level], thread));
	kernel_assert_deep(in_order(home->shared.timers.heap[level], home->shared.timers.heap[level]->timer.left));
	kernel_assert_deep(in_order(home->shared.timers.heap[level], home->shared.timers.heap[level]->timer.right));
}

/* Of the core whose heap it is; its lock is the run queue's. */
static struct object_lock *heap_lock(struct cpu *home) NAMES(home->shared.ready.lock);
static struct object_lock *heap_lock(struct cpu *home) { return &home->shared.ready.lock; }

void timer_add(struct cpu *cpu, struct thread *thread, uint64_t deadline)
{
	assert_entered();
	kernel_assert(deadline && !thread->in_timers);
	kernel_assert(thread == current(cpu) && thread->core == cpu->own.index);
	object_lock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
	if (thread->timer.kept)
		take_out(cpu, thread);
	thread->deadline = deadline;
	thread->in_timers = 1;
	heap_insert(cpu, thread);
	object_unlock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
}

/* Closes the gap that a thread leaves in the heap of `home`. */
static void take_out(struct cpu *home, struct thread *thread)
{
	assert_held(&home->shared.ready.lock);
	kernel_assert(has_place(thread) && thread->timer.level < PRIORITIES);
	struct thread *parent = thread->timer.parent, *rest = heap_merge(thread->timer.left, thread->timer.right);
	kernel_assert(!parent || parent->timer.left == thread || parent->timer.right == thread);
	kernel_assert(parent || home->shared.timers.heap[thread->timer.level] == thread);
	if (!parent) {
		set_root(home, thread->timer.level, rest);
		return;
	}
	if (rest)
		rest->timer.parent = parent;
	if (parent->timer.left == thread)
		parent->timer.left = rest;
	else
		parent->timer.right = rest;
	while (parent && order_children(parent))
		parent = parent->timer.parent;
}

static void heap_drop(struct cpu *cpu, struct thread *thread)
{
	kernel_assert(!schedule_foreign(cpu, thread));
	struct cpu *home = kernel_of(cpu)->cpu[thread->core];
	object_lock(cpu, heap_lock(home), LOCK_CLASS_RUN_QUEUE);
	take_out(home, thread);
	thread->in_timers = 0;
	thread->timer.kept = false;
	object_unlock(cpu, heap_lock(home), LOCK_CLASS_RUN_QUEUE);
}

void timer_cancel(struct cpu *cpu, struct thread *thread)
{
	if (schedule_foreign(cpu, thread) || !thread->in_timers)
		return;
	assert_held(&thread_notification(thread)->lock);
	heap_drop(cpu, thread);
}

void timer_drop(struct cpu *cpu, struct thread *thread)
{
	if (thread->in_timers)
		heap_drop(cpu, thread);
}

void timer_forget(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	if (thread->timer.kept)
		heap_drop(cpu, thread);
}

void timer_ask(struct cpu *cpu, struct cpu *home, uint64_t time)
{
	assert_exclusive();
	assert_held(&home->shared.ready.lock);
	uint64_t set = home->own.timer_wanted;
	if (home == cpu || !time || (set && set <= time))
		return; /* of this core, schedule() sets the timer */
	cpu_interrupt(cpu, home->own.index);
}

/* The thread's wait for a notification ends with TIMED_OUT. It is in no heap. */
static void end_wait(struct cpu *cpu, struct thread *thread)
{
	notification_cancel(thread);
	thread_result(thread, SKERRY_TIMED_OUT);
	schedule_wake(cpu, thread);
}

void timer_requeue(struct cpu *cpu, struct thread *thread)
{
	assert_exclusive();
	kernel_assert(thread->in_timers && thread_is(thread, THREAD_WAITING));
	heap_drop(cpu, thread);
	thread_move_waiting(cpu, thread);
	if (thread->deadline <= arch_time()) {
		end_wait(cpu, thread);
		return;
	}
	struct cpu *home = kernel_of(cpu)->cpu[thread->core];
	object_lock(cpu, heap_lock(home), LOCK_CLASS_RUN_QUEUE);
	thread->in_timers = 1;
	heap_insert(home, thread);
	if (thread->timer.level >= timer_lowest(home))
		timer_ask(cpu, home, thread->deadline);
	object_unlock(cpu, heap_lock(home), LOCK_CLASS_RUN_QUEUE);
}

uint64_t timer_first(const struct cpu *cpu)
{
	assert_held(&cpu->shared.ready.lock);
	const struct timers *timers = &cpu->shared.timers;
	unsigned lowest = timer_lowest(cpu);
	uint64_t next = 0;
	if (!lowest)
		return timers->first[1];
	/* Begins at the leaf before `lowest`: the right siblings on the way up cover all priorities from `lowest`
	 * on. */
	for (unsigned i = PRIORITIES - 1 + lowest; i; i /= 2)
		if (!(i & 1))
			next = timer_earlier(next, timers->first[i + 1]);
	return next;
}

uint64_t timer_next(const struct cpu *cpu)
{
	assert_held(&cpu->shared.ready.lock);
	uint64_t next = timer_earlier(timer_earlier(cpu->own.slice_end, cpu->own.housekeeping_at), cpu->own.beat_at);
	return timer_earlier(next, timer_first(cpu));
}

/* Returns the leaf of the highest priority of which a deadline has passed; 0: there is none, or it is below
 * `lowest`. */
static unsigned highest_due(const struct timers *timers, unsigned lowest, uint64_t now)
{
	unsigned i = 1;
	if (!timers->first[1] || timers->first[1] > now)
		return 0;
	while (i < PRIORITIES) {
		i = 2 * i + 1;
		i -= !timers->first[i] || timers->first[i] > now;
	}
	return i - PRIORITIES < lowest ? 0 : i;
}

/*
 * Returns what it costs to serve a deadline that concerns the core and has passed; 0: there is none. Sets the thread
 * and its notification; both are null where the wait was cancelled, and heap and tree are corrected then.
 */
static unsigned overdue_deadline(struct cpu *cpu, struct thread **thread, struct notification **notification)
{
	unsigned cost = WORK_WAKE_TIMED;
	const struct timers *timers = &cpu->shared.timers;
	object_lock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
	const uint64_t now = arch_time();
	unsigned leaf = highest_due(timers, timer_lowest(cpu), now);
	struct thread *root = leaf ? timers->heap[leaf - PRIORITIES] : 0;
	if (root && root->timer.kept && root->deadline <= now) {
		take_out(cpu, root);
		root->timer.kept = false;
		root = 0;
	} else if (!root || root->deadline > now)
		cost = WORK_CLEAR_DEADLINE;
	*thread = root && root->deadline <= now ? root : 0;
	*notification = *thread ? thread_notification(*thread) : 0;
	if (leaf && !*thread)
		set_first(cpu, leaf - PRIORITIES,
		          timers->heap[leaf - PRIORITIES] ? timers->heap[leaf - PRIORITIES]->deadline : 0);
	object_unlock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
	return leaf ? cost : 0;
}

/* Returns whether only the writer may end the thread's wait. */
static bool is_away(struct cpu *cpu, const struct notification *notification)
{
	return notification && !object_here(cpu, &notification->lock);
}

/*
 * Returns whether the thread's wait has ended. A thread that another core has woken is in this core's requeue list, or
 * will be pushed there.
 */
static bool expire_wait(struct cpu *cpu, struct notification *notification, struct thread *thread)
{
	if (!cores_own_queues())
		return notification_time_out(cpu, notification, thread);
	if (!notification || !notification_time_out(cpu, notification, thread))
		timer_drop(cpu, thread);
	return true;
}

void timer_expire(struct cpu *cpu)
{
	assert_entered();
	struct notification *notification;
	struct thread *thread;
	unsigned cost;
	while (!work_over(cpu) && (cost = overdue_deadline(cpu, &thread, &notification))) {
		if (!thread)
			work_done(cpu, cost);
		else if (is_away(cpu, notification)) {
			cpu->own.writer_wanted = true;
			return;
		} else if (expire_wait(cpu, notification, thread))
			work_done(cpu, cost);
	}
}
