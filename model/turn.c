/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine.h"

void turn_note(struct turn *turn, unsigned thread, const struct op *op)
{
	if (op->kind == OP_STORE || op->kind == OP_RMW || (op->kind == OP_CAS && op->exchanged) ||
	    turn->count == READS) {
		turn->wrote = true;
		return;
	}
	turn->read[turn->count].address = op->address;
	turn->read[turn->count++].write = memory_last_seen(thread, op->address);
}

bool turn_newer(const struct turn *turn)
{
	for (unsigned i = 0; i < turn->count; i++)
		if (memory_newer(turn->read[i].address, turn->read[i].write))
			return true;
	return false;
}

bool turn_same(const struct turn *turn, const struct turn *last)
{
	for (unsigned i = 0; i < turn->count; i++) {
		unsigned j = 0;
		while (j < last->count && (last->read[j].address != turn->read[i].address ||
		                           last->read[j].write != turn->read[i].write))
			j++;
		if (j == last->count)
			return false;
	}
	return !turn->wrote;
}
