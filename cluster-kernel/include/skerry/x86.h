/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions that C has no words for (Intel SDM volume 2), for whatever runs on the bare processor: the loader,
 * kernels, the console that both have. Programs may call cpuid() and cpu_pause() of these.
 */
#pragma once

#include <stdint.h>

struct cpuid {
	uint32_t eax, ebx, ecx, edx;
};

static inline struct cpuid cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid r;
	__asm__ volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(subleaf));
	return r;
}

/* in a loop that waits for another core */
static inline void cpu_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}

/* This core executes nothing more. */
static inline _Noreturn void cpu_stop(void)
{
	for (;;)
		__asm__ volatile("cli; hlt");
}

/*
 * Ends the blocking of NMIs in which an NMI's handler runs: it lasts until an IRET (SDM 3, 6.7.1). The caller goes on,
 * with the flags as they are. `code`, `data`: its selectors. It needs 40 bytes of stack, and no red zone.
 */
static inline void cpu_unblock_nmi(uint64_t code, uint64_t data)
{
	__asm__ volatile("mov %%rsp, %%rax; push %1; push %%rax; pushfq; push %0; lea 1f(%%rip), %%rax; push %%rax; "
	                 "iretq; 1:" ::"r"(code),
			 "r"(data)
			 : "rax", "memory", "cc");
}

static inline uint64_t read_msr(uint32_t msr)
{
	uint32_t low, high;
	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (uint64_t)high << 32 | low;
}
static inline void write_msr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

static inline uint64_t read_cr2(void) { uint64_t v; __asm__ volatile("mov %%cr2, %0" : "=r"(v)); return v; }
static inline uint64_t read_cr3(void) { uint64_t v; __asm__ volatile("mov %%cr3, %0" : "=r"(v)); return v; }

static inline uint8_t in8(uint16_t port) { uint8_t v; __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline uint16_t in16(uint16_t port)
{
	uint16_t v;
	__asm__ volatile("inw %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}
static inline uint32_t in32(uint16_t port)
{
	uint32_t v;
	__asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}
static inline void out8(uint16_t port, uint8_t v) { __asm__ volatile("outb %0, %1" ::"a"(v), "Nd"(port)); }
static inline void out16(uint16_t port, uint16_t v) { __asm__ volatile("outw %0, %1" ::"a"(v), "Nd"(port)); }
static inline void out32(uint16_t port, uint32_t v) { __asm__ volatile("outl %0, %1" ::"a"(v), "Nd"(port)); }
