/* SPDX-License-Identifier: BSD-2-Clause */
/* The local APIC, in x2APIC mode where the loader chose it, else through its registers in memory (SDM 3, 11). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Of pending interrupts the local APIC delivers the highest vector first (SDM 3, 11.8.3). Hazard: starvation. Devices,
 * programs on other cores and other clusters decide how often their vectors arrive, and a source as fast as this core's
 * handler would starve every vector below its own. So the timer has the highest vector: it fires at most once each time
 * this core sets it. Overdue deadlines that its entry has left (PENDING_REST) come after all other vectors.
 */
enum {
	VECTOR_REST = 0x2f,
	VECTOR_IRQ = 0x30, /* device interrupt 0 .. KERNEL_IRQS-1 */
	VECTOR_RESCHEDULE = 0xf0, /* from a core of this cluster */
	VECTOR_DOORBELL = 0xf1, /* from another cluster */
	VECTOR_TIMER = 0xf2,
	VECTOR_SPURIOUS = 0xff,
};

/*
 * Once for each cluster, before the next. `hz`: of the timer, divider 1. In x2APIC mode tries the cluster mode by an
 * interrupt VECTOR_RESCHEDULE to this core, which stays pending.
 */
void local_apic_setup(bool x2apic, uint64_t hz);
/* On each core. */
void local_apic_init(void);
uint32_t local_apic_id(void);
void local_apic_end_of_interrupt(void);
void local_apic_send(uint32_t apic_id, uint8_t vector);
/*
 * To all APICs with the id `apic_id` but for the low four bits, which are each a number of a bit of `members`: by one
 * command in x2APIC's cluster mode (SDM 3, 11.12.10.2), if this machine has it; else one for each.
 */
void local_apic_send_members(uint32_t apic_id, uint32_t members, uint8_t vector);
void local_apic_send_nmi(uint32_t apic_id);
/* INIT to another core, which must not be the boot processor: it waits for a start-up interrupt then. */
void local_apic_send_init(uint32_t apic_id);
/* The start-up interrupt: it begins at this page of the first MiB. */
void local_apic_send_start(uint32_t apic_id, uint8_t page);
/* To this core itself: it waits for a start-up interrupt then. Nothing happens on the boot processor, which would start
 * the firmware. */
void local_apic_init_self(void);
/* One interrupt VECTOR_TIMER at TSC `deadline` or soon after; 0: none. */
void local_apic_set_timer(uint64_t deadline, uint64_t tsc_hz);
