/* SPDX-License-Identifier: BSD-2-Clause */
#include "cnode.h"
#include "derive.h"
#include "kernel.h"
#include "locality.h"
#include "message.h"
#include "protect.h"
#include "work.h"
#include "zombie.h"

/* The n highest bits of a capability pointer of which `bits` are left. */
/*@ requires n <= bits <= 64;
  @ assigns \nothing;
  @ ensures bits: taken: \forall integer i; 0 <= i < n ==> (\result >> i & 1) == (cptr >> (bits - n + i) & 1);
  @ ensures bits: index: \result < 1 << n; */
static uint64_t take_bits(uint64_t cptr, unsigned bits, unsigned n)
{
	kernel_assert(n <= bits && bits <= 64);
	return n ? cptr << (64 - bits) >> (64 - n) : 0;
}

struct slot *cspace_walk(const struct slot *root, uint64_t cptr)
{
	const struct slot *slot = root;
	unsigned bits = 64;
	do {
		const struct cap *node = &slot->cap;
		if (node->type != OBJECT_CNODE || bits < node->guard_bits + node->size_bits)
			return 0;
		if (take_bits(cptr, bits, node->guard_bits) != node->badge)
			return 0;
		kernel_assert(node->size_bits > 0);
		bits -= node->guard_bits;
		slot = cnode_slot(node, take_bits(cptr, bits, node->size_bits));
		bits -= node->size_bits;
	} while (slot && bits);
	return (struct slot *)slot;
}

/* Returns the source slot of COPY, MINT, MOVE or MUTATE. The capability of its CNode must have `rights`. */
static uint64_t find_source(struct cpu *cpu, uint64_t info, unsigned rights, struct slot **from)
{
	const struct slot *node = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	if (!node)
		return SKERRY_BAD_CAP;
	if ((node->cap.rights & rights) != rights)
		return SKERRY_NO_RIGHTS;
	*from = cnode_slot(&node->cap, message_word(current(cpu), 1));
	return *from && !slot_empty(*from) ? SKERRY_OK : SKERRY_EMPTY_SLOT;
}

/* Sets *bits to the number of guard bits that the message gives a copy of `cap`. */
static uint64_t find_guard(struct cpu *cpu, const struct cap *cap, uint64_t info, uint64_t *bits)
{
	*bits = 0;
	if (cap->type != OBJECT_CNODE)
		return SKERRY_OK;
	if (message_words(info) < 5 || !thread_ipc_buffer(current(cpu)))
		return SKERRY_TRUNCATED;
	*bits = message_word(current(cpu), 4);
	return SKERRY_OK;
}

static uint64_t invoke_copy(struct cpu *cpu, struct slot *to, uint64_t info, bool mint)
{
	const struct thread *thread = current(cpu);
	struct slot *from;
	struct cap copy;
	uint64_t guard_bits;
	if (message_words(info) < (mint ? 4u : 3u))
		return SKERRY_TRUNCATED;
	uint64_t error = find_source(cpu, info, RIGHT_READ, &from);
	if (error)
		return error;
	if (!slot_empty(to))
		return SKERRY_SLOT_FULL;
	error = cap_copy(&from->cap, message_word(thread, 2), &copy);
	if (!error && mint)
		error = find_guard(cpu, &copy, info, &guard_bits);
	if (!error && mint)
		error = cap_mint(&copy, message_word(thread, 3), guard_bits);
	if (error)
		return error;

	kernel_assert(copy.object == from->cap.object && !(copy.rights & ~from->cap.rights));
	slot_insert(to, &copy, from);
	return SKERRY_OK;
}

/* Copies what consecutive slots hold into as many others. A later entry finds in the words what is left. */
static uint64_t invoke_copies(struct cpu *cpu, const struct cap *node, uint64_t info)
{
	struct thread *thread = current(cpu);
	uint64_t left = message_words(info) > 3 ? message_word(thread, 3) : 0;
	if (left > RANGE_COUNT_MAX)
		return SKERRY_BAD_ARGUMENT;
	for (;;) {
		struct slot *slot = cnode_slot(node, message_word(thread, 0));
		uint64_t error = slot ? invoke_copy(cpu, slot, info, false) : SKERRY_BAD_ARGUMENT;
		if (error || left <= 1)
			return error;
		message_set_word(thread, 0, message_word(thread, 0) + 1);
		message_set_word(thread, 1, message_word(thread, 1) + 1);
		message_set_word(thread, 3, --left);
		work_done(cpu, WORK_COPY_CAP);
		if (work_over(cpu))
			return KERNEL_AGAIN;
	}
}

static uint64_t invoke_move(struct cpu *cpu, struct slot *to, uint64_t info, bool mutate)
{
	const struct thread *thread = current(cpu);
	struct slot *from;
	uint64_t guard_bits;
	if (message_words(info) < (mutate ? 4u : 2u))
		return SKERRY_TRUNCATED;
	uint64_t error = find_source(cpu, info, RIGHT_READ | RIGHT_WRITE, &from);
	if (error)
		return error;
	if (!slot_empty(to))
		return SKERRY_SLOT_FULL;
	struct cap mutant = from->cap;
	if (mutate)
		error = find_guard(cpu, &from->cap, info, &guard_bits);
	if (mutate && !error)
		error = cap_mutate(from, message_word(thread, 2), message_word(thread, 3), guard_bits, &mutant);
	if (error)
		return error;

	kernel_assert(mutant.object == from->cap.object && !(mutant.rights & ~from->cap.rights));
	slot_move(to, from);
	to->cap = mutant;
	if (mutant.flags & CAP_NOTED)
		protection_move(cpu, to, from);
	return SKERRY_OK;
}

uint64_t invoke_cnode(struct cpu *cpu, struct slot *node, uint64_t info)
{
	assert_exclusive();
	kernel_assert(node->cap.type == OBJECT_CNODE);
	uint64_t label = message_label(info);
	if (label < CNODE_COPY || label > CNODE_LOCALITY_OF)
		return SKERRY_BAD_LABEL;
	if (label > CNODE_MUTATE)
		return invoke_locality(cpu, node, info);
	if (message_words(info) < 1)
		return SKERRY_TRUNCATED;
	if (!(node->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	struct slot *slot = cnode_slot(&node->cap, message_word(current(cpu), 0));
	if (!slot)
		return SKERRY_BAD_ARGUMENT;
	switch (label) {
	case CNODE_COPY: return invoke_copies(cpu, &node->cap, info);
	case CNODE_MINT: return invoke_copy(cpu, slot, info, true);
	case CNODE_MOVE: return invoke_move(cpu, slot, info, false);
	case CNODE_MUTATE: return invoke_move(cpu, slot, info, true);
	case CNODE_DELETE: return slot_delete(cpu, slot) && zombies_reap(cpu) ? SKERRY_OK : KERNEL_AGAIN;
	default: return slot_revoke(cpu, slot) && zombies_reap(cpu) ? SKERRY_OK : KERNEL_AGAIN;
	}
}
