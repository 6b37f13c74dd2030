/* SPDX-License-Identifier: BSD-2-Clause */
/* What a capability becomes when it is copied, minted or mutated. */
#pragma once

#include "cap.h"

/* A CNode's guard, which it takes as it is. */
void cap_set_guard(struct cap *cap, uint64_t guard, unsigned bits);
/* Makes a copy, mapped nowhere. Fails for types of which only one capability may exist. */
uint64_t cap_copy(const struct cap *source, uint64_t rights, struct cap *copy);
/* Gives a copy its badge, range, doorbell or guard (of `guard_bits`). */
uint64_t cap_mint(struct cap *copy, uint64_t badge, uint64_t guard_bits);
/* The same for the capability itself. Fails if that would change what was derived from it. */
uint64_t cap_mutate(const struct slot *slot, uint64_t rights, uint64_t badge, uint64_t guard_bits, struct cap *mutant);
