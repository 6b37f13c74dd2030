/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches directly between two user threads, for the fast path (core/fastpath.c). finish.c does the general case, in
 * steps, with the idle thread too.
 *
 * entry.S loads the user's GS base, with the last SWAPGS.
 */
#pragma once

#include "assert.h"
#include "core_local.h"
#include "fpu.h"
#include "kernel.h"
#include "thread.h"
#include "vspace.h"

/* Entries from user mode store the thread's registers from here on down. */
static inline __attribute__((always_inline)) void set_entry_context(struct thread *thread)
{
	this_core_write(tss.rsp[0], (uint64_t)&thread->context + __builtin_offsetof(struct context, fs_base));
}

/*
 * Switches the hardware from `from`, which runs on this core, to `to`, whose state no core holds. `vspace` is `to`'s;
 * this core has not flushed it since it last loaded it. Nothing is pending (cpu_decline_fast()).
 */
static inline __attribute__((always_inline)) void arch_switch(struct cpu *cpu, struct thread *from, struct thread *to,
                                                              struct vspace *vspace)
{
	kernel_assert(from == cpu->own.loaded_thread && from != to);
	kernel_assert(!atomic_load_explicit(&to->loaded, memory_order_relaxed));
	kernel_assert(vspace && vspace_tlb_is_valid(cpu, vspace));
	kernel_assert(!cpu->own.pending);
	fpu_save(from->fpu);
	fpu_load(to->fpu);
	atomic_store_explicit(&from->loaded, 0, memory_order_release);
	atomic_store_explicit(&to->loaded, 1, memory_order_relaxed);
	cpu->own.loaded_thread = to;
	if (cpu->own.loaded_vspace != vspace) {
		cpu->own.loaded_vspace = vspace;
		write_cr3(vspace->loads);
	}
	asm volatile("wrfsbase %0" ::"r"(to->context.fs_base) : "memory");
	set_entry_context(to);
}
