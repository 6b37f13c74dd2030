/* SPDX-License-Identifier: BSD-2-Clause */
#include "exceptions.h"

#include "cpu.h"
#include "loader.h"
#include "resident.h"

enum { CODE_SELECTOR = 8, DATA_SELECTOR = 16, INTERRUPT_GATE = 0x8e00, VECTORS = 256 };

/* Intel's manual, volume 3, 6.14.1. */
struct gate {
	uint16_t offset_low, selector, flags, offset_middle;
	uint32_t offset_high, reserved;
};
_Static_assert(sizeof(struct gate) == 16, "as the processor reads it");

struct exception {
	uint64_t vector, error, rip, cs, rflags, rsp, ss;
};

extern const uint8_t exception_entries[];
_Noreturn void exception_taken(const struct exception *e);

static struct gate idt[VECTORS];

void exceptions_load(void)
{
	const struct {
		uint16_t limit;
		uint64_t base;
	} __attribute__((packed)) pointer = { sizeof idt - 1, (uint64_t)idt };

	__asm__ volatile("lidt %0" ::"m"(pointer));
	cpu_unblock_nmi(CODE_SELECTOR, DATA_SELECTOR); /* this core may have come by an NMI */
}

static void set_gate(uint32_t vector, const void *code)
{
	uint64_t entry = (uint64_t)code;

	idt[vector] = (struct gate){
		.offset_low = (uint16_t)entry,
		.selector = CODE_SELECTOR,
		.flags = INTERRUPT_GATE,
		.offset_middle = (uint16_t)(entry >> 16),
		.offset_high = (uint32_t)(entry >> 32),
	};
}

void exceptions_init(void)
{
	for (uint32_t i = 0; i < EXCEPTION_COUNT; i++)
		set_gate(i, exception_entries + i * EXCEPTION_ENTRY_SIZE);
	exceptions_load();
}

void exceptions_stay(void)
{
	for (uint32_t i = EXCEPTION_COUNT; i < VECTORS; i++)
		set_gate(i, (const void *)resident_interrupt);
	set_gate(EXCEPTION_NMI, (const void *)resident_park);
}

/* A second one is of what prints the first: nothing is left to say. */
void exception_taken(const struct exception *e)
{
	static bool taken;

	if (!taken) {
		taken = true;
		panic("exception %lu at RIP 0x%lx: error code 0x%lx, CR2 0x%lx", e->vector, e->rip, e->error,
		      read_cr2());
	}
	cpu_stop();
}
