/* SPDX-License-Identifier: BSD-2-Clause */
#include "x86-port.h"
#include <string.h>
#include "arch.h"
#include "vspace.h"

/* arch-x86_64/arch_switch.h makes it inline; the hosted port's fast path calls it. */
#define arch_switch x86_switch
#include "x86-arch_switch.h"
#undef arch_switch

void arch_switch(struct cpu *cpu, struct thread *from, struct thread *to, struct vspace *vspace);
void arch_switch(struct cpu *cpu, struct thread *from, struct thread *to, struct vspace *vspace)
{
	x86_switch(cpu, from, to, vspace);
}

void arch_fpu_init(uint8_t *fpu) { fpu[0] = 1; }
void fpu_save(uint8_t *area) { memset(area, 1, ARCH_FPU_SIZE); }

void fpu_load(const uint8_t *area)
{
	uint8_t registers[ARCH_FPU_SIZE];
	memcpy(registers, area, sizeof(registers));
}

void write_cr3(uint64_t value)
{
	if (!value)
		hosted_flush_tag(hosted_self->cpu->own.loaded_vspace->loads);
}

void local_apic_send(uint32_t apic_id, uint8_t vector)
{
	struct hosted_core *core = hosted_core_by_apic(apic_id);
	if (core) /* else: the other cluster has gone */
		hosted_interrupt(core, vector);
}

void local_apic_send_members(uint32_t apic_id, uint32_t members, uint8_t vector)
{
	for (uint32_t i = 0; i < GROUP_IDS; i++)
		if (members >> i & 1)
			local_apic_send(apic_id / GROUP_IDS * GROUP_IDS + i, vector);
}

void local_apic_set_timer(uint64_t deadline, uint64_t tsc_hz)
{
	(void)tsc_hz;
	hosted_self->timer = deadline;
}
