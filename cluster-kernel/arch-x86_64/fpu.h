/* SPDX-License-Identifier: BSD-2-Clause */
/* User FPU and vector state: XSAVE of x87, SSE and AVX. The kernel itself uses none of it. */
#pragma once

#include <stdint.h>

/* On each core; panics where there is no XSAVE. */
void fpu_enable(void);
void fpu_save(uint8_t *area);
void fpu_load(const uint8_t *area);
