/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Under arch-x86_64/finish.c and arch_switch.h, in place of the headers it includes: its hardware
 * is the hosted machine's. A place in memory stands for all of a core's
 * registers, so that saving and loading too early or too late is a race.
 */
#pragma once

#include <stdint.h>
#include "hosted.h"

enum { VECTOR_REST = HOSTED_VECTOR_REST, VECTOR_RESCHEDULE = HOSTED_VECTOR_RESCHEDULE,
       VECTOR_DOORBELL = HOSTED_VECTOR_DOORBELL };
enum { MSR_FS_BASE, MSR_KERNEL_GS_BASE };
/* Without it, what is written to CR3 is 0: drop what the TLB has under the space's tag. */
#define CR3_KEEP (~0ull)

static const struct {
	uint32_t fsgsbase;
} x86_core;
#define this_core_read32(field) (x86_core.field)
#define this_core_write(field, value) ((void)0)

void fpu_save(uint8_t *area);
void fpu_load(const uint8_t *area);
void write_cr3(uint64_t value);
static inline void write_msr(unsigned msr, uint64_t value) { (void)msr, (void)value; }
static inline void paging_load_kernel(void) {}
void local_apic_send(uint32_t apic_id, uint8_t vector);
void local_apic_send_members(uint32_t apic_id, uint32_t members, uint8_t vector);
void local_apic_set_timer(uint64_t deadline, uint64_t tsc_hz);
