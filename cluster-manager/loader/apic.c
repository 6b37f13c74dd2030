/* SPDX-License-Identifier: BSD-2-Clause */
/* The local APIC of the core that runs the loader (Intel SDM volume 3, chapter 11). */
#include "cpu.h"
#include "loader.h"

enum { MSR_APIC_BASE = 0x1b, MSR_TSC_DEADLINE = 0x6e0, APIC_BASE_BOOT = 1 << 8, APIC_BASE_ENABLE = 1 << 11,
       APIC_BASE_X2 = 1 << 10, MSR_X2APIC = 0x800 };
enum { ID = 0x20, PRIORITY = 0x80, END = 0xb0, IN_SERVICE = 0x100, REQUESTED = 0x200, LINT0 = 0x350, LINT1 = 0x360,
       ERROR = 0x370 };
enum { SPURIOUS = 0xf0, ICR = 0x300, ICR_HIGH = 0x310, TIMER = 0x320, COUNT_FROM = 0x380, COUNT = 0x390,
       DIVIDER = 0x3e0 };
enum { ICR_PENDING = 1 << 12, MASKED = 1 << 16, DIVIDE_BY_1 = 0xb, SOFTWARE_ENABLE = 1 << 8 };
enum { VECTOR_WORDS = 8, DRAIN_TURNS = 1000 };

static volatile uint32_t *registers;
static bool x2;

static uint32_t read_register(uint32_t offset)
{
	require((x2 || registers) && offset % 16 == 0);
	return x2 ? (uint32_t)read_msr(MSR_X2APIC + offset / 16) : registers[offset / 4];
}

static void write_register(uint32_t offset, uint32_t value)
{
	require((x2 || registers) && offset % 16 == 0);
	if (x2)
		write_msr(MSR_X2APIC + offset / 16, value);
	else
		registers[offset / 4] = value;
}

void apic_init(const struct machine *m)
{
	uint64_t base = read_msr(MSR_APIC_BASE);

	registers = (volatile uint32_t *)(base & 0xffffffffff000);
	x2 = m->x2apic;
	write_msr(MSR_APIC_BASE, base | APIC_BASE_ENABLE | (x2 ? APIC_BASE_X2 : 0));
	write_register(SPURIOUS, SOFTWARE_ENABLE | 0xff);
}

uint32_t apic_id(void)
{
	return x2 ? read_register(ID) : read_register(ID) >> 24;
}

void apic_send(uint32_t apic, uint32_t command)
{
	if (x2) {
		write_msr(MSR_X2APIC + ICR / 16, (uint64_t)apic << 32 | command);
		return;
	}
	write_register(ICR_HIGH, apic << 24);
	write_register(ICR, command);
	while (read_register(ICR) & ICR_PENDING)
		cpu_pause();
}

void apic_timer_start(void)
{
	write_register(TIMER, MASKED);
	write_register(DIVIDER, DIVIDE_BY_1);
	write_register(COUNT_FROM, UINT32_MAX);
}

uint32_t apic_timer_count(void)
{
	return read_register(COUNT);
}

bool apic_is_boot_processor(void)
{
	return read_msr(MSR_APIC_BASE) & APIC_BASE_BOOT;
}

/* Any of the bits, one for each vector. */
static bool any_vector(uint32_t first)
{
	for (uint32_t i = 0; i < VECTOR_WORDS; i++)
		if (read_register(first + 16 * i) != 0)
			return true;
	return false;
}

/* An interrupt that is requested goes away only by being taken; those of other clusters go on coming, so there is an
 * end. */
void apic_drain(void)
{
	write_register(PRIORITY, 0);
	write_register(TIMER, MASKED);
	write_register(COUNT_FROM, 0);
	if (cpuid(1, 0).ecx >> 24 & 1)
		write_msr(MSR_TSC_DEADLINE, 0);
	write_register(LINT0, MASKED);
	write_register(LINT1, MASKED);
	write_register(ERROR, MASKED);
	for (uint32_t turn = 0; turn < DRAIN_TURNS; turn++) {
		while (any_vector(IN_SERVICE))
			write_register(END, 0);
		if (!any_vector(REQUESTED))
			return;
		__asm__ volatile("sti; nop; cli" ::: "memory");
	}
}

void io_apics_mask(const struct machine *m)
{
	enum { SELECT = 0, WINDOW = 4, VERSION = 1, REDIRECTION = 0x10 }; /* the registers are words of 32 bits */

	for (uint32_t i = 0; i < m->ioapic_count; i++) {
		volatile uint32_t *io_apic = (volatile uint32_t *)m->ioapic[i].base;
		uint32_t pins;

		io_apic[SELECT] = VERSION;
		pins = (io_apic[WINDOW] >> 16 & 0xff) + 1;
		for (uint32_t pin = 0; pin < pins; pin++) {
			io_apic[SELECT] = REDIRECTION + 2 * pin;
			io_apic[WINDOW] = MASKED;
		}
	}
}
