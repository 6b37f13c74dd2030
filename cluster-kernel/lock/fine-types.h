/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the `fine` regime that live in the kernel's structures. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A ticket lock. All zeroes: free. */
struct object_lock {
	_Atomic uint32_t next, serving;
	uint64_t acquired; /* +stat: TSC */
};

struct lock_kernel {
};

/* One side of the big-reader lock: its core holds it to read, who writes holds those of all cores. */
struct lock_cpu {
	_Alignas(64) struct object_lock side;
	_Alignas(64) bool exclusive; /* this entry holds all */
	uint64_t acquired;           /* +stat: TSC, of the write side */
};

#include "no-transactions.h"
