/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Non-interference as two runs. The second run differs in what thread B must not see: what the untyped memory held
 * before, and what thread A has in its registers and its IPC buffer. Both make the same steps. B's view is its
 * registers, whether it runs, and every word of memory that its address space maps. It must be the same after each
 * step.
 *
 * Not covered: what A chooses to do; frames that both have mapped, and messages from A to B, which are made to be seen
 * and whose words the steps name themselves. One core.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "search.h"

/* Compares all steps from a state; fail() where B's view differs. Returns how many pairs were compared. */
size_t pairs_compare(const struct search_options *options, void (*follow_path)(uint32_t), void (*go_to_first)(void),
                     uint32_t state, volatile uint16_t *at_step);
/* Compares after the last step of a path. */
void pairs_replay(const struct search_options *options, const unsigned *path, unsigned length,
                  void (*go_to_first)(void));
