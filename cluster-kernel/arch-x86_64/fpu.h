/* SPDX-License-Identifier: BSD-2-Clause */
/* User FPU and vector state: XSAVE of x87, SSE and AVX. The kernel itself uses none of it. */
#pragma once

#include <stdint.h>
#include "arch_context.h"

/* On each core. Caller has found that the core lacks nothing (skerry/cpu_needs.h). */
void fpu_enable(void);

extern uint32_t fpu_components;
static inline void fpu_save(uint8_t *area)
{
	asm volatile("xsave64 %0" : "=m"(*(uint8_t (*)[ARCH_FPU_SIZE])area) : "a"(fpu_components), "d"(0));
}
static inline void fpu_load(const uint8_t *area)
{
	asm volatile("xrstor64 %0" ::"m"(*(const uint8_t (*)[ARCH_FPU_SIZE])area), "a"(fpu_components), "d"(0));
}
