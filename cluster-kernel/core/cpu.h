/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of one core, in two parts: what only the core itself touches, and
 * what others of its cluster may touch (under the lock regime, or atomically).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <skerry/stat.h>
#include "assert.h"
#include "core_group.h"
#include "core_set.h"
#include "lock.h"
#include "protect.h"
#include "regime.h"
#include "run_queue.h"
#include "thread.h"
#include "thread_stack.h"
#include "tlb.h"
#include "trace.h"

struct kernel;
struct vspace;

/* address spaces at a time, as many as tags of 12 bits nearly allow; ids are unique for ever */
enum { KERNEL_VSPACES = 4000 };

/*
 * Hardware work that a kernel entry has decided on and that is done by
 * arch_finish() after kernel_exit(), outside the lock: loading CR3, the FPU
 * state and segment bases of the next thread, the timer, interrupts to others.
 */
enum cpu_pending {
	PENDING_SWITCH = 1,    /* `current` is not the thread whose state is loaded */
	PENDING_TIMER = 2,     /* the next deadline may have changed */
	PENDING_INTERRUPT = 4, /* cores in `interrupt_cores` */
	PENDING_DOORBELL = 8,  /* the foreign core `doorbell_apic`; one entry rings at most one */
	PENDING_FAST = 16,     /* the fast path declines until then: cpu_decline_fast() */
	/* the timer was served: where it is due again already, one pending interrupt comes first */
	PENDING_REST = 32,
	PENDING_LEAVE = 64,    /* the core leaves the kernel: core_move.h */
};

/* Remote calls (remote.h): requests of the lock's holder that another core serves without entering. One at a time. */
enum cpu_request {
	REQUEST_DESCHEDULE = 1, /* unload the current thread and its address space */
	REQUEST_FLUSH,          /* flush the translations of the request's spaces */
	/* flush and unload: the spaces are being destroyed; the current thread may run in another one */
	REQUEST_FLUSH_AND_UNLOAD,
	/* the core idles and will stay idle: unload the address space; leave this kernel at the end of the entry */
	REQUEST_LEAVE,
	REQUEST_FLUSH_KERNEL, /* flush the translations of the direct map */
};

struct cpu_private {
	struct kernel *kernel;
	struct thread *handoff; /* became ready in this entry and is in no queue yet; null between entries */
	struct vspace *loaded_vspace; /* null: the kernel's own */
	/* PENDING_SWITCH: of the current thread; other cores may change the thread's own after the lock */
	struct vspace *vspace_wanted;
	struct thread *loaded_thread; /* whose FPU state and segment bases the core holds, or null */
	uint32_t index;
	uint32_t word;     /* of a set of cores (core_set.h), in which `bit` is this core's */
	uint64_t bit;
	struct core_group *group; /* of which it is a member, */
	uint32_t member;          /* by this bit: core_member() */
	uint64_t receives; /* blocked_state_word(index, THREAD_RECEIVING); 0 while the fast path declines */
	uint64_t awaits;   /* blocked_state_word(index, THREAD_REPLY); likewise */
	uint32_t pending;
	uint32_t doorbell_apic;
	uint32_t next_channel; /* channel whose doorbells are received first, channel.c */
	int32_t work_left; /* of this entry's budget, work.h */
	unsigned requeue_level;  /* that this core has given its requeue list, schedule.h */
	/* `current` before threads of that list were placed; null: none were, and between entries */
	const struct thread *requeue_before;
	uint64_t slice_end;      /* TSC */
	uint64_t timer_armed;    /* TSC for which the timer is set; 0 none */
	/* TSC for which it is set, or will be at the end of the entry; 0 none. Other cores read it, inside */
	uint64_t timer_wanted;
	uint64_t cleanup_at;     /* TSC at which this core goes on with the reap list, zombie.h; 0 none */
	uint64_t poll_at;        /* TSC at which this core polls the doorbells of remote clusters, channel.h; 0 none */
	uint64_t report_at;      /* TSC at which this core reports how many faults it did not report, fault.h; 0 none */
	uint64_t visits_at;      /* TSC at which this core goes on with visitors, visit.h; 0 none */
	uint64_t housekeeping_at; /* the earliest of the four, timer.h; 0 none */
	uint64_t visits_until;   /* TSC; before that, own threads have their turn */
	uint64_t beat_at;        /* TSC at which this core beats next, beat.h; 0 never */
	struct core_stat *stat;
	struct lock_cpu lock;
	struct trace trace;
	bool doubts;        /* this entry, of a reader, has relied on what others may still have to flush, tlb.h */
	uint32_t home;      /* KERNEL_AWAY: the core that makes the call */
	bool signal_deferred; /* the signal that this core makes finds an object away, visit.h; false between signals */
	/* work of this entry is left until it has the kernel for itself, visit.h; false between entries */
	bool writer_wanted;
	HELD_RECORD held; /* debug and hosted builds: assert.h */
	struct core_set interrupt_cores;
	/* those of `interrupt_cores` that need it only because a thread became ready there; others: stale */
	struct core_set preempt_cores;
	/* by place: this core's tagged translations of the address space are valid, vspace.h */
	_Alignas(8) bool tlb_valid[KERNEL_VSPACES];
};

struct cpu_public {
	_Alignas(64) struct thread *current; /* never null: `idle` when there is nothing to run */
	/* lower bound of the running priority, -1 when idle; the fast path, which never lowers it, does not update
	 * it */
	_Atomic int running;
	struct timers {
		struct thread *heap[PRIORITIES];
		uint64_t first[2 * PRIORITIES]; /* TSC; 0: none */
	} timers; /* threads that wait for a deadline, timer.h; locked as `ready` */
	/* another core has interrupted this one because of a thread of equal priority; locked as `ready` */
	bool slice_asked;
	uint32_t remote_bells; /* doorbells of remote peers that are routed here: the core must poll */
	struct core_group group; /* of the group whose first core this is; else unused */
	/* bit i: `flush_askers` may have a bit in word i, remote.h */
	_Alignas(64) _Atomic uint64_t flush_summary;
	_Atomic uint32_t flush_unanswered; /* so many cores have not flushed this one's `owed` */
	/* odd while this core, as a reader, has changed entries and not all cores have flushed them; tlb.h */
	_Atomic uint64_t debts;
	/* threads of this core that other cores have woken, schedule.h; empty unless cores own their queues */
	struct thread_stack requeue;
	struct thread_stack visitors; /* threads of other cores whose calls this one makes: visit.h */
	struct thread *visited; /* threads taken from `visitors`, in order of arrival */
	struct tlb_spaces owed; /* spaces that the current entry must flush; empty between entries */
	struct run_queue ready;
	struct thread idle;
	_Atomic uint64_t flush_askers[CORE_SET_WORDS]; /* a set: flush what `owed` of these cores has */
	/* a FRAME_PROTECT that was preempted on this core; guarded by the exclusive writer */
	struct protection protection;
};

struct cpu {
	struct cpu_private own;
	struct cpu_public shared;
};

INLINE_LATER struct lock_cpu *lock_own(struct cpu *cpu) { return &cpu->own.lock; }
INLINE_LATER uint32_t core_index(struct cpu *cpu) { return cpu->own.index; }
INLINE_LATER struct core_stat *core_statistics(struct cpu *cpu) { return cpu->own.stat; }
INLINE_LATER struct trace *core_trace(struct cpu *cpu) { return &cpu->own.trace; }

/*
 * Makes the fast path decline until arch_finish() calls cpu_allow_fast(). Hazard: while the fast path waits for the
 * lock, a remote call may make this core leave the current thread's address space (kernel_relax). A switch is pending
 * then, and the fast path would make a different one. The fast path compares its partner's state word with these
 * patterns anyway, and no waiting thread has the state word 0, so this costs it no instruction.
 */
static inline void cpu_decline_fast(struct cpu *cpu)
{
	cpu->own.receives = cpu->own.awaits = 0;
	cpu->own.pending |= PENDING_FAST;
}
static inline void cpu_allow_fast(struct cpu *cpu)
{
	kernel_assert(cpu->own.bit == core_set_bit(cpu->own.index) && cpu->own.word == core_set_index(cpu->own.index));
	cpu->own.receives = blocked_state_word(cpu->own.index, THREAD_RECEIVING);
	cpu->own.awaits = blocked_state_word(cpu->own.index, THREAD_REPLY);
}
/* Interrupts a core of this cluster at the end of the entry. */
static inline void cpu_interrupt(struct cpu *cpu, unsigned core)
{
	kernel_assert(core < CORES_MAX);
	core_set_add(&cpu->own.interrupt_cores, core);
	core_set_remove(&cpu->own.preempt_cores, core);
	cpu->own.pending |= PENDING_INTERRUPT;
}
