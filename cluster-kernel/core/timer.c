/* SPDX-License-Identifier: BSD-2-Clause */
#include "timer.h"
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "schedule.h"
#include "work.h"
#include REGIME_HEADER

/* Length of the right spine, which is the shortest way down to a missing child. */
static unsigned rank(const struct thread *thread) { return thread ? thread->timer.rank : 0; }

/* Puts the children in order; true when the rank is another now. */
static bool settle(struct thread *thread)
{
	struct timer_node *node = &thread->timer;
	unsigned before = node->rank;
	if (rank(node->left) < rank(node->right)) {
		struct thread *right = node->right;
		node->right = node->left;
		node->left = right;
	}
	node->rank = rank(node->right) + 1;
	return node->rank != before;
}

/* Down the right spines only: no deeper than twice the logarithm of the number of threads. */
static struct thread *merge(struct thread *a, struct thread *b)
{
	if (!a || !b)
		return a ? a : b;
	if (b->deadline < a->deadline) {
		struct thread *later = a;
		a = b;
		b = later;
	}
	a->timer.right = merge(a->timer.right, b);
	a->timer.right->timer.parent = a;
	settle(a);
	return a;
}

static void set_root(struct cpu *home, struct thread *root)
{
	home->shared.timers = root;
	if (root)
		root->timer.parent = 0;
}

/* Of the core whose heap it is; its lock is the run queue's. */
static struct object_lock *heap_lock(struct cpu *home) { return &home->shared.ready.lock; }

void timer_add(struct cpu *cpu, struct thread *thread, uint64_t deadline)
{
	thread->deadline = deadline;
	thread->timer = (struct timer_node){ .rank = 1 };
	object_lock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
	thread->in_timers = 1;
	set_root(cpu, merge(cpu->shared.timers, thread));
	object_unlock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
}

/* Closes the gap that a thread leaves in the heap of `home`. */
static void take_out(struct cpu *home, struct thread *thread)
{
	struct thread *parent = thread->timer.parent, *rest = merge(thread->timer.left, thread->timer.right);
	if (!parent) {
		set_root(home, rest);
		return;
	}
	if (rest)
		rest->timer.parent = parent;
	if (parent->timer.left == thread)
		parent->timer.left = rest;
	else
		parent->timer.right = rest;
	while (parent && settle(parent))
		parent = parent->timer.parent;
}

void timer_cancel(struct cpu *cpu, struct thread *thread)
{
	if (!thread->in_timers)
		return;
	struct cpu *home = kernel_of(cpu)->cpu[thread->core];
	object_lock(cpu, heap_lock(home), LOCK_CLASS_RUN_QUEUE);
	take_out(home, thread);
	thread->in_timers = 0;
	object_unlock(cpu, heap_lock(home), LOCK_CLASS_RUN_QUEUE);
}

/* The first whose deadline has passed, and what it waits for; null: none. */
static struct thread *overdue(struct cpu *cpu, struct notification **notification)
{
	object_lock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
	struct thread *thread = cpu->shared.timers;
	if (thread && thread->deadline > arch_time())
		thread = 0;
	*notification = thread ? thread_notification(thread) : 0;
	object_unlock(cpu, heap_lock(cpu), LOCK_CLASS_RUN_QUEUE);
	return thread;
}

void timer_expire(struct cpu *cpu)
{
	struct notification *notification;
	struct thread *thread;
	while (!work_over(cpu) && (thread = overdue(cpu, &notification)))
		if (notification_time_out(cpu, notification, thread))
			work_done(cpu, WORK_WAKE);
}
