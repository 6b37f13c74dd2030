/* SPDX-License-Identifier: BSD-2-Clause */
#include "neighbour.h"
#include <skerry/core_control.h>
#include <skerry/memory_control.h>
#include "hosted.h"

bool neighbour_returns_core(unsigned number, unsigned neighbour, unsigned to)
{
	struct core_control *core = hosted_core_control(number);
	return core_take(core, neighbour) && core_joined(core, neighbour) && core_leave(core, neighbour, to) &&
	       core_parked(core, core_read(core));
}

bool neighbour_returns_memory(uint64_t base, unsigned neighbour, unsigned to)
{
	struct memory_control *control = hosted_memory_control();
	const uint64_t piece = base >> MEMORY_PIECE_BITS;
	return memory_read(control, piece) == memory_byte(MEMORY_PARKED, neighbour) &&
	       memory_take(control, piece, neighbour) &&
	       memory_give(control, piece, neighbour, to);
}
