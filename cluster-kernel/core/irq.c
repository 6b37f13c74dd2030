/* SPDX-License-Identifier: BSD-2-Clause */
#include "irq.h"
#include "arch.h"
#include "cnode.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "work.h"
#include LOCKING_HEADER

static int free_irq(const struct kernel *kernel)
{
	for (int i = 0; i < KERNEL_IRQS; i++)
		if (!kernel->irq[i].used)
			return i;
	return -1;
}

static bool gsi_used(const struct kernel *kernel, uint64_t gsi)
{
	for (unsigned i = 0; i < KERNEL_IRQS; i++)
		if (kernel->irq[i].used && kernel->irq[i].gsi == gsi)
			return true;
	return false;
}

uint64_t invoke_irq_control(struct cpu *cpu, struct slot *control, uint64_t info)
{
	assert_exclusive();
	kernel_assert(control->cap.type == OBJECT_IRQ_CONTROL);
	struct kernel *kernel = kernel_of(cpu);
	struct thread *thread = current(cpu);
	struct slot *node = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	uint64_t label = message_label(info);
	if (label != IRQ_GET_IOAPIC && label != IRQ_GET_MSI)
		return SKERRY_BAD_LABEL;
	if (message_words(info) < (label == IRQ_GET_IOAPIC ? 4u : 2u))
		return SKERRY_TRUNCATED;
	if (!node)
		return SKERRY_BAD_CAP;
	if (!(node->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	struct slot *slot = cnode_slot(&node->cap, message_word(thread, 0));
	uint64_t core = message_word(thread, 1), gsi = message_word(thread, 2), flags = message_word(thread, 3);
	if (!slot || !kernel_has_core(kernel, core))
		return SKERRY_BAD_ARGUMENT;
	if (!slot_empty(slot))
		return SKERRY_SLOT_FULL;
	if (label == IRQ_GET_IOAPIC && !arch_gsi_exists(kernel, gsi))
		return SKERRY_BAD_ARGUMENT;
	if (label == IRQ_GET_IOAPIC && gsi_used(kernel, gsi))
		return SKERRY_BUSY;
	int number = free_irq(kernel);
	if (number < 0)
		return SKERRY_NO_RESOURCE;

	struct irq *irq = &kernel->irq[number];
	kernel_assert(!irq->used && slot_empty(&irq->notification));
	*irq = (struct irq){ .core = core, .used = 1, .gsi = IRQ_MSI };
	if (label == IRQ_GET_MSI) {
		uint64_t address, data;
		arch_msi_message(kernel, core, number, &address, &data);
		message_set_word(thread, 0, address);
		message_set_word(thread, 1, data);
	} else {
		irq->gsi = gsi;
		irq->level = flags & 1;
		kernel_irrevocable(cpu);
		arch_gsi_route(kernel, gsi, core, number, flags & 1, flags >> 1 & 1);
	}
	struct cap cap = { .type = OBJECT_IRQ_HANDLER, .rights = RIGHT_ALL, .object = number };
	slot_insert(slot, &cap, control);
	return SKERRY_OK;
}

static uint64_t set_notification(struct cpu *cpu, struct irq *irq, uint64_t info)
{
	kernel_assert(irq->used);
	struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_NOTIFICATION);
	if (!slot)
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	if (!slot_delete(cpu, &irq->notification))
		return KERNEL_AGAIN;
	kernel_assert(slot_empty(&irq->notification));
	slot_insert(&irq->notification, &slot->cap, slot);
	return SKERRY_OK;
}

uint64_t invoke_irq_handler(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	kernel_assert(slot->cap.type == OBJECT_IRQ_HANDLER && slot->cap.object < KERNEL_IRQS);
	struct irq *irq = &kernel_of(cpu)->irq[slot->cap.object];
	switch (message_label(info)) {
	case IRQ_SET_NOTIFICATION: return set_notification(cpu, irq, info);
	case IRQ_ACK:
		if (irq->level) {
			kernel_irrevocable(cpu);
			arch_gsi_mask(kernel_of(cpu), irq->gsi, false);
		}
		return SKERRY_OK;
	default: return SKERRY_BAD_LABEL;
	}
}

bool irq_is_level(const struct cpu *cpu, unsigned number)
{
	kernel_assert(number < KERNEL_IRQS);
	const struct irq *irq = &cpu->own.kernel->irq[number];
	return irq->used && irq->level;
}

void irq_arrived(struct cpu *cpu, unsigned number)
{
	assert_entered();
	struct irq *irq = &kernel_of(cpu)->irq[number];
	if (irq_is_level(cpu, number)) {
		assert_exclusive();
		kernel_assert(irq->gsi != IRQ_MSI);
		kernel_irrevocable(cpu);
		arch_gsi_mask(kernel_of(cpu), irq->gsi, true);
	}
	notification_signal_cap(cpu, &irq->notification.cap);
}

bool irq_release(struct cpu *cpu, const struct cap *cap)
{
	assert_exclusive();
	kernel_assert(cap->type == OBJECT_IRQ_HANDLER && cap->object < KERNEL_IRQS);
	struct irq *irq = &kernel_of(cpu)->irq[cap->object];
	kernel_assert(irq->used);
	if (irq->gsi != IRQ_MSI) {
		kernel_irrevocable(cpu);
		arch_gsi_mask(kernel_of(cpu), irq->gsi, true);
	}
	if (!slot_delete(cpu, &irq->notification))
		return false;
	*irq = (struct irq){ 0 };
	return true;
}
