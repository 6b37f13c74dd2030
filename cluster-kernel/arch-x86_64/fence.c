/* SPDX-License-Identifier: BSD-2-Clause */
/* Resets cores of another cluster (SDM 3, 9.4.4), and has this cluster's boot processor obey a fence. */
#include "fence.h"
#include <skerry/cluster_control.h>
#include "arch.h"
#include "assert.h"
#include "core_move.h"
#include "kernel.h"
#include "local_apic.h"

enum { INIT_US = 200 }; /* from INIT to the start-up interrupt; the loader waits half as long at boot */

static void wait_us(const struct kernel *kernel, uint64_t microseconds)
{
	uint64_t start = arch_time();
	while (arch_time() - start < kernel->tsc_hz / 1000000 * microseconds)
		arch_relax();
}

void arch_fence_cores(struct kernel *kernel, const struct boot_controlled *target,
                      const struct boot_cores *cores)
{
	const struct boot_core *to = direct(target->cores);
	kernel_assert(kernel->boot->start_vector && kernel->boot->start_vector < 0xa0); /* a page below 640 KiB */
	for (unsigned i = 0; i < target->cpu_count; i++)
		if (boot_cores_has(cores, i) && i != target->boot_core)
			local_apic_send_init(to[i].apic);
		else if (boot_cores_has(cores, i))
			local_apic_send_nmi(to[i].apic);
	wait_us(kernel, INIT_US);
	for (unsigned i = 0; i < target->cpu_count; i++)
		if (boot_cores_has(cores, i) && i != target->boot_core)
			local_apic_send_start(to[i].apic, (uint8_t)kernel->boot->start_vector);
}

/* Of this cluster: all that the boot processor needs to leave the kernel. */
static const struct cluster_control *control;
static void (*leave)(void);

void fence_init(const struct boot_info *info)
{
	if (!info->control || !info->park)
		return;
	control = (const struct cluster_control *)direct(info->control) + info->cluster;
	leave = (void (*)(void))direct(info->park);
}

void fence_obey(void)
{
	if (control && leave && control_must_park(control))
		leave();
}

/*
 * The loader runs on its own page tables and stacks. Interrupts stay pending from here on until the core enables them
 * there.
 */
void arch_leave_kernel(struct cpu *cpu)
{
	kernel_assert(leave && cpu->own.index);
	core_forget(cpu);
	local_apic_set_timer(0, kernel_of(cpu)->tsc_hz);
	leave();
}
