/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that leaves a kernel and comes to another (skerry/memory_control.h). */
#include <skerry/memory_control.h>
#include "arch.h"
#include "arena.h"
#include "check.h"
#include "harness.h"
#include "pair.h"

enum { CONTROL = ROOT_SLOT_CLUSTER_CONTROL, FIRST = PAIR_FIRST, CORES = 2, FREE = 2000, COPY = 1000, NODE = 1001,
       BITS = 22, PIECES = 2 };

static void begin(void)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct hosted_controlled controlled[] = { { FIRST + 1 - i, CORES, 0 } };
		struct hosted_config config = { .cluster = FIRST + i, .cores = CORES, .memory = 96 << 20,
		                                .seed = machine->config.seed,
			                        .controlled_count = 1, .controlled = controlled };
		pair[i] = hosted_create(&config);
	}
}

static uint64_t address(uint64_t slot) { return slot_of(slot)->cap.object; }
static uint8_t byte_of(uint64_t paddr) { return memory_read(hosted_memory_control(), paddr >> MEMORY_PIECE_BITS); }
static uint64_t give(uint64_t slot, uint64_t to) { return call(CONTROL, MEMORY_GIVE, W(to), W(slot)); }
static uint64_t take(uint64_t base, uint64_t bits, uint64_t slot)
{
	return call(CONTROL, MEMORY_TAKE, W(base, bits, slot), W(CNODE));
}

/* A kernel gone wild writes the word of a piece: it is cluster 11's, or for it. False: it was another. */
static bool spoil(uint64_t base, enum memory_state from, uint32_t cluster, enum memory_state to)
{
	return memory_change(hosted_memory_control(), base >> MEMORY_PIECE_BITS, memory_byte(from, cluster),
	                     memory_byte(to, FIRST + 1));
}

static void expect_bytes(uint64_t base, unsigned bits, enum memory_state state, uint32_t cluster)
{
	for (uint64_t at = 0; at < 1ull << bits; at += 1u << MEMORY_PIECE_BITS)
		EXPECT(byte_of(base + at), memory_byte(state, cluster));
}

/* All cores have flushed before it is parked; the new owner's frames are zero, whatever the former one has left. */
static void there_and_back(void)
{
	begin();
	be(0);
	cut(BITS, FREE, 1);
	uint64_t base = address(FREE);
	for (unsigned times = 0; times < 3; times++) {
		be(times % 2);
		unsigned before[CORES];
		for (unsigned i = 0; i < CORES; i++)
			before[i] = machine->core[i].kernel_flushes;
		uint64_t changes = atomic_load(&hosted_memory_control()->changes);
		EXPECT(give(FREE, FIRST + (times + 1) % 2), 0);
		EXPECT(slot_of(FREE)->cap.type, 0);
		for (unsigned i = 0; i < CORES; i++)
			EXPECT(machine->core[i].kernel_flushes, before[i] + 1);
		EXPECT(arch_direct_count(&machine->kernel, base, PIECES), 0);
		expect_bytes(base, BITS, MEMORY_PARKED, FIRST + (times + 1) % 2);
		be((times + 1) % 2);
		EXPECT(take(base, BITS, FREE), 0);
		EXPECT(atomic_load(&hosted_memory_control()->changes), changes + 2);
		expect_bytes(base, BITS, MEMORY_OWNED, FIRST + (times + 1) % 2);
		EXPECT(arch_direct_count(&machine->kernel, base, PIECES), PIECES);
		EXPECT(call(FREE, UNTYPED_RETYPE, W(OBJECT_FRAME_2M, 0, FREE + 1, PIECES), W(CNODE)), 0);
		for (uint64_t at = 0; at < 1 << BITS; at += 4096 - 8)
			EXPECT(*(uint64_t *)direct(base + at), 0);
		EXPECT(give(FREE, FIRST + times % 2), SKERRY_BUSY);
		revoke(FREE);
		settle();
	}
	be_oneself();
	pair_end();
}

/* Half of what came is given on: by pieces, whatever was given as one. */
static void in_parts(void)
{
	begin();
	be(0);
	cut(BITS, FREE, 1);
	uint64_t base = address(FREE);
	EXPECT(give(FREE, FIRST + 1), 0);
	be(1);
	EXPECT(take(base + (1 << MEMORY_PIECE_BITS), MEMORY_PIECE_BITS, FREE), 0);
	expect_bytes(base, MEMORY_PIECE_BITS, MEMORY_PARKED, FIRST + 1);
	EXPECT(take(base, BITS, FREE + 1), SKERRY_BUSY); /* one half of it is taken: nothing changes */
	expect_bytes(base, MEMORY_PIECE_BITS, MEMORY_PARKED, FIRST + 1);
	be(0);
	/* the same for the giver: the other half stays meant for cluster 1 */
	EXPECT(take(base, BITS, FREE), SKERRY_BUSY);
	expect_bytes(base, MEMORY_PIECE_BITS, MEMORY_PARKED, FIRST + 1);
	EXPECT(take(base, MEMORY_PIECE_BITS, FREE), 0); /* taken back */
	be(1);
	EXPECT(take(base, MEMORY_PIECE_BITS, FREE + 1), SKERRY_BUSY);
	be_oneself();
	pair_end();
}

/* What is made of it, or of what it is made of, would still be the giver's. */
static void not_free(void)
{
	begin();
	be(0);
	uint64_t large = large_untyped(BITS + 1);
	EXPECT(call(large, UNTYPED_RETYPE, W(OBJECT_UNTYPED, BITS, FREE, 2), W(CNODE)), 0);
	uint64_t base = address(FREE);
	EXPECT(give(FREE, FIRST + 1), SKERRY_BUSY);
	EXPECT(give(FREE + 1, FIRST + 1), SKERRY_BUSY);
	EXPECT(give(large, FIRST + 1), slot_of(large)->cap.size_bits > MEMORY_MOVE_BITS_MAX ? SKERRY_BAD_ARGUMENT
	       : SKERRY_BUSY);
	delete(large);
	EXPECT(call(FREE, UNTYPED_RETYPE, W(OBJECT_ENDPOINT, 0, FREE + 2, 1), W(CNODE)), 0);
	EXPECT(give(FREE, FIRST + 1), SKERRY_BUSY);
	expect_bytes(base, BITS, MEMORY_OWNED, FIRST);
	delete(FREE + 2);
	EXPECT(give(FREE, FIRST + 1), 0);
	EXPECT(give(FREE + 1, FIRST + 1), 0);
	EXPECT(give(FREE + 1, FIRST + 1), SKERRY_BAD_CAP);
	be_oneself();
	pair_end();
}

static void refused_to_give(void)
{
	begin();
	be(0);
	cut(BITS, FREE, 1);
	static const uint64_t none[] = { 0, FIRST, FIRST + 2, UINT64_MAX, 1ull << 32 | (FIRST + 1) };
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		EXPECT(give(FREE, none[i]), SKERRY_BAD_ARGUMENT);
	EXPECT(give(CNODE, FIRST + 1), SKERRY_BAD_CAP);
	EXPECT(call(CONTROL, MEMORY_GIVE, W(FIRST + 1), NONE), SKERRY_BAD_CAP);
	EXPECT(call(CONTROL, MEMORY_GIVE, NONE, W(FREE)), SKERRY_TRUNCATED);
	copy(COPY, CONTROL, RIGHT_READ, 0);
	EXPECT(call(COPY, MEMORY_GIVE, W(FIRST + 1), W(FREE)), SKERRY_NO_RIGHTS);
	EXPECT(call(CONTROL, MEMORY_TAKE + 1, W(FIRST + 1), W(FREE)), SKERRY_BAD_LABEL);
	for (uint64_t slot = U; slot_of(slot)->cap.type; slot++) /* modules, small ones */
		if (slot_of(slot)->cap.flags || slot_of(slot)->cap.size_bits < MEMORY_PIECE_BITS)
			EXPECT(give(slot, FIRST + 1), SKERRY_BAD_ARGUMENT);
	/* a word that says that it is another's, or a kernel that has it not */
	uint64_t base = address(FREE);
	EXPECT(spoil(base, MEMORY_OWNED, FIRST, MEMORY_OWNED), true);
	EXPECT(give(FREE, FIRST + 1), SKERRY_BUSY);
	EXPECT(slot_of(FREE)->cap.type, OBJECT_UNTYPED);
	EXPECT(arch_direct_count(&machine->kernel, base, PIECES), PIECES);
	be_oneself();
	pair_end();
}

static void refused_to_take(void)
{
	begin();
	be(0);
	cut(BITS, FREE, 1);
	uint64_t base = address(FREE), outside = 5ull << MEMORY_PIECE_BITS;
	EXPECT(give(FREE, FIRST + 1), 0);
	be(1);
	EXPECT(take(base, BITS - 2, FREE), SKERRY_BAD_ARGUMENT);
	EXPECT(take(base, 64, FREE), SKERRY_BAD_ARGUMENT);
	EXPECT(take(base, UINT64_MAX, FREE), SKERRY_BAD_ARGUMENT);
	EXPECT(take(base, MEMORY_MOVE_BITS_MAX + 1, FREE), SKERRY_BAD_ARGUMENT);
	EXPECT(take(base + 4096, MEMORY_PIECE_BITS, FREE), SKERRY_BAD_ARGUMENT);
	EXPECT(take(base | 1ull << 47, BITS, FREE), SKERRY_BAD_ARGUMENT);
	EXPECT(take(-1ull << BITS, BITS, FREE), SKERRY_BAD_ARGUMENT);
	/* memory that was no cluster's at boot, and a word that says that it is parked: the table of homes says no */
	EXPECT(spoil(outside, MEMORY_NONE, 0, MEMORY_PARKED), true);
	EXPECT(take(outside, MEMORY_PIECE_BITS, FREE), SKERRY_BAD_ARGUMENT);
	memory_change(hosted_memory_control(), 5, memory_byte(MEMORY_PARKED, FIRST + 1), memory_byte(MEMORY_NONE, 0));
	/* this kernel's own, which a wild word says is parked */
	uint64_t own = address(large_untyped(BITS));
	EXPECT(spoil(own, MEMORY_OWNED, FIRST + 1, MEMORY_PARKED), true);
	EXPECT(take(own, MEMORY_PIECE_BITS, FREE), SKERRY_BUSY);
	EXPECT(take(arena_part(FIRST), MEMORY_PIECE_BITS, FREE), SKERRY_BUSY); /* the other cluster's */
	EXPECT(take(base, BITS, U), SKERRY_SLOT_FULL);
	EXPECT(take(base, BITS, 0), SKERRY_BAD_ARGUMENT);
	EXPECT(take(base, BITS, 1ull << ROOT_CNODE_BITS), SKERRY_BAD_ARGUMENT);
	EXPECT(call(CONTROL, MEMORY_TAKE, W(base, BITS, FREE), NONE), SKERRY_BAD_CAP);
	EXPECT(call(CONTROL, MEMORY_TAKE, W(base, BITS, FREE), W(VSPACE)), SKERRY_BAD_CAP);
	EXPECT(call(CONTROL, MEMORY_TAKE, W(base, BITS), W(CNODE)), SKERRY_TRUNCATED);
	copy(NODE, CNODE, RIGHT_READ, 0);
	EXPECT(call(CONTROL, MEMORY_TAKE, W(base, BITS, FREE), W(NODE)), SKERRY_NO_RIGHTS);
	copy(COPY, CONTROL, RIGHT_READ, 0);
	EXPECT(call(COPY, MEMORY_TAKE, W(base, BITS, FREE), W(CNODE)), SKERRY_NO_RIGHTS);
	expect_bytes(base, BITS, MEMORY_PARKED, FIRST + 1);
	EXPECT(slot_of(FREE)->cap.type, 0);
	EXPECT(take(base, BITS, FREE), 0);
	EXPECT(take(base, BITS, FREE + 1), SKERRY_BUSY);
	be_oneself();
	pair_end();
}

static void without_words(void)
{
	EXPECT(call(large_untyped(MEMORY_PIECE_BITS), MEMORY_GIVE, W(FIRST + 1), NONE), SKERRY_BAD_LABEL);
}

/* Whatever derives from the same, more than the kernel visits: neither the first made nor the last is nobody's. */
static void one_of_many(void)
{
	enum { SMALL_BITS = 12, SMALL_TIMES = 512 / RETYPE_COUNT_MAX + 1, FIRST_SMALL = FREE + 1, LAST = FREE + 1000 };
	begin();
	be(0);
	uint64_t large = large_untyped(BITS + 2);
	EXPECT(call(large, UNTYPED_RETYPE, W(OBJECT_UNTYPED, BITS, FREE, 1), W(CNODE)), 0);
	for (unsigned i = 0; i < SMALL_TIMES; i++)
		EXPECT(call(large, UNTYPED_RETYPE,
		            W(OBJECT_UNTYPED, SMALL_BITS, FIRST_SMALL + i * RETYPE_COUNT_MAX, RETYPE_COUNT_MAX),
		            W(CNODE)), 0);
	EXPECT(call(large, UNTYPED_RETYPE, W(OBJECT_UNTYPED, BITS, LAST, 1), W(CNODE)), 0);
	_Static_assert(SMALL_TIMES * RETYPE_COUNT_MAX > 512, "more than the kernel visits");
	EXPECT(give(FREE, FIRST + 1), SKERRY_BUSY);
	EXPECT(give(LAST, FIRST + 1), SKERRY_BUSY);
	expect_bytes(address(FREE), BITS, MEMORY_OWNED, FIRST);
	be_oneself();
	pair_end();
}

TESTS(memory_moves) = {
	{ "one piece of more than are looked through", one_of_many, 2 },
	{ "memory leaves and comes back", there_and_back, 2 },
	{ "it is taken in parts", in_parts, 2 },
	{ "memory that is not free", not_free, 2 },
	{ "what cannot be given", refused_to_give, 2 },
	{ "what cannot be taken", refused_to_take, 2 },
	{ "a cluster that controls none", without_words, 2 },
	{ 0 },
};
