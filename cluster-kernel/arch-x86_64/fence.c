/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes cores of another cluster away from whatever they do (SDM 3, 9.4.4). */
#include "arch.h"
#include "assert.h"
#include "kernel.h"
#include "local_apic.h"

enum { INIT_US = 200 }; /* from INIT to the start-up interrupt; the loader waits half as long at boot */

static void wait(const struct kernel *kernel, uint64_t microseconds)
{
	uint64_t start = arch_time();
	while (arch_time() - start < kernel->tsc_hz / 1000000 * microseconds)
		arch_relax();
}

void arch_fence_cores(struct kernel *kernel, unsigned count, const uint32_t *apic)
{
	kernel_assert(kernel->boot->start_vector && kernel->boot->start_vector < 0xa0); /* a page below 640 KiB */
	for (unsigned i = 0; i < count; i++)
		local_apic_send_init(apic[i]);
	wait(kernel, INIT_US);
	for (unsigned i = 0; i < count; i++)
		local_apic_send_start(apic[i], (uint8_t)kernel->boot->start_vector);
}
