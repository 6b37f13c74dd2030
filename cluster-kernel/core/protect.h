/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FRAME_PROTECT: takes rights from all capabilities that derive from a frame's,
 * and from what they map.
 *
 * The descendants are visited backwards, from the closing bracket of the frame
 * to its opening one, so a capability comes after its own descendants and never
 * has fewer rights than they. A copy that is made meanwhile stands directly
 * behind the opening bracket of its source: where the source has not been
 * visited, neither has the copy.
 *
 * Where the work budget ends, the core notes how far it has come. What the note
 * says stays true, whichever thread made it, as long as the frame's slot is not
 * emptied: rights are never given back, and slot_delete() and MOVE adjust it.
 * A call for the same frame and rights on the same core goes on from there; any
 * other call begins at the closing bracket, and skips what has no more rights
 * than it may keep.
 */
#pragma once

#include <stdint.h>
#include "cap.h"

/* All descendants of `frame` that stand behind `done`, and the one whose bracket it is if it opens, have at most `rights`. */
struct protection {
	struct slot *frame; /* null: no call has stopped half-way on this core */
	struct link *done;
	unsigned rights;
};

uint64_t frame_protect(struct cpu *cpu, struct slot *frame, uint64_t info);
/* The capability in `slot`, which has CAP_NOTED, is about to be removed. Caller holds the kernel alone. */
void protection_remove(struct cpu *cpu, const struct slot *slot);
/* The capability has moved, with CAP_NOTED. Caller holds the kernel alone. */
void protection_move(struct cpu *cpu, struct slot *to, const struct slot *from);
