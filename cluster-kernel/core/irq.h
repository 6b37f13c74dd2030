/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts of devices to user level: a handler signals a notification. */
#pragma once

#include <stdint.h>
#include "cap.h"

uint64_t invoke_irq_control(struct cpu *cpu, struct slot *slot, uint64_t info);
uint64_t invoke_irq_handler(struct cpu *cpu, struct slot *slot, uint64_t info);
/* It stays asserted until its device is served: it is masked until then, at the interrupt controller. */
bool irq_is_level(const struct cpu *cpu, unsigned number);
/* Device interrupt `number` (0 .. KERNEL_IRQS-1) has arrived on this core. */
void irq_arrived(struct cpu *cpu, unsigned number);
/* The handler's capability is about to go; false when the budget is spent first. */
bool irq_release(struct cpu *cpu, const struct cap *cap);
