/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts of devices to user level: a handler signals a notification. */
#pragma once

#include <stdint.h>
#include "cap.h"

uint64_t invoke_irq_control(struct cpu *cpu, struct slot *slot, uint64_t info);
uint64_t invoke_irq_handler(struct cpu *cpu, struct slot *slot, uint64_t info);
/*
 * Returns whether the interrupt is level-triggered: its line stays asserted until the device is served, so the
 * interrupt controller masks it until then.
 */
bool irq_is_level(const struct cpu *cpu, unsigned number);
/* Device interrupt `number` (0 .. KERNEL_IRQS-1) has arrived on this core. */
void irq_arrived(struct cpu *cpu, unsigned number);
/* Releases the interrupt before its handler's capability is deleted. Returns false when the budget is spent first. */
bool irq_release(struct cpu *cpu, const struct cap *cap);
