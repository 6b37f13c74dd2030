/* SPDX-License-Identifier: BSD-2-Clause */
/* A switch and its stacks that have opened their ends acknowledge each other. */
#pragma once

#include "../switch/switch.h"
#include "test.h"

static inline void forward_meet(struct forward *forward, struct port_end *stack, unsigned count, uint64_t now)
{
	for (unsigned turn = 0; turn < 3; turn++) {
		forward_last_pass(forward, now);
		for (unsigned i = 0; i < count; i++)
			port_poll(&stack[i]);
	}
	for (unsigned i = 0; i < count; i++)
		CHECK(stack[i].up && forward->port[i].end.up);
}
