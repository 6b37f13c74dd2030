/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor's registers that the kernel sets (Intel SDM volume 3). */
#pragma once

#include <stdint.h>
#include <skerry/x86.h>

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
	CR4_MCE = 1 << 6, CR4_PGE = 1 << 7, CR4_OSFXSR = 1 << 9, CR4_OSXMMEXCPT = 1 << 10, CR4_UMIP = 1 << 11,
	CR4_FSGSBASE = 1 << 16, CR4_PCIDE = 1 << 17, CR4_OSXSAVE = 1 << 18, CR4_SMEP = 1 << 20, CR4_SMAP = 1 << 21,
};

/* Loading CR3 leaves the translations of the tag it names (SDM 3, 4.10.4.1). */
#define CR3_KEEP (1ull << 63)

enum { RFLAGS_TF = 1 << 8, RFLAGS_IF = 1 << 9, RFLAGS_DF = 1 << 10, RFLAGS_IOPL = 3 << 12, RFLAGS_NT = 1 << 14,
       RFLAGS_AC = 1 << 18 };

static inline uint64_t read_cr4(void) { uint64_t v; asm volatile("mov %%cr4, %0" : "=r"(v)); return v; }
static inline void write_cr3(uint64_t v) { asm volatile("mov %0, %%cr3" :: "r"(v) : "memory"); }
static inline void write_cr4(uint64_t v) { asm volatile("mov %0, %%cr4" :: "r"(v) : "memory"); }
