/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processor features that every kernel needs on each of its cores (Intel SDM 2, CPUID). The loader refuses a machine
 * without them in one line, before any kernel runs; each kernel checks every core that arrives.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/x86.h>

/* A bit of CPUID: leaf, register, number. */
#define CPU_NEEDS(need)                                                                         \
	need("TSC", 1, edx, 4)         /* the clock */                                          \
	need("MCE", 1, edx, 7)         /* a machine check ends one cluster in place of all */   \
	need("APIC", 1, edx, 9)                                                                 \
	need("PGE", 1, edx, 13)        /* flushes */                                            \
	need("PAT", 1, edx, 16)        /* write combining for the screen */                     \
	need("FXSR", 1, edx, 24)                                                                \
	need("SSE2", 1, edx, 26)       /* programs, MFENCE */                                   \
	need("XSAVE", 1, ecx, 26)                                                               \
	need("SYSCALL", 0x80000001, edx, 11)                                                    \
	need("NX", 0x80000001, edx, 20)

/* XSAVE leaf 13 says how large the area for x87, SSE and AVX is; a TCB has so many bytes for it. */
enum { CPU_STATE_ROOM = 832, CPU_STATE_LEAF = 13, CPU_STATE_LEGACY = 576, CPU_STATE_AVX = 1 << 2 };

#define CPU_NEED_NAME(name, leaf, register, bit) name,
#define CPU_STATE_NEED "XSAVE in 832 bytes"
static const char *const cpu_need_name[] = { CPU_NEEDS(CPU_NEED_NAME) CPU_STATE_NEED };
enum { CPU_NEED_COUNT = sizeof cpu_need_name / sizeof *cpu_need_name };
_Static_assert(CPU_STATE_ROOM == 832, "as the name says");

/* Reads a leaf and subleaf: cpuid(), or a test's. */
typedef struct cpuid cpuid_reader(uint32_t leaf, uint32_t subleaf);

/* Returns zeroes for a leaf that the processor does not have: it would answer with another leaf's registers. */
static inline struct cpuid cpu_leaf(cpuid_reader *read, uint32_t leaf, uint32_t subleaf)
{
	return read(leaf & 0x80000000, 0).eax >= leaf ? read(leaf, subleaf) : (struct cpuid){ 0 };
}

/* Returns false where leaf 13 is missing, too. */
static inline bool cpu_state_fits(cpuid_reader *read)
{
	struct cpuid state = cpu_leaf(read, CPU_STATE_LEAF, 0), avx;

	if (!(state.eax & CPU_STATE_AVX))
		return state.eax != 0;
	avx = cpu_leaf(read, CPU_STATE_LEAF, 2); /* eax: size, ebx: offset */
	return avx.ebx >= CPU_STATE_LEGACY && avx.ebx <= CPU_STATE_ROOM && avx.eax <= CPU_STATE_ROOM - avx.ebx;
}

/* Returns a bit for each entry of cpu_need_name[] that the processor lacks. Without XSAVE nothing is said of its
 * area. */
static inline uint32_t cpu_lacks(cpuid_reader *read)
{
	uint32_t lacks = 0, number = 0;
	bool has_xsave = cpu_leaf(read, 1, 0).ecx >> 26 & 1;

#define CPU_NEED_CHECK(name, leaf, register, \
                       bit) lacks |= (cpu_leaf(read, leaf, 0).register >> bit & 1 ? 0u : 1u) << number++;
	CPU_NEEDS(CPU_NEED_CHECK)
#undef CPU_NEED_CHECK
	return lacks | (has_xsave && !cpu_state_fits(read) ? 1u : 0u) << number;
}

/* The local APIC's timer takes deadlines of the TSC; elsewhere its frequency must be known. */
static inline bool cpu_has_tsc_deadline(cpuid_reader *read) { return cpu_leaf(read, 1, 0).ecx >> 24 & 1; }
