/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of unfair.h that live in the kernel's structures. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct lock_kernel {
	_Atomic uint32_t held;
};

struct lock_cpu {
};

#include "no-object-locks.h"
#include "no-transactions.h"
