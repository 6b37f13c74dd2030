/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of the `ticket` regime that live in the kernel's structures. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Both counters in one line, as kernels have had them: who asks moves the line away from all who wait. */
struct lock_kernel {
	_Alignas(64) _Atomic uint32_t next; /* the ticket that the next core draws */
	_Atomic uint32_t serving;           /* the ticket of the core that has the lock, or may have it */
};

struct lock_cpu {
	uint32_t ticket;   /* this core's, from kernel_enter() to kernel_exit() */
	uint64_t acquired; /* +stat: TSC */
};

#include "no-object-locks.h"
#include "no-transactions.h"
