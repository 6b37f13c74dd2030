/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions and registers that C has no words for (Intel SDM volumes 2 and 3). */
#pragma once

#include <stdint.h>

enum {
	MSR_APIC_BASE = 0x1b,
	MSR_SYSENTER_CS = 0x174,
	MSR_PAT = 0x277,
	MSR_TSC_DEADLINE = 0x6e0,
	MSR_X2APIC = 0x800,
	MSR_STAR = 0xc0000081,
	MSR_LSTAR = 0xc0000082,
	MSR_FMASK = 0xc0000084,
	MSR_FS_BASE = 0xc0000100,
	MSR_GS_BASE = 0xc0000101,
	MSR_KERNEL_GS_BASE = 0xc0000102,
};

enum {
	CR4_MCE = 1 << 6, CR4_OSFXSR = 1 << 9, CR4_OSXMMEXCPT = 1 << 10, CR4_UMIP = 1 << 11, CR4_FSGSBASE = 1 << 16,
	CR4_PCIDE = 1 << 17, CR4_OSXSAVE = 1 << 18, CR4_SMEP = 1 << 20, CR4_SMAP = 1 << 21,
};

/* Loading CR3 leaves the translations of the tag it names (SDM 3, 4.10.4.1). */
#define CR3_KEEP (1ull << 63)

enum { RFLAGS_TF = 1 << 8, RFLAGS_IF = 1 << 9, RFLAGS_DF = 1 << 10, RFLAGS_IOPL = 3 << 12, RFLAGS_NT = 1 << 14,
       RFLAGS_AC = 1 << 18 };

struct cpuid {
	uint32_t eax, ebx, ecx, edx;
};

static inline struct cpuid cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid r;
	asm volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(subleaf));
	return r;
}

static inline uint64_t read_msr(uint32_t msr)
{
	uint32_t low, high;
	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (uint64_t)high << 32 | low;
}
static inline void write_msr(uint32_t msr, uint64_t value)
{
	asm volatile("wrmsr" :: "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

static inline uint64_t read_cr2(void) { uint64_t v; asm volatile("mov %%cr2, %0" : "=r"(v)); return v; }
static inline uint64_t read_cr3(void) { uint64_t v; asm volatile("mov %%cr3, %0" : "=r"(v)); return v; }
static inline uint64_t read_cr4(void) { uint64_t v; asm volatile("mov %%cr4, %0" : "=r"(v)); return v; }
static inline void write_cr3(uint64_t v) { asm volatile("mov %0, %%cr3" :: "r"(v) : "memory"); }
static inline void write_cr4(uint64_t v) { asm volatile("mov %0, %%cr4" :: "r"(v) : "memory"); }

static inline uint8_t in8(uint16_t port) { uint8_t v; asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline uint16_t in16(uint16_t port) { uint16_t v; asm volatile("inw %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline uint32_t in32(uint16_t port) { uint32_t v; asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline void out8(uint16_t port, uint8_t v) { asm volatile("outb %0, %1" :: "a"(v), "Nd"(port)); }
static inline void out16(uint16_t port, uint16_t v) { asm volatile("outw %0, %1" :: "a"(v), "Nd"(port)); }
static inline void out32(uint16_t port, uint32_t v) { asm volatile("outl %0, %1" :: "a"(v), "Nd"(port)); }
