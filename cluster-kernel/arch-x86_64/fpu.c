/* SPDX-License-Identifier: BSD-2-Clause */
#include "fpu.h"
#include "arch.h"
#include "assert.h"
#include "arch_context.h"

enum { STATE_X87 = 1, STATE_SSE = 2, STATE_AVX = 4 };
enum { MXCSR_OFFSET = 24, FCW_OFFSET = 0 };

uint32_t fpu_components;

void fpu_enable(void)
{
	if (!(cpuid(1, 0).ecx >> 26 & 1))
		arch_panic("this processor has no XSAVE");
	asm volatile("mov %%cr0, %%rax; and $~0xc, %%rax; or $2, %%rax; mov %%rax, %%cr0" ::: "rax"); /* no EM, TS; MP */
	write_cr4(read_cr4() | CR4_OSXSAVE | CR4_OSFXSR | CR4_OSXMMEXCPT);
	fpu_components = (STATE_X87 | STATE_SSE | STATE_AVX) & cpuid(13, 0).eax;
	asm volatile("xsetbv" ::"c"(0), "a"(fpu_components), "d"(0));
	if (cpuid(13, 0).ebx > ARCH_FPU_SIZE)
		arch_panic("the XSAVE area is larger than the TCB has room for");
}

void arch_fpu_init(uint8_t *area)
{
	kernel_assert((uint64_t)area % 64 == 0);
	*(uint16_t *)(area + FCW_OFFSET) = 0x37f;
	*(uint32_t *)(area + MXCSR_OFFSET) = 0x1f80;
}
