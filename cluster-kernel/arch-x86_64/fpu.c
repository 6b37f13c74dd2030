/* SPDX-License-Identifier: BSD-2-Clause */
#include "fpu.h"
#include <skerry/cpu_needs.h>
#include "arch.h"
#include "assert.h"
#include "arch_context.h"

enum { STATE_X87 = 1, STATE_SSE = 2, STATE_AVX = 4 };
enum { MXCSR_OFFSET = 24, FCW_OFFSET = 0 };

_Static_assert((int)CPU_STATE_ROOM == (int)ARCH_FPU_SIZE, "what fits is checked before");

uint32_t fpu_components;

void fpu_enable(void)
{
	kernel_assert(!cpu_lacks(cpuid));
	/* no EM, TS; MP */
	asm volatile("mov %%cr0, %%rax; and $~0xc, %%rax; or $2, %%rax; mov %%rax, %%cr0" ::: "rax");
	write_cr4(read_cr4() | CR4_OSXSAVE | CR4_OSFXSR | CR4_OSXMMEXCPT);
	fpu_components = (STATE_X87 | STATE_SSE | STATE_AVX) & cpuid(CPU_STATE_LEAF, 0).eax;
	asm volatile("xsetbv" ::"c"(0), "a"(fpu_components), "d"(0));
	kernel_assert(cpuid(CPU_STATE_LEAF, 0).ebx <= ARCH_FPU_SIZE);
}

void arch_fpu_init(uint8_t *area)
{
	kernel_assert((uint64_t)area % 64 == 0);
	*(uint16_t *)(area + FCW_OFFSET) = 0x37f;
	*(uint32_t *)(area + MXCSR_OFFSET) = 0x1f80;
}
