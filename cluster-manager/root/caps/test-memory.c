/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory and slots of programs that start and end in any order: when all have ended, what was free is free again, in
 * pieces as large as before. A model of the kernel refuses what a kernel refuses: a full slot, an untyped that is used
 * up.
 */
#include <stdlib.h>
#include <string.h>
#include <skerry/memory_control.h>
#include <skerry/stubs.h>
#include "root.h"
#include "test-check.h"

enum { BITS = 12, SLOTS = 1 << BITS, FIRST_FREE = ROOT_SLOT_UNTYPED + 3, NO_PARENT = 0, COPY = 255 };

static struct capability {
	int type; /* 0: the slot is empty; an object's, or COPY */
	int parent;
	unsigned bits;
	uint64_t used;
} capability[SLOTS + 1];
static unsigned revocations, retypes_left = UINT32_MAX;

static bool has_children(int slot)
{
	for (int i = 1; i < SLOTS; i++)
		if (capability[i].type && capability[i].parent == slot)
			return true;
	return false;
}

static unsigned bits_of(enum skerry_object type, unsigned bits)
{
	return type == OBJECT_UNTYPED ? bits : type == OBJECT_FRAME_4K ? 12 : type == OBJECT_FRAME_2M ? 21
	       : type == OBJECT_CNODE ? bits + SLOT_BITS : TCB_BITS;
}

static int model_retype(uint64_t untyped, enum skerry_object type, unsigned size_bits, uint64_t first, uint64_t count)
{
	struct capability *u = &capability[untyped];
	uint64_t size = 1ull << bits_of(type, size_bits);
	CHECK(u->type == OBJECT_UNTYPED);
	if (!retypes_left || !retypes_left--)
		return -SKERRY_NO_MEMORY;
	for (uint64_t i = 0; i < count; i++)
		if (first + i < SLOTS && capability[first + i].type)
			return -SKERRY_SLOT_FULL;
	if (!has_children((int)untyped))
		u->used = 0;
	u->used = (u->used + size - 1) & -size;
	CHECK(u->used + count * size <= 1ull << u->bits); /* the manager knows what fits */
	for (uint64_t i = 0; i < count; i++) {
		CHECK(first + i >= FIRST_FREE && first + i < SLOTS);
		capability[first + i] = (struct capability){ type, (int)untyped, bits_of(type, size_bits), 0 };
	}
	u->used += count * size;
	return 0;
}

static int model_revoke(int slot)
{
	revocations++;
	CHECK(capability[slot].type);
	for (int i = 1; i < SLOTS; i++)
		if (capability[i].type && capability[i].parent == slot) {
			model_revoke(i);
			capability[i].type = 0;
		}
	return 0;
}

/* Children become the parent's. */
static int model_delete(int slot)
{
	for (int i = 1; i < SLOTS && capability[slot].type; i++)
		if (capability[i].type && capability[i].parent == slot)
			capability[i].parent = capability[slot].parent;
	capability[slot].type = 0;
	return 0;
}

/* Blocks of each size that are parked. Those that are given derive from nothing, and nothing is made of them. */
static unsigned parked[64], gives_left = UINT32_MAX;

static int model_give(uint64_t untyped, uint32_t cluster)
{
	struct capability *u = &capability[untyped];
	CHECK(u->type == OBJECT_UNTYPED && u->parent == NO_PARENT && !has_children((int)untyped));
	CHECK(u->bits >= MEMORY_PIECE_BITS && u->bits <= MEMORY_MOVE_BITS_MAX);
	CHECK(cluster == 1);
	if (!gives_left || !gives_left--)
		return -SKERRY_BUSY;
	parked[u->bits]++;
	u->type = 0;
	return 0;
}

static int model_take(uint64_t base, uint64_t bits, uint64_t slot)
{
	CHECK(slot >= FIRST_FREE && slot < SLOTS && !capability[slot].type);
	if (!parked[bits])
		return -SKERRY_BUSY;
	CHECK(base == 0);
	parked[bits]--;
	capability[slot] = (struct capability){ OBJECT_UNTYPED, NO_PARENT, (unsigned)bits, 0 };
	return 0;
}

#define memory_give_to(ipc, control, untyped, cluster) model_give(untyped, cluster)
#define memory_take_parked(ipc, control, base, bits, cnode, slot) model_take(base, bits, slot)
/* Frames that are copies of others; the last one's content. */
static unsigned copied;
static uint64_t copied_from;

static int model_copy(uint64_t untyped, enum skerry_object type, uint64_t from, uint64_t first, uint64_t count)
{
	copied += (unsigned)count;
	copied_from = from + count - 1;
	return model_retype(untyped, type, 0, first, count);
}

#define untyped_copy(ipc, untyped, type, cnode, from, slot, count) model_copy(untyped, type, from, slot, count)
#define untyped_retype(ipc, untyped, type, bits, cnode, slot, count) model_retype(untyped, type, bits, slot, count)
#define cnode_revoke(cnode, slot) model_revoke((int)(slot))
#define cnode_delete(cnode, slot) model_delete((int)(slot))
#include "slots.c"
#include "memory.c"
#include "memory-move.c"

void sign_pass(void) {}

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	_Exit(1);
}

/* --- what is compared --- */

struct picture {
	uint64_t free;
	uint32_t slots, spare, used;
	uint32_t blocks[BITS_MAX + 1]; /* free ones of each size */
};

static struct picture picture_take(void)
{
	struct picture p = { .free = memory_free(), .slots = slots_free(), .spare = spare_count };
	uint64_t sum = 0;
	for (unsigned bits = 0; bits <= BITS_MAX; bits++)
		for (uint32_t i = free_list[bits]; i; i = block_at(i)->next) {
			p.blocks[bits]++;
			sum += 1ull << bits;
			CHECK(block_at(i)->state == BLOCK_FREE && block_at(i)->bits == bits &&
			      !has_children((int)block_at(i)->slot));
		}
	CHECK(sum == p.free);
	for (int i = FIRST_FREE; i < SLOTS; i++)
		p.used += capability[i].type != 0;
	return p;
}

/* --- programs --- */

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

/* Everything of a random program; false: there was no room, and it has what it has got so far. */
static bool program_start(uint32_t application)
{
	owner_set(owner_application(application));
	bool good = memory_object(OBJECT_CNODE, 4) >= 0 && memory_untyped(18) >= 0;
	for (uint32_t i = 1 + draw(6); good && i; i--) {
		int frames = memory_frames(draw(4) ? OBJECT_FRAME_4K : OBJECT_FRAME_2M, 1 + draw(40));
		int copies = frames < 0 ? frames : slots_take(1 + draw(3));
		good = copies >= 0 && memory_object(OBJECT_TCB, 0) >= 0;
		if (copies >= 0)
			capability[copies] = (struct capability){ COPY, draw(2) ? frames : FIRST_FREE, 0,
			                                          0 }; /* or of what programs share */
	}
	if (good && !draw(4))
		good = memory_contiguous(OBJECT_FRAME_2M, draw(3)) >= 0;
	owner_set(OWNER_MANAGER);
	return good;
}

static void set_up(void)
{
	struct root_info *root = (struct root_info *)ROOT;
	memset(capability, 0, sizeof(capability));
	*root = (struct root_info){ .first_free_slot = FIRST_FREE, .cnode_bits = BITS, .untyped_count = 3 };
	for (unsigned i = 0; i < 3; i++) {
		root->untyped[i] = (struct root_untyped){ .paddr = 1ull << (20 + 5 * i),
		                                          .size_bits = (uint8_t)(20 + 4 * i) };
		capability[ROOT_SLOT_UNTYPED + i] = (struct capability){ OBJECT_UNTYPED, NO_PARENT, 20 + 4 * i, 0 };
	}
	slots_init();
	memory_init();
	slots_table(calloc(1, slots_table_size()));
	memory_give_records(calloc(1, MEMORY_RECORDS_SIZE));
	CHECK(memory_object(OBJECT_TCB, 0) == FIRST_FREE); /* the manager's own, which stays */
	CHECK(memory_has_records(100));
}

static void same(const struct picture *a, const struct picture *b)
{
	CHECK(a->free == b->free && a->slots == b->slots && a->spare == b->spare && a->used == b->used);
	CHECK(!memcmp(a->blocks, b->blocks, sizeof(a->blocks)));
}

/* Programs start and end in a random order, now and then in the middle of their start. */
static void any_order(const struct picture *empty)
{
	enum { PROGRAMS = 12 };
	bool lives[PROGRAMS] = { false };
	unsigned starts = 0, refused = 0;
	for (unsigned step = 0; step < 400; step++) {
		uint32_t i = draw(PROGRAMS);
		if (!lives[i] && !draw(10))
			retypes_left = draw(60); /* the kernel refuses in the middle */
		if (lives[i]) {
			memory_return(owner_application(i));
			lives[i] = false;
		} else if (program_start(i)) {
			lives[i] = true;
			starts++;
		} else {
			struct picture before;
			memory_return(owner_application(i));
			before = picture_take();
			memory_return(owner_application(i)); /* has nothing */
			struct picture after = picture_take();
			same(&before, &after);
			refused++;
		}
		retypes_left = UINT32_MAX;
	}
	for (uint32_t i = 0; i < PROGRAMS; i++)
		memory_return(owner_application(i));
	struct picture now = picture_take();
	same(empty, &now);
	CHECK(starts && refused);
}

/* No slot is left: the start fails, and what others have is theirs. */
static void no_slots(const struct picture *empty)
{
	CHECK(program_start(0));
	struct picture before = picture_take();
	owner_set(owner_application(1));
	CHECK(memory_object(OBJECT_TCB, 0) >= 0 && slots_take(slots_free()) >= 0 && slots_free() == 0);
	CHECK(slots_take(1) == -SKERRY_NO_RESOURCE && memory_object(OBJECT_TCB, 0) == -SKERRY_NO_RESOURCE);
	/* no slots for halves */
	CHECK(memory_untyped(14) == -SKERRY_NO_RESOURCE || memory_untyped(14) == -SKERRY_NO_RESOURCE);
	owner_set(OWNER_MANAGER);
	memory_return(owner_application(1));
	struct picture after = picture_take();
	same(&before, &after);
	memory_return(owner_application(0));
	after = picture_take();
	same(empty, &after);
}

/* The same program again and again needs the same memory each time. */
static void again_and_again(const struct picture *empty)
{
	uint64_t at = seed;
	struct picture first = { 0 };
	for (unsigned i = 0; i < 100; i++) {
		seed = at;
		CHECK(program_start(5));
		struct picture now = picture_take();
		if (!i)
			first = now;
		same(&first, &now);
		memory_return(owner_application(5));
		now = picture_take();
		same(empty, &now);
	}
}

/* What the manager itself lacks takes nothing for good. */
static void manager_lacks(const struct picture *empty)
{
	owner_set(owner_application(1));
	CHECK(memory_frames(OBJECT_FRAME_4K, 3) > 0);
	owner_set(owner_application(2));
	for (unsigned bits = BITS_MAX; bits >= BITS_MIN; bits--)
		while (memory_untyped(bits) >= 0)
			;
	owner_set(OWNER_MANAGER);
	for (unsigned pages = 0; pages < 4; pages += 3) {
		const struct picture before = picture_take();
		CHECK((before.free >= 3 << 12) == (pages > 0));
		for (unsigned i = 0; i < 20; i++)
			CHECK(memory_frames(OBJECT_FRAME_4K, 4) < 0 && (pages || memory_object(OBJECT_TCB, 0) < 0));
		const struct picture after = picture_take();
		same(&before, &after);
		memory_return(owner_application(1));
	}
	memory_return(owner_application(2));
	const struct picture now = picture_take();
	same(empty, &now);
}

/* Promised frames can be had in any order, each once, when no other frame can be had any more. */
static void promises(const struct picture *empty)
{
	enum { SMALL = 300, LARGE = 3 };
	struct memory_reserve small, large;
	unsigned made[SMALL] = { 0 }, other = 0;
	owner_set(owner_application(1));
	int first = memory_reserve(&small, OBJECT_FRAME_4K, 0, SMALL),
	    second = memory_reserve(&large, OBJECT_FRAME_2M, 0, LARGE);
	CHECK(first > 0 && second > 0);
	for (int i = 0; i < SMALL; i++)
		CHECK(!capability[first + i].type);
	owner_set(owner_application(2));
	while (memory_untyped(12) >= 0)
		other++;
	while (memory_object(OBJECT_TCB, 0) >= 0)
		other++;
	CHECK(other && memory_object(OBJECT_TCB, 0) < 0 && memory_frames(OBJECT_FRAME_4K, 1) < 0);
	owner_set(owner_application(1));
	for (unsigned left = SMALL; left;) {
		uint32_t i = draw(SMALL);
		CHECK(memory_commit(&small, first + (int)i, 1, 0) == (made[i] ? -SKERRY_SLOT_FULL : 0));
		CHECK(capability[first + (int)i].type == OBJECT_FRAME_4K);
		left -= !made[i]++;
	}
	CHECK(!memory_commit(&large, second + 1, LARGE - 1, 0) && !memory_commit(&large, second, 1, 0));
	for (int i = 0; i < LARGE; i++) /* a second request makes nothing, of the owner's other blocks either */
		CHECK(capability[second + i].type == OBJECT_FRAME_2M &&
		      memory_commit(&large, second + i, 1, 0) == -SKERRY_SLOT_FULL);
	CHECK(memory_commit(&small, first, 1, 0) == -SKERRY_SLOT_FULL &&
	      memory_commit(&small, first, SMALL + 1, 0) == -SKERRY_SLOT_FULL);
	owner_set(OWNER_MANAGER);
	memory_return(owner_application(1));
	memory_return(owner_application(2));
	struct picture now = picture_take();
	same(empty, &now);
	/* a reserve that cannot be had leaves nothing behind, and makes nothing */
	owner_set(owner_application(1));
	CHECK(memory_reserve(&large, OBJECT_FRAME_2M, 0, SLOTS / 2) == -SKERRY_NO_MEMORY);
	owner_set(OWNER_MANAGER);
	memory_return(owner_application(1));
	now = picture_take();
	same(empty, &now);
}

static uint64_t parked_bytes(void)
{
	uint64_t sum = 0;
	for (unsigned bits = 0; bits < 64; bits++)
		sum += (uint64_t)parked[bits] << bits;
	return sum;
}

/* Any block that is parked; false: none is. */
static bool gain_any(void)
{
	for (unsigned tries = 0; tries < 64; tries++) {
		unsigned bits = MEMORY_PIECE_BITS + draw(MEMORY_MOVE_BITS_MAX - MEMORY_PIECE_BITS + 1);
		if (parked[bits]) {
			CHECK(!memory_gain(0, bits));
			return true;
		}
		CHECK(memory_gain(0, bits) == -SKERRY_BUSY);
	}
	return false;
}

/* Memory comes and goes while programs start and end: none is lost, nor are records or slots, and what has come is used
 * as any. */
static void comes_and_goes(void)
{
	enum { PROGRAMS = 4 };
	const uint64_t total = memory_total(), free = memory_free();
	const uint32_t slots = slots_free();
	unsigned gave = 0, failed = 0;
	bool lives[PROGRAMS] = { false };
	for (unsigned step = 0; step < 3000; step++) {
		uint32_t i = draw(PROGRAMS), before = memory_free_pieces(), wanted = 1 + draw(24);
		int error;
		gives_left = draw(8) ? UINT32_MAX : draw(3);
		if (draw(2)) {
			lives[i] ? memory_return(owner_application(i)) : (void)program_start(i);
			lives[i] = !lives[i];
		} else if (draw(2)) {
			uint32_t given = memory_part_with(wanted, 1, &error);
			CHECK(given == wanted || error);
			CHECK(given <= before && memory_free_pieces() == before - given);
			CHECK(error != -SKERRY_NO_MEMORY || given == before);
			gave += given;
			failed += error == -SKERRY_BUSY;
		} else {
			gain_any();
		}
		gives_left = UINT32_MAX;
		CHECK(memory_total() + parked_bytes() == total);
	}
	for (uint32_t i = 0; i < PROGRAMS; i++)
		memory_return(owner_application(i));
	while (gain_any())
		;
	CHECK(!parked_bytes() && memory_total() == total && memory_free() == free && gave && failed);
	/* blocks that derive from nothing are not joined: each may have a slot and a record of its own, and no more */
	CHECK(slots - slots_free() <= memory_free_pieces());
	picture_take();
}

int main(void)
{
	if (!test_place(ROOT_INFO_VADDR, sizeof(struct root_info)))
		return SKIPPED;
	set_up();
	const struct picture empty = picture_take();
	for (seed = 1; seed < 6 && !failures; seed++) {
		uint64_t at = seed;
		any_order(&empty);
		seed = at;
	}
	again_and_again(&empty);
	no_slots(&empty);
	manager_lacks(&empty);
	promises(&empty);
	comes_and_goes();
	CHECK(revocations);
	return failures != 0;
}
