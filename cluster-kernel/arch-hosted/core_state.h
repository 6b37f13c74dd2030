/* SPDX-License-Identifier: BSD-2-Clause */
/* What one core of a hosted machine has beside struct cpu. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "fiber.h"

struct core_set;
struct cpu;
struct hosted;
struct thread;
struct vspace;

enum { HOSTED_TLB = 8, HOSTED_PINS = 24, HOSTED_VECTORS = 256, HOSTED_CONSOLE = 4096,
       HOSTED_CORES = 60, /* of a machine, at most */
       HOSTED_CPUS = 64 * HOSTED_CORES };
enum {
	HOSTED_VECTOR_REST = 0x2f, /* of the x86-64 port's finish.c: deadlines that a budget has left over */
	HOSTED_VECTOR_IRQ,
	HOSTED_VECTOR_TIMER = 0xef,
	HOSTED_VECTOR_RESCHEDULE,
	HOSTED_VECTOR_DOORBELL,
};

enum hosted_order { ORDER_NONE, ORDER_CALL, ORDER_FAULT, ORDER_TRAP };
enum { HOSTED_TRAP = 3 }; /* vector of a breakpoint */

struct hosted_core {
	struct hosted *machine;
	struct cpu *cpu;
	struct fiber fiber;       /* a core that takes turns */
	pthread_t host;           /* a core that is a thread: threads.c */
	_Atomic uint32_t go, sleep;
	uint32_t random;          /* where it dawdles */
	unsigned spins;           /* turns of waiting loops in this entry */
	_Atomic uint32_t entries; /* how often it has begun something: progress, as a watch sees it */
	bool inside;     /* between the beginning of a kernel entry and its end */
	bool fast;       /* this entry left by the fast path */
	bool done;       /* what was posted last has been done */
	bool away;       /* it has left its kernel, or was never there: the loader has it */
	bool quiet;      /* its program has nothing to do until something arrives */
	_Atomic bool owes_visits; /* visitors wait for the timer: core/visit.h */
	_Atomic uint64_t timer; /* TSC at which the timer interrupts, 0: off */
	_Atomic uint64_t vectors[HOSTED_VECTORS / 64]; /* interrupts that have arrived */
	enum hosted_order order;
	struct thread *thread; /* that is to do it */
	uint64_t words[9];     /* of the order */
	unsigned fault, fault_count;
	struct hosted_translation {
		uint64_t tag; /* of the address space, 0: empty */
		uint64_t vaddr, entry;
		unsigned level; /* at which the entry is */
	} tlb[HOSTED_TLB];
	unsigned tlb_next;
	unsigned kernel_flushes; /* so often it has flushed what is not a program's */
	unsigned direct_seen;    /* losses of the direct map that it has flushed: hosted.h */
	uint64_t tls; /* FS base */
	/* interrupts.c: entries are numbered from 1 on, in the order in which the machine's cores begin them */
	uint64_t entry;          /* the last one of this core */
	bool alone;              /* no other core was inside when it began */
	uint64_t interrupted_by; /* the entry whose interrupt is pending, and must change something; 0: need not */
	bool observed;           /* the present entry serves such an interrupt */
	struct hosted_view {
		const struct thread *current, *visited;
		const struct vspace *vspace;
		uint64_t slice_end, timer, housekeeping_at, flush_summary, requeue, visitors;
		int running;
		uint32_t request, requeue_level;
	} before;
};

/* The core whose kernel entry this thread of the host is in; null outside. */
extern _Thread_local struct hosted_core *hosted_self;

/* Makes core `index` of a machine whose kernel is built. */
void hosted_core_init(struct hosted *machine, unsigned index);
void hosted_core_free(struct hosted_core *core);
/* Something is there for the core to do. */
bool hosted_core_busy(const struct hosted_core *core);
/* The core does one thing: an interrupt, or what its current thread does next. */
void hosted_core_enter(struct hosted_core *core);
/*
 * Its current thread makes the system call whose arguments it has in its registers. arch_finish() is due then, where
 * the core has work pending. On its own: for benchmarks, which are the core themselves.
 */
void hosted_system_call(struct hosted_core *core);
bool hosted_timer_due(const struct hosted_core *core);
/*
 * Called when no core of the machine has anything to do. Lets the clock go on to the timer of a core for which visitors
 * wait, and returns that core; null: none wait.
 */
struct hosted_core *hosted_end_turn(struct hosted *machine);
void hosted_interrupt(struct hosted_core *core, unsigned vector);
struct hosted_core *hosted_core_by_apic(uint32_t apic);
uint32_t hosted_apic(unsigned cluster, unsigned core);

/* Interrupts from core to core, and that each changes something (interrupts.c): as an entry begins, and as it ends. */
void interrupts_enter(struct hosted_core *core);
void interrupts_leave(struct hosted_core *core);
/* `with_reason`: it is to change what the core does. */
void interrupts_send(const struct hosted_core *sender, const struct core_set *cores, bool with_reason);
/* Called where the core takes such an interrupt. */
void interrupts_serve(struct hosted_core *core);

/* A place where another core may go on. */
void hosted_pause(void);

/* Cores that take turns (turns.c). */
void turns_init(struct hosted_core *core);
void turns_free(struct hosted_core *core);
void turns_run(struct hosted *const *machines, unsigned count);
void turns_pause(struct hosted_core *core);
/* Cores that are threads of the host (threads.c). */
void threads_init(struct hosted_core *core);
void threads_free(struct hosted_core *core);
void threads_run(struct hosted *const *machines, unsigned count);
void threads_pause(struct hosted_core *core);
void threads_relax(struct hosted_core *core);
/* Something has arrived at the core. */
void threads_wake(struct hosted_core *core);
