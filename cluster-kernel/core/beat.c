/* SPDX-License-Identifier: BSD-2-Clause */
#include "beat.h"
#include <skerry/ledger.h>
#include "arch.h"
#include "kernel.h"
#include "timer.h"

void beats_tell_cores(const struct kernel *kernel)
{
	for (uint32_t i = 0; kernel->ledger && i < BOOT_CORE_WORDS; i++)
		atomic_store_explicit(&kernel->ledger->present[i], core_set_get64(&kernel->cores, i),
		                      memory_order_release);
}

void beats_init(struct kernel *kernel)
{
	const struct boot_info *info = kernel->boot;
	if (!info->ledger_count || !info->beat_ms)
		return;
	kernel->ledger = direct(info->ledger[0].base);
	for (unsigned i = 0; i < kernel->cpu_count; i++) {
		struct cpu *cpu = kernel->cpu[i];
		if (!kernel_has_core(kernel, i))
			continue;
		cpu->own.beat_at = cpu->own.housekeeping_at = arch_time(); /* so that schedule() sets the timer */
	}
	beats_tell_cores(kernel);
	atomic_store_explicit(&kernel->ledger->life, info->life, memory_order_relaxed);
	atomic_store_explicit(&kernel->ledger->state, LEDGER_RUNNING, memory_order_relaxed);
	atomic_store_explicit(&kernel->ledger->magic, LEDGER_MAGIC, memory_order_release);
}

/* What a debugger wants of this core. */
static void obey_order(struct cpu *cpu, uint64_t word)
{
	bool is_meant = ledger_order_core(word) == cpu->own.index;
	switch (ledger_order(word)) {
	case LEDGER_ORDER_PANIC:
		if (is_meant)
			arch_panic("ordered from outside the machine");
		break;
	case LEDGER_ORDER_HANG:
		arch_hang();
	case LEDGER_ORDER_HANG_CORE:
		if (is_meant)
			arch_hang();
		break;
	case LEDGER_ORDER_INIT:
		arch_init_self();
	default: /* the manager's */
		break;
	}
}

void beat(struct cpu *cpu)
{
	uint64_t now = cpu->own.beat_at ? arch_time() : 0;
	if (!now || now < cpu->own.beat_at)
		return;
	struct ledger_kernel *ledger = kernel_of(cpu)->ledger;
	_Atomic uint64_t *beats = &ledger->beats[cpu->own.index];
	atomic_store_explicit(beats, atomic_load_explicit(beats, memory_order_relaxed) + 1, memory_order_relaxed);
	cpu->own.beat_at = now + kernel_of(cpu)->tsc_hz / 1000 * kernel_of(cpu)->boot->beat_ms;
	timer_housekeeping(cpu);
	uint64_t word = atomic_load_explicit(&ledger->order, memory_order_relaxed);
	if (word)
		obey_order(cpu, word);
}

void beat_arm(struct cpu *cpu)
{
	if (!cpu->own.beat_at || cpu->own.timer_armed || (cpu->own.pending & PENDING_TIMER))
		return;
	cpu->own.timer_wanted = cpu->own.beat_at;
	cpu->own.pending |= PENDING_TIMER;
}
