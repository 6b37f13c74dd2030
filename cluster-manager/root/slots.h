/* SPDX-License-Identifier: BSD-2-Clause */
/* Free slots of the root CNode. */
#pragma once

#include <stdint.h>

void slots_init(void);
/* The first of `count` empty slots in a row, or -SKERRY_NO_RESOURCE. */
int slots_take(uint32_t count);
/* One slot, which the caller has emptied. */
void slot_put(int slot);
