/* SPDX-License-Identifier: BSD-2-Clause */
/* Level "all": walks of lists and heaps, too. */
#pragma once

#include "cheap.h"

#undef kernel_assert_deep
#define kernel_assert_deep(expression) kernel_assert(expression)
