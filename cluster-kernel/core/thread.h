/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads (TCBs): execution state, scheduling, what they wait for. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>
#include "arch_context.h"
#include "assert.h"
#include "cap.h"
#include "core_set.h"
#include "lock.h"

struct cpu;
struct endpoint;
struct notification;
struct reply;

enum thread_state {
	THREAD_INACTIVE, /* not configured, suspended, or faulted without a handler */
	THREAD_READY,    /* in its core's run queue, or current on its core */
	THREAD_SENDING,  /* in an endpoint's queue; `calling` when it wants an answer */
	THREAD_RECEIVING,
	THREAD_REPLY,    /* its message was received; `reply` will answer */
	THREAD_AWAY,     /* its call is made by another core, visit.h */
	THREAD_WAITING,  /* in a notification's queue */
	THREAD_IDLE,     /* a core's idle thread */
};

/* Where a ready thread is that does not run: `queued`. */
enum { THREAD_QUEUED = 1, /* in its core's run queue */
       /* woken by another core; in its core's requeue list, or about to be pushed there (schedule.h) */
       THREAD_REQUEUED };

/* The thread's own slots: capabilities that it cannot run without. */
enum { THREAD_CSPACE, THREAD_VSPACE, THREAD_IPC_BUFFER, THREAD_SLOTS };

struct thread {
	struct context context; /* first: the entry code saves registers here */
	struct object_lock lock;
	uint32_t references;
	uint8_t priority;
	uint8_t mcp; /* maximum controlled priority: the highest that may be set by this TCB's authority */
	uint8_t calling;   /* of a sender: waits for the reply, too */
	uint8_t grant;     /* of a sender: its endpoint capability has GRANT */
	union {
		struct {
			uint16_t core;
			uint8_t moves; /* `next_core` is another core: thread_moves() */
			uint8_t state; /* enum thread_state */
			/* A core holds its FPU state; cleared by that core once it has saved it. */
			_Atomic uint8_t loaded;
			uint8_t faulting;  /* the message is a fault: registers stay as they are */
			uint8_t queued;    /* THREAD_QUEUED, THREAD_REQUEUED; 0: in no queue */
			uint8_t in_timers; /* waits until its deadline, in its core's heap */
		};
		_Atomic uint64_t state_word; /* the seven fields above as one load */
	};
	uint16_t next_core; /* on which it runs after its next switch or wait */
	struct thread *next, *previous; /* run queue, or queue of the object it waits for; `next`: requeue list, too */
	struct timer_node {
		struct thread *parent, *left, *right;
		unsigned rank;
		uint16_t level; /* of the heap, timer.h */
		bool kept;      /* is in the heap, though the wait has ended: timer.h. Always valid */
	} timer; /* valid if in_timers, or kept */
	uint64_t deadline;
	uint64_t time; /* TSC cycles run; while the thread runs, minus the TSC when it began to run */
	uint64_t slice_left; /* TSC cycles left of a preempted time slice; 0: a whole one is due */
	uint64_t retype_left; /* slots that a preempted retype has still to fill, and has found empty; 0: none */
	_Atomic(struct endpoint *) endpoint; /* SENDING, RECEIVING; stale otherwise, as `reply` */
	_Atomic(struct notification *) notification; /* WAITING */
	struct reply *reply;               /* RECEIVING: will hold the caller, may be null; REPLY: holds this thread */
	struct notification *bound;
	uint64_t badge;        /* SENDING: of the capability it sends through */
	uint64_t info;         /* SENDING: message info */
	uint64_t fault_words[5];
	uint64_t fault_cptr;
	uint16_t away_at; /* AWAY: the core */
	/* its next call needs an exclusive entry, since it came back from another core undone (visit.h) */
	uint8_t stays;
	uint8_t scheduled; /* TCB_SCHEDULE has given it a core: it may run */
	struct ipc_buffer *ipc_buffer_address; /* in the direct map; use thread_ipc_buffer() */
	struct slot slot[THREAD_SLOTS];
	/* those on which threads may be put by this TCB's authority, as `mcp` is for priorities */
	struct core_set cores;
	_Alignas(64) uint8_t fpu[ARCH_FPU_SIZE];
};
_Static_assert(sizeof(struct thread) <= 1u << TCB_BITS, "the ABI's TCB size");

/* Null when there is none, or its frame is gone. */
static inline struct ipc_buffer *thread_ipc_buffer(const struct thread *thread)
{
	kernel_assert(slot_empty(&thread->slot[THREAD_IPC_BUFFER]) || thread->ipc_buffer_address);
	return slot_empty(&thread->slot[THREAD_IPC_BUFFER]) ? 0 : thread->ipc_buffer_address;
}

/* Null when it is gone (an empty slot is all zeroes): the thread then faults at its first instruction. */
static inline struct vspace *thread_vspace(const struct thread *thread)
{
	kernel_assert(slot_empty(&thread->slot[THREAD_VSPACE]) == !thread->slot[THREAD_VSPACE].cap.object);
	return (struct vspace *)thread->slot[THREAD_VSPACE].cap.object;
}

/*
 * Returns whether the thread is in a system call that has not ended, or waits for the handling of a fault (`faulting`).
 */
static inline bool thread_waits(const struct thread *thread)
{
	return thread->state >= THREAD_SENDING && thread->state <= THREAD_WAITING;
}

/* Returns whether the thread makes a system call, on its own core or on another. */
static inline bool thread_calls(const struct thread *thread)
{
	enum thread_state state = __atomic_load_n(&thread->state, __ATOMIC_RELAXED);
	return state == THREAD_READY || state == THREAD_AWAY;
}

/*
 * Returns the value of `state_word` for a thread that is blocked in `state` and
 * belongs to `core`, where all else is as usual: it is not to move to another
 * core, no core holds its FPU state, it has no deadline and no fault.
 */
static inline uint64_t blocked_state_word(uint64_t core, enum thread_state state)
{
	kernel_assert(core <= UINT16_MAX);
	return core | (uint64_t)state << 8 * (__builtin_offsetof(struct thread, state) -
	                                      __builtin_offsetof(struct thread, state_word));
}
/* The part of a state word that tells of a deadline. */
#define STATE_IN_TIMERS (1ull << 8 * (__builtin_offsetof(struct thread, in_timers) - __builtin_offsetof(struct thread, \
	state_word)))
static inline uint64_t thread_state_word(const struct thread *thread)
{
	return atomic_load_explicit(&thread->state_word, memory_order_acquire);
}
/* Returns whether a thread with this state word belongs to `core` and is not to move. */
static inline bool state_word_stays(uint64_t word, uint32_t core)
{
	_Static_assert(__builtin_offsetof(struct thread, core) == __builtin_offsetof(struct thread, state_word) &&
	               __builtin_offsetof(struct thread, moves) == __builtin_offsetof(struct thread, core) + 2,
	               "the lowest 24 bits of the state word");
	return ((uint32_t)word & 0xffffff) == core;
}

/* Returns whether the thread is to leave its core: next_core is another one. */
static inline bool thread_moves(const struct thread *thread)
{
	kernel_assert(thread->moves == (thread->core != thread->next_core));
	return thread->moves;
}
/* The thread is to run on `core` from its next switch or wait on. Caller has the kernel for itself. */
static inline void thread_set_next_core(struct thread *thread, uint32_t core)
{
	kernel_assert(core < CORES_MAX);
	thread->next_core = (uint16_t)core;
	thread->moves = thread->core != core;
}
/*
 * The thread belongs to its next core now. `core` is stored first: a fast path that reads the state word in between
 * declines.
 */
static inline void thread_move(struct thread *thread)
{
	if (!thread_moves(thread))
		return;
	thread->core = thread->next_core;
	thread->moves = 0;
}

/*
 * The state is written under the lock of the object that the thread waits for or is about to wait for. A core may read
 * it without that lock, to learn which lock to take, and must read it again under the lock. Acquire and release: a
 * reader that sees a state also sees the object pointer that was written before it (`endpoint`, `notification`).
 */
static inline enum thread_state thread_state(const struct thread *thread)
{
	return __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);
}
/* For assertions. Relaxed, so that an assertion adds no order that would hide a race. */
static inline bool thread_is(const struct thread *thread, enum thread_state state)
{
	return __atomic_load_n(&thread->state, __ATOMIC_RELAXED) == state;
}
static inline void thread_become(struct thread *thread, enum thread_state state)
{
	kernel_assert(state < THREAD_IDLE && !thread_is(thread, THREAD_IDLE));
	__atomic_store_n(&thread->state, state, __ATOMIC_RELEASE);
}
static inline struct endpoint *thread_endpoint(const struct thread *thread)
{
	return atomic_load_explicit(&thread->endpoint, memory_order_relaxed);
}
static inline void thread_waits_at(struct thread *thread, struct endpoint *endpoint, enum thread_state state)
{
	kernel_assert(endpoint && (state == THREAD_SENDING || state == THREAD_RECEIVING));
	atomic_store_explicit(&thread->endpoint, endpoint, memory_order_relaxed);
	thread_become(thread, state);
}

static inline struct notification *thread_notification(const struct thread *thread)
{
	return atomic_load_explicit(&thread->notification, memory_order_relaxed);
}
static inline void thread_waits_for(struct thread *thread, struct notification *notification)
{
	kernel_assert(notification);
	atomic_store_explicit(&thread->notification, notification, memory_order_relaxed);
	thread_become(thread, THREAD_WAITING);
}

/* An empty thread on core 0 in zeroed memory. */
void thread_init(struct thread *thread);
void thread_destroy(struct cpu *cpu, struct thread *thread);
bool thread_has_slots(const struct thread *thread);
/* Deletes the capabilities it lives by. */
void thread_clear_slots(struct cpu *cpu, struct thread *thread);
/* Fills one that is empty with a copy. */
void thread_set_slot(struct thread *thread, unsigned index, struct slot *from);
/* Called when its THREAD_VSPACE slot has been emptied: if the thread runs, it faults at its next instruction. */
void thread_leave_vspace(struct cpu *cpu, struct slot *slot, struct vspace *vspace);
/*
 * Suspends the thread: takes it out of its queue and off its core; it is INACTIVE then. When it is resumed, it makes a
 * system call in which it waited again, and raises a fault again unless a handler has received the message.
 */
void thread_suspend(struct cpu *cpu, struct thread *thread);
/* Ends the thread's placement on a core other than the first (kernel->placed). */
void thread_unplace(struct kernel *kernel, struct thread *thread);
/*
 * Moves a thread that waits, and is in no heap of deadlines, to its next core at once, so that no state of it is left
 * on the old one. Not if this core holds its registers.
 */
void thread_move_waiting(struct cpu *cpu, struct thread *thread);
/* Makes an INACTIVE thread ready. */
void thread_resume(struct cpu *cpu, struct thread *thread);

uint64_t invoke_tcb(struct cpu *cpu, struct slot *slot, uint64_t info);
