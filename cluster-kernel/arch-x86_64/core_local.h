/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private data of one core beside struct cpu; GS points here while the core is in the kernel.
 *
 * tss.rsp[0] is where an entry from user mode stores registers: the end of
 * `ss` in the current thread's struct context.
 *
 * A core's stacks are where the loader has mapped them (skerry/boot.h): all entries run on the first; NMI, double fault
 * and machine check (IST 1 to 3) have one each.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <skerry/boot.h>

struct cpu;

enum { GDT_ENTRIES = 8, STACK_SIZE = KERNEL_STACK_PAGES * 4096, FAULT_STACK_SIZE = KERNEL_FAULT_STACK_PAGES * 4096 };

struct __attribute__((packed)) tss {
	uint32_t reserved0;
	uint64_t rsp[3];
	uint64_t reserved1;
	uint64_t ist[7];
	uint64_t reserved2;
	uint16_t reserved3, io_map;
};
_Static_assert(sizeof(struct tss) == 104, "Intel SDM volume 3, figure 8-11");

struct core_local {
	struct cpu *cpu;
	uint64_t user_rsp;     /* scratch of the system-call entry */
	uint64_t stack_top;
	uint32_t apic_id;
	uint32_t index;
	uint32_t fsgsbase; /* the processor has WRFSBASE and it is enabled */
	_Alignas(8) uint8_t tss_padding[4]; /* so that tss.rsp is naturally aligned */
	struct tss tss;
	_Alignas(16) uint64_t gdt[GDT_ENTRIES];
	_Atomic uint32_t nmi_reason; /* enum nmi_reason, set by the sender; panic.h */
};

extern struct core_local core_local[]; /* CORES_MAX of them */

/* Returns the end of the core's stack for entries. */
static inline uint64_t core_stack_top(uint64_t index)
{
	return KERNEL_STACKS_BASE + index * KERNEL_STACKS_STRIDE + STACK_SIZE;
}

/* Sets a 64-bit field of this core's. */
#define this_core_write(field, value) \
	asm volatile("mov %0, %%gs:%c1" ::"r"((uint64_t)(value)), \
	             "i"(__builtin_offsetof(struct core_local, field)) : "memory")

#define this_core_read32(field)                                                                               \
	({                                                                                                    \
		uint32_t value_;                                                                              \
		asm volatile("mov %%gs:%c1, %0" : "=r"(value_) : "i"(__builtin_offsetof(struct core_local, field))); \
		value_;                                                                                       \
	})

/* Valid once GS is loaded. */
static inline struct core_local *this_core(void)
{
	uint64_t index;
	asm volatile("movl %%gs:%c1, %k0" : "=r"(index) : "i"(__builtin_offsetof(struct core_local, index)));
	return &core_local[index];
}
