/* SPDX-License-Identifier: BSD-2-Clause */
/* A neighbour cluster without a kernel: it takes what it is given, and gives it back at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Core `number`, if it is parked. Returns whether it was; it is parked for `to` then. */
bool neighbour_returns_core(unsigned number, unsigned neighbour, unsigned to);
/* The piece of memory at `base`, if it is parked for the neighbour; likewise. */
bool neighbour_returns_memory(uint64_t base, unsigned neighbour, unsigned to);
