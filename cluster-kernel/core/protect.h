/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FRAME_PROTECT: takes rights from all capabilities that derive from a frame's,
 * and from what they map.
 *
 * The descendants are visited backwards, from the closing bracket of the frame to its opening one, so a capability
 * comes after its own descendants and never has fewer rights than they. A copy that is made meanwhile is inserted
 * directly behind its source's opening bracket, so it is visited before its source is: no copy escapes the walk.
 *
 * Where the work budget ends, the core notes how far it has come. The note stays true whichever thread made it, as long
 * as the frame's slot is not emptied: rights are never given back, and slot_delete() and MOVE adjust the note. A call
 * for the same frame and rights on the same core goes on from there; any other call begins at the closing bracket, and
 * skips what has no more rights than it may keep.
 */
#pragma once

#include <stdint.h>
#include "cap.h"

/*
 * All descendants of `frame` behind the bracket `done` have at most `rights`; if `done` is an opening bracket, its own
 * capability, too.
 */
struct protection {
	struct slot *frame; /* null: no call was preempted on this core */
	struct link *done;
	unsigned rights;
};

uint64_t frame_protect(struct cpu *cpu, struct slot *frame, uint64_t info);
/* The capability in `slot`, which has CAP_NOTED, is about to be removed. Caller holds the kernel alone. */
void protection_remove(struct cpu *cpu, const struct slot *slot);
/* The capability has moved, with CAP_NOTED. Caller holds the kernel alone. */
void protection_move(struct cpu *cpu, struct slot *to, const struct slot *from);
