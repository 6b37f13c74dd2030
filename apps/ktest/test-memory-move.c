/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that leaves a cluster and comes to another (MEMORY_GIVE, MEMORY_TAKE). Each test leaves the memory where it
 * was. */
#include "ktest.h"
#include <skerry/memory_control.h>
#include <skerry/stubs.h>

enum { CONTROL = ROOT_SLOT_CLUSTER_CONTROL, PIECE = 1 << MEMORY_PIECE_BITS,
       FIRST_WORD = sizeof(struct memory_control) };

static uint64_t piece_count(void) { return ROOT->memory_size - FIRST_WORD; }
static uint8_t byte_at(uint64_t offset)
{
	return *((const uint8_t *)place(ROOT_MEMORY_VADDR + (offset & ~4095ull)) + (offset & 4095));
}
static uint8_t word_of(uint64_t paddr) { return byte_at(FIRST_WORD + (paddr >> MEMORY_PIECE_BITS)); }
static uint8_t home_of(uint64_t piece) { return byte_at(ROOT->memory_size + piece); }
static uint32_t neighbour(void) { return ROOT->controlled[0]; }

/* An untyped that the kernel made at boot, of which nothing is made: the smallest that moves and has so many bits. */
static const struct root_untyped *block_of(unsigned bits)
{
	const struct root_untyped *best = 0;
	for (unsigned i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind == ROOT_UNTYPED_ORDINARY && u->size_bits >= bits && u->size_bits <= MEMORY_MOVE_BITS_MAX &&
		    ROOT_SLOT_UNTYPED + i != source_untyped() && (!best || u->size_bits < best->size_bits))
			best = u;
	}
	check(best);
	return best;
}
static const struct root_untyped *block(void) { return block_of(MEMORY_PIECE_BITS); }
static uint64_t slot_of(const struct root_untyped *u) { return ROOT_SLOT_UNTYPED + (uint64_t)(u - ROOT->untyped); }

static int give(uint64_t untyped, uint64_t cluster)
{
	struct message m = { .word = { cluster } };
	IPC->caps[0] = untyped;
	return invoke(CONTROL, MEMORY_GIVE, 1, 1, &m);
}
static int take(uint64_t base, uint64_t bits, uint64_t to)
{
	struct message m = { .word = { base, bits, to } };
	IPC->caps[0] = ROOT_SLOT_CNODE;
	return invoke(CONTROL, MEMORY_TAKE, 1, 3, &m);
}

static void check_words(const struct root_untyped *u, enum memory_state state, uint32_t cluster)
{
	for (uint64_t at = 0; at < 1ull << u->size_bits; at += PIECE)
		check_eq(word_of(u->paddr + at), memory_byte(state, cluster));
}
static void check_unmoved(const struct root_untyped *u)
{
	check(!is_empty(slot_of(u)));
	check_words(u, MEMORY_OWNED, ROOT->cluster);
}

/* Maps the untyped's first 2 MiB; to its middle. */
static volatile uint64_t *use(const struct root_untyped *u, uint64_t frame)
{
	check_ok(untyped_retype(IPC, slot_of(u), OBJECT_FRAME_2M, 0, ROOT_SLOT_CNODE, frame, 1));
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, LARGE_WINDOW, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
	return place(LARGE_WINDOW + PIECE / 2);
}

TEST(comes_back, 1, NEEDS_NEIGHBOUR, "memory move: an untyped leaves and comes back, and what is made of it is zero")
{
	const struct root_untyped *u = block();
	for (unsigned times = 0; times < 3; times++) {
		uint64_t frame = slot();
		use(u, frame)[1] = 4711;
		check_ok(cnode_delete(ROOT_SLOT_CNODE, frame));
		check_ok(give(slot_of(u), neighbour()));
		check(is_empty(slot_of(u)));
		check_words(u, MEMORY_PARKED, neighbour());
		check_ok(take(u->paddr, u->size_bits, slot_of(u)));
		check_unmoved(u);
		check_eq(use(u, frame)[1], 0);
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, slot_of(u)));
	}
}

TEST(goes_to_peer, 1, NEEDS_NEIGHBOUR | NEEDS_PEER,
     "memory move: the other cluster takes it, writes it and gives it back")
{
	const struct root_untyped *u = block();
	for (unsigned times = 0; times < 3; times++) {
		check_ok(give(slot_of(u), neighbour()));
		check_eq(peer_ask(PEER_TAKE, u->paddr, u->size_bits), 0);
		check_words(u, MEMORY_OWNED, neighbour());
		check_error(take(u->paddr, u->size_bits, slot_of(u)), BUSY);
		check_eq(peer_ask(PEER_GIVE, ROOT->cluster, 0), 0);
		check_words(u, MEMORY_PARKED, ROOT->cluster);
		check_ok(take(u->paddr, u->size_bits, slot_of(u)));
		uint64_t frame = slot();
		check_eq(use(u, frame)[1], 0);
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, slot_of(u)));
	}
}

TEST(by_halves, 1, NEEDS_NEIGHBOUR, "memory move: what was given as one is taken by halves, which are given on")
{
	const struct root_untyped *u = block_of(MEMORY_PIECE_BITS + 1);
	unsigned bits = u->size_bits - 1;
	uint64_t half[] = { slot(), slot() };
	check_ok(give(slot_of(u), neighbour()));
	for (unsigned i = 0; i < 2; i++)
		check_ok(take(u->paddr + ((uint64_t)i << bits), bits, half[i]));
	check_error(take(u->paddr, u->size_bits, slot_of(u)), BUSY);
	for (unsigned i = 0; i < 2; i++)
		check_ok(give(half[i], neighbour()));
	check_ok(take(u->paddr, u->size_bits, slot_of(u)));
	check_unmoved(u);
}

TEST(move_twice, 1, NEEDS_NEIGHBOUR, "memory move: nothing is given twice, or taken twice")
{
	const struct root_untyped *u = block();
	uint64_t other = slot();
	check_error(take(u->paddr, u->size_bits, other), BUSY);
	check_ok(give(slot_of(u), neighbour()));
	check_error(give(slot_of(u), neighbour()), BAD_CAP);
	check_ok(take(u->paddr, u->size_bits, slot_of(u)));
	check_error(take(u->paddr, u->size_bits, other), BUSY);
	check_error(take(u->paddr, MEMORY_PIECE_BITS, other), BUSY);
	check(is_empty(other));
	check_unmoved(u);
}

TEST(move_in_use, 1, NEEDS_NEIGHBOUR,
     "memory move: BUSY while something is made of the untyped, or the untyped of another")
{
	const struct root_untyped *u = block();
	uint64_t made = slot();
	static const uint8_t types[] = { OBJECT_ENDPOINT, OBJECT_FRAME_2M, OBJECT_TCB, OBJECT_PAGE_TABLE };
	for (unsigned i = 0; i < sizeof(types); i++) {
		check_ok(untyped_retype(IPC, slot_of(u), types[i], 0, ROOT_SLOT_CNODE, made, 1));
		check_error(give(slot_of(u), neighbour()), BUSY);
		check_ok(cnode_delete(ROOT_SLOT_CNODE, made));
	}
	check_ok(untyped_retype(IPC, slot_of(u), OBJECT_UNTYPED, MEMORY_PIECE_BITS, ROOT_SLOT_CNODE, made, 1));
	check_error(give(made, neighbour()), BUSY);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, made));
	check_error(give(object(OBJECT_UNTYPED, MEMORY_PIECE_BITS), neighbour()), BUSY);
	check_error(give(test_memory(), neighbour()), BUSY);
	check_unmoved(u);
}

TEST(move_kinds, 1, NEEDS_NEIGHBOUR, "memory move: BAD_CAP or BAD_ARGUMENT for what is no memory that moves")
{
	const uint64_t none[] = { 0, slot(), ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, ROOT_SLOT_TCB, CONTROL,
	                          object(OBJECT_FRAME_2M, 0),
		                  object(OBJECT_ENDPOINT, 0), ~0ull };
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		check_error(give(none[i], neighbour()), BAD_CAP);
	for (unsigned i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind != ROOT_UNTYPED_ORDINARY || u->size_bits < MEMORY_PIECE_BITS ||
		    u->size_bits > MEMORY_MOVE_BITS_MAX)
			check_error(give(ROOT_SLOT_UNTYPED + i, neighbour()), BAD_ARGUMENT);
	}
	check_error(give(object(OBJECT_UNTYPED, MEMORY_PIECE_BITS - 1), neighbour()), BAD_ARGUMENT);
}

TEST(move_clusters, 1, NEEDS_NEIGHBOUR, "memory move: BAD_ARGUMENT for a cluster that is not there, or is this one")
{
	const struct root_untyped *u = block();
	const uint64_t none[] = { ROOT->cluster, BOOT_MAX_CLUSTERS - 1, BOOT_MAX_CLUSTERS, 255,
	                          1ull << 32 | neighbour(), ~0ull };
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		check_error(give(slot_of(u), none[i]), BAD_ARGUMENT);
	check_unmoved(u);
}

TEST(move_ranges, 1, NEEDS_NEIGHBOUR, "memory move: BAD_ARGUMENT for addresses and sizes that are none")
{
	const struct root_untyped *u = block();
	uint64_t to = slot(), end = piece_count() << MEMORY_PIECE_BITS;
	static const uint64_t bits[] = { 0, 12, MEMORY_PIECE_BITS - 1, MEMORY_MOVE_BITS_MAX + 1, 63, 64, 255,
	                                 1ull << 32 | MEMORY_PIECE_BITS, ~0ull };
	const uint64_t base[] = { u->paddr + 1, u->paddr + 4096, u->paddr + PIECE / 2, u->paddr | 1ull << 52,
	                          u->paddr | 1ull << 63,
		                  end, end + PIECE, -1ull << MEMORY_PIECE_BITS, ~0ull };
	check_ok(give(slot_of(u), neighbour()));
	for (unsigned i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		check_error(take(u->paddr, bits[i], to), BAD_ARGUMENT);
	for (unsigned i = 0; i < sizeof(base) / sizeof(base[0]); i++)
		check_error(take(base[i], MEMORY_PIECE_BITS, to), BAD_ARGUMENT);
	check(is_empty(to));
	check_words(u, MEMORY_PARKED, neighbour());
	check_ok(take(u->paddr, u->size_bits, slot_of(u)));
}

TEST(move_of_others, 1, NEEDS_NEIGHBOUR, "memory move: no piece of the machine that was not given can be taken")
{
	uint64_t to = slot();
	for (uint64_t piece = 0; piece < piece_count(); piece++)
		check_eq(-take(piece << MEMORY_PIECE_BITS, MEMORY_PIECE_BITS, to),
		         home_of(piece) ? SKERRY_BUSY : SKERRY_BAD_ARGUMENT);
	check(is_empty(to));
}

TEST(move_slots, 1, NEEDS_NEIGHBOUR, "memory move: SLOT_FULL, BAD_ARGUMENT and BAD_CAP for where the untyped is to go")
{
	const struct root_untyped *u = block();
	uint64_t bits = ROOT->cnode_bits, empty = slot();
	static const uint64_t nodes[] = { 0, ROOT_SLOT_TCB, ROOT_SLOT_VSPACE };
	check_ok(give(slot_of(u), neighbour()));
	check_error(take(u->paddr, u->size_bits, ROOT_SLOT_TCB), SLOT_FULL);
	check_error(take(u->paddr, u->size_bits, 0), BAD_ARGUMENT);
	check_error(take(u->paddr, u->size_bits, 1ull << bits), BAD_ARGUMENT);
	check_error(take(u->paddr, u->size_bits, ~0ull), BAD_ARGUMENT);
	for (unsigned i = 0; i < 3; i++) {
		struct message m = { .word = { u->paddr, u->size_bits, empty } };
		IPC->caps[0] = nodes[i];
		check_error(invoke(CONTROL, MEMORY_TAKE, i ? 1 : 0, 3, &m), BAD_CAP);
	}
	check_words(u, MEMORY_PARKED, neighbour());
	check_ok(take(u->paddr, u->size_bits, slot_of(u)));
}

TEST(move_rights, 1, NEEDS_NEIGHBOUR,
     "memory move: NO_RIGHTS without the right to write, of the control or of the CNode")
{
	const struct root_untyped *u = block();
	uint64_t readable = copy_of(CONTROL, RIGHT_READ), node = copy_of(ROOT_SLOT_CNODE, RIGHT_READ), to = slot();
	struct message m = { .word = { neighbour() } };
	IPC->caps[0] = slot_of(u);
	check_error(invoke(readable, MEMORY_GIVE, 1, 1, &m), NO_RIGHTS);
	check_ok(give(slot_of(u), neighbour()));
	m = (struct message){ .word = { u->paddr, u->size_bits, to } };
	IPC->caps[0] = ROOT_SLOT_CNODE;
	check_error(invoke(readable, MEMORY_TAKE, 1, 3, &m), NO_RIGHTS);
	m = (struct message){ .word = { u->paddr, u->size_bits, to } };
	IPC->caps[0] = node;
	check_error(invoke(CONTROL, MEMORY_TAKE, 1, 3, &m), NO_RIGHTS);
	check_ok(take(u->paddr, u->size_bits, slot_of(u)));
	check_unmoved(u);
}

TEST(move_short, 1, NEEDS_NEIGHBOUR, "memory move: TRUNCATED and BAD_LABEL")
{
	const struct root_untyped *u = block();
	struct message m = { .word = { neighbour() } };
	IPC->caps[0] = slot_of(u);
	check_error(invoke(CONTROL, MEMORY_GIVE, 1, 0, &m), TRUNCATED);
	m = (struct message){ .word = { neighbour() } };
	check_error(invoke(CONTROL, MEMORY_TAKE + 1, 1, 3, &m), BAD_LABEL);
	for (unsigned words = 0; words < 3; words++) {
		m = (struct message){ .word = { u->paddr, u->size_bits, slot() } };
		IPC->caps[0] = ROOT_SLOT_CNODE;
		check_error(invoke(CONTROL, MEMORY_TAKE, 1, words, &m), TRUNCATED);
	}
	m = (struct message){ .word = { neighbour() } };
	check_error(invoke(ROOT_SLOT_CNODE, MEMORY_GIVE, 0, 1, &m), BAD_LABEL);
	check_unmoved(u);
}

/* Gives and takes what it was told, or finds it gone: never both have it. */
static void robber(struct worker *self)
{
	while (!self->out[0]) {
		struct message m = { .word = { self->arg[0], MEMORY_PIECE_BITS, self->arg[1] } };
		self->ipc->caps[0] = ROOT_SLOT_CNODE;
		if (!invoke(CONTROL, MEMORY_TAKE, 1, 3, &m)) {
			self->count++;
			m = (struct message){ .word = { neighbour() } };
			self->ipc->caps[0] = self->arg[1];
			check_ok(invoke(CONTROL, MEMORY_GIVE, 1, 1, &m));
		}
	}
}

TEST(move_race, 2, NEEDS_NEIGHBOUR, "memory move: of two cores that take one piece, one gets it, again and again")
{
	enum { TIMES = 50 };
	const struct root_untyped *u = block();
	check_ok(give(slot_of(u), neighbour()));
	struct worker *other = worker_start(robber, 50, last_core(), u->paddr, slot());
	uint64_t own = slot();
	for (unsigned done = 0; done < TIMES; pause_main()) {
		int error = take(u->paddr, MEMORY_PIECE_BITS, own);
		if (error) {
			check_error(error, BUSY);
			continue;
		}
		check_eq(word_of(u->paddr), memory_byte(MEMORY_OWNED, ROOT->cluster));
		check_ok(give(own, neighbour()));
		done++;
	}
	until(other->count >= TIMES);
	other->out[0] = 1;
	until(other->done);
	check_ok(take(u->paddr, u->size_bits, slot_of(u)));
	check_unmoved(u);
}
