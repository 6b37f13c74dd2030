/* SPDX-License-Identifier: BSD-2-Clause */
/* The `none` regime keeps nothing in the kernel's structures. */
#pragma once

#include <stdint.h>

struct lock_kernel {
};

struct lock_cpu {
};

#include "no-object-locks.h"
#include "no-transactions.h"
