/* SPDX-License-Identifier: BSD-2-Clause */
/* Localities at random, for tests that come out the same with any. */
#pragma once

#include "hosted.h"

/* All cores, one, or some: of half of the objects in the root task's CNode. No core is in the kernel. Moves *seed
 * on. */
void draw_localities(struct hosted *machine, uint64_t *seed);
