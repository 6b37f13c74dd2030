/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All state of one kernel instance. core/ has no other globals, so several
 * instances can live in one process of the hosted port.
 */
#pragma once

#include <skerry/boot.h>
#include <skerry/doorbell.h>
#include "arch.h"
#include "boot_memory.h"
#include "cpu.h"
#include "domain.h"
#include "regime.h"

struct ledger_kernel;
struct vspace;

enum {
	KERNEL_IRQS = 160, /* device interrupt vectors, each on one core */
};

struct irq {
	/* holds a capability of its own, so revoking the notification ends the listener, too */
	struct slot notification;
	uint32_t core;
	uint32_t gsi;  /* IRQ_MSI: message-signalled */
	uint8_t used;
	uint8_t level; /* masked when it fires, until IRQ_ACK */
};
enum { IRQ_MSI = 0xffffffff };

/* A doorbell that this cluster receives. */
struct listener {
	struct slot notification; /* as in struct irq */
};

struct channel_end {
	struct doorbell_area *ring, *rx;
	uint32_t peer_cpu_count;
	bool remote; /* none of the two can interrupt the other */
	const struct boot_core *peer_core;
	struct listener *listener; /* DOORBELL_COUNT of them */
	/* the core that receives each doorbell, DOORBELL_UNBOUND: rx->route is what the peer reads, and can write */
	uint16_t route[DOORBELL_COUNT];
};

struct kernel {
	struct lock_kernel lock;
	uint32_t cpu_count; /* that there is room for, boot_info */
	uint32_t core_words; /* of sets of cores that have bits of these, core_set.h */
	uint32_t channel_count;
	uint64_t tsc_hz;
	uint64_t slice;        /* TSC cycles of a time slice */
	uint64_t visit_turn;   /* TSC cycles that own threads of a core have between visitors at least, visit.h */
	int32_t work_budget;   /* between preemption points, work.h */
	uint64_t vspaces_made; /* ever */
	uint64_t tlb_round;    /* in which cores forget next, tlb.h; from 1 on */
	uint32_t vspace_count; /* alive */
	uint16_t vspace_free[KERNEL_VSPACES];  /* from vspace_count on: places in `vspace` that are free */
	struct vspace *vspace[KERNEL_VSPACES]; /* by id modulo KERNEL_VSPACES */
	uint64_t domains_made;   /* ever */
	struct domain *domains;  /* mapping domains by id, domain.h */
	uint64_t reports_until;  /* TSC up to which fault reports have used their rate limit, fault.c */
	uint32_t reports_missed; /* since the last one that was made */
	uint64_t missed_since;   /* TSC of the first of them */
	struct slot *reap_list; /* zombies, linked by cap.next; zombie.h */
	struct irq irq[KERNEL_IRQS];
	struct channel_end channel[BOOT_MAX_CHANNELS];
	struct core_stat *stat; /* one per core, in frames that the root task reads */
	struct ledger_kernel *ledger; /* the cluster's own, skerry/ledger.h; null: there is none */
	const struct boot_info *boot;
	const struct boot_core *map_core; /* what the map says of core i: boot_info */
	struct boot_memory boot_memory; /* until the root task exists */
	struct core_set unpolled; /* cores that polled the doorbells of remote peers and do no more, channel.h */
	struct core_groups groups; /* core_group.h */
	struct core_set cores; /* that are here, and take threads and interrupts; core_move.h */
	uint32_t placed[CORES_MAX];  /* threads with core i as next_core; core 0's are not counted */
	uint32_t doorbells[CORES_MAX]; /* that core i receives */
	uint32_t homes[CORES_MAX];   /* objects that are at home on core i (visit.h) */
	struct cpu *cpu[CORES_MAX];
};

INLINE_LATER struct lock_kernel *lock_of(struct kernel *kernel) { return &kernel->lock; }
INLINE_LATER struct lock_kernel *lock_shared(struct cpu *cpu) { return &cpu->own.kernel->lock; }
INLINE_LATER uint32_t kernel_cluster(const struct kernel *kernel) { return kernel->boot->cluster; }

static inline struct kernel *kernel_of(struct cpu *cpu) { return cpu->own.kernel; }
static inline bool kernel_has_core(const struct kernel *kernel, uint64_t core)
{
	return core < kernel->cpu_count && core_set_has(&kernel->cores, core);
}
INLINE_LATER bool core_is_present(struct cpu *cpu)
{
	return (cpu->own.kernel->cores.word[cpu->own.word] & cpu->own.bit) != 0;
}
static inline struct core_group *core_group_of(const struct kernel *kernel, uint32_t core)
{
	return &kernel->cpu[kernel->groups.first[core]]->shared.group;
}
/* Removes from `left` the cores of `core`'s group from `core` on. Returns their bits, core_member(). */
static inline uint32_t core_group_take(const struct kernel *kernel, struct core_set *left, uint32_t core)
{
	uint32_t members = 0, next = core;
	do
		if (core_set_has(left, next)) {
			core_set_remove(left, next);
			members |= core_member(kernel->map_core[next].apic);
		}
	while ((next = kernel->groups.next[next]));
	return members;
}
static inline struct thread *current(struct cpu *cpu) { return cpu->shared.current; }

/* kernel physical memory, through the direct map; `paddr` in this cluster's memory */
static inline void *direct(uint64_t paddr) { return (void *)(paddr + arch_direct_base()); }
static inline uint64_t physical(const void *address)
{
	kernel_assert((uint64_t)address >= arch_direct_base());
	return (uint64_t)address - arch_direct_base();
}
