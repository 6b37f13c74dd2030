/* SPDX-License-Identifier: BSD-2-Clause */
/* Level of assertions for theorems (core/assert.h), behind check/off.h: an assertion of the kernel and a require() of
 * the rest are calls of a function, whose precondition the provers must prove. */
#pragma once

void theorem_holds(int condition);
#undef kernel_assert
#define kernel_assert(expression) theorem_holds(!!(expression))
#define require(expression)       theorem_holds(!!(expression))
