/* SPDX-License-Identifier: BSD-2-Clause */
#include "io_apic.h"
#include "arch.h"
#include "assert.h"
#include "kernel.h"
#include "local_apic.h"
#include "paging.h"

enum { REG_VERSION = 1, REG_REDIRECTION = 0x10 };
enum { REDIRECT_LOW = 1 << 13, REDIRECT_LEVEL = 1 << 15, REDIRECT_MASKED = 1 << 16 };

static struct io_apic {
	volatile uint32_t *registers; /* select at 0, window at 0x10 bytes */
	uint32_t first, count;        /* global system interrupts */
} io_apic[BOOT_MAX_IOAPICS];
static unsigned io_apic_count;

static uint32_t read(const struct io_apic *a, unsigned reg)
{
	a->registers[0] = reg;
	return a->registers[4];
}

static void write(const struct io_apic *a, unsigned reg, uint32_t value)
{
	a->registers[0] = reg;
	a->registers[4] = value;
}

void io_apic_init(const struct boot_info *info)
{
	kernel_assert(info->ioapic_count <= BOOT_MAX_IOAPICS);
	for (unsigned i = 0; i < info->ioapic_count; i++) {
		struct io_apic *a = &io_apic[io_apic_count++];
		a->registers = map_device(info->ioapic[i].base);
		a->first = info->ioapic[i].gsi_base;
		a->count = (read(a, REG_VERSION) >> 16 & 0xff) + 1;
		for (unsigned pin = 0; pin < a->count; pin++)
			write(a, REG_REDIRECTION + 2 * pin, REDIRECT_MASKED);
	}
}

static const struct io_apic *io_apic_of(uint64_t gsi)
{
	for (unsigned i = 0; i < io_apic_count; i++)
		if (gsi >= io_apic[i].first && gsi - io_apic[i].first < io_apic[i].count)
			return &io_apic[i];
	return 0;
}

bool arch_gsi_exists(const struct kernel *kernel, uint64_t gsi)
{
	(void)kernel;
	return io_apic_of(gsi) != 0;
}

/*
 * Interrupts of devices name a core in eight bits, 255 stands for all (SDM 3, 11.11.1). A core whose id is larger is
 * served by another of its cluster: the loader has seen to it that there is one.
 */
static uint32_t irq_destination(const struct kernel *kernel, uint32_t core)
{
	kernel_assert(core < kernel->cpu_count);
	for (unsigned i = 0; kernel->map_core[core].apic > BOOT_MAX_DEVICE_APIC && i < kernel->cpu_count; i++)
		if (kernel_has_core(kernel, i) && kernel->map_core[i].apic <= BOOT_MAX_DEVICE_APIC)
			return kernel->map_core[i].apic;
	return kernel->map_core[core].apic;
}

void arch_gsi_route(struct kernel *kernel, uint64_t gsi, uint32_t core, unsigned number, bool level, bool low)
{
	const struct io_apic *a = io_apic_of(gsi);
	kernel_assert(a && number < KERNEL_IRQS);
	unsigned reg = REG_REDIRECTION + 2 * (gsi - a->first);
	write(a, reg + 1, irq_destination(kernel, core) << 24);
	write(a, reg, (VECTOR_IRQ + number) | (low ? REDIRECT_LOW : 0) | (level ? REDIRECT_LEVEL : 0));
}

void arch_gsi_mask(struct kernel *kernel, uint64_t gsi, bool masked)
{
	const struct io_apic *a = io_apic_of(gsi);
	(void)kernel;
	if (!a)
		return;
	unsigned reg = REG_REDIRECTION + 2 * (gsi - a->first);
	write(a, reg, (read(a, reg) & ~(uint32_t)REDIRECT_MASKED) | (masked ? REDIRECT_MASKED : 0));
}

void arch_msi_message(const struct kernel *kernel, uint32_t core, unsigned number, uint64_t *address, uint64_t *data)
{
	kernel_assert(number < KERNEL_IRQS);
	/* fixed delivery, edge, physical destination (SDM 3, 11.11) */
	*address = 0xfee00000ull | (uint64_t)irq_destination(kernel, core) << 12;
	*data = VECTOR_IRQ + number;
}
