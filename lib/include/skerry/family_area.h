/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that all processes of a family share (`processes` in the map; process.h), at PROCESS_FAMILY_VADDR in each
 * of them: open files of volumes (family_files.h), and rings of bytes for pipes and socket pairs. Rings are not copied
 * at a fork: a ring's `ends` has a bit for each process that reads, and one for each that writes. The manager sets a
 * child's bits when it is forked, and takes those of a process that has ended, however it ended.
 *
 * A process changes a ring under its lock, which names the place of its holder. A transfer copies the bytes first and
 * stores `head` or `tail` last, so a process that ends within a transfer has made none: the manager frees its lock, and
 * nothing else is to be repaired.
 *
 * Hazard: a lost wake-up. Whoever changes a ring sets a bit of `changed` for each process that has the ring, and
 * signals its notification where that bit was clear. A process clears the word and looks at its rings before it sleeps.
 *
 * The processes of a family trust each other with what is in here: one that writes nonsense makes others read wrong
 * bytes, or wait for a lock for ever, but no access leaves the area. The manager uses nothing of it as an index.
 */
#pragma once

#include <stdint.h>
#include <skerry/family_files.h>
#include <skerry/family_word.h>
#include <skerry/process.h>

enum {
	FAMILY_AREA_SIZE = 0x200000,
	FAMILY_RING_SIZE = 16384,
	FAMILY_RINGS = FAMILY_AREA_SIZE / FAMILY_RING_SIZE - 3, /* the first rings' places have what is below */
	FAMILY_WRITER = 32, /* the first place's bit as a writer in `ends`; as a reader: 0 */
};
enum { FAMILY_LOOK = 1, FAMILY_RUNG = 2 };            /* in `changed`: the second when it was signalled, too */
enum { FAMILY_READ_SHUT = 1, FAMILY_WRITE_SHUT = 2 }; /* in `shut`, by shutdown() of a socket */

struct family_ring {
	_Atomic uint64_t ends;   /* 0: nobody has it, it is free */
	_Atomic uint64_t lock;   /* 1 + place of its holder; 0: free */
	_Atomic uint64_t shut;
	_Atomic uint64_t head, tail; /* bytes written and read so far */
	uint64_t reserved[3];
};

struct family_area {
	_Atomic uint64_t changed[FAMILY_WRITER]; /* by place */
	struct family_ring ring[FAMILY_RINGS];
	_Alignas(64) struct family_files files;
	_Alignas(FAMILY_RING_SIZE) char bytes[FAMILY_RINGS][FAMILY_RING_SIZE];
};
_Static_assert(sizeof(struct family_ring) == 64, "one cache line");
_Static_assert(sizeof(struct family_area) == FAMILY_AREA_SIZE, "one frame of 2 MiB");
_Static_assert((int)PROCESS_MEMBERS <= (int)FAMILY_WRITER, "a bit for each process");

static inline uint64_t family_reader(uint32_t place) { return 1ull << place; }
static inline uint64_t family_writer(uint32_t place) { return 1ull << (FAMILY_WRITER + place); }
/* Returns the places that have a ring. */
static inline uint32_t family_places(uint64_t ends) { return (uint32_t)(ends | ends >> FAMILY_WRITER); }

/* Gives the child `to` all ends that its parent has, which waits in its fork. */
static inline void family_area_inherit(struct family_area *area, uint32_t from, uint32_t to)
{
	for (unsigned i = 0; i < FAMILY_RINGS; i++) {
		const uint64_t ends = family_get(&area->ring[i].ends);
		const uint64_t added = (ends & family_reader(from) ? family_reader(to) : 0) |
		                       (ends & family_writer(from) ? family_writer(to) : 0);
		if (added)
			family_or(&area->ring[i].ends, added);
	}
	family_files_inherit(&area->files, from, to);
	family_set(&area->changed[to], FAMILY_LOOK);
}

/*
 * Takes all ends and the lock of a process none of whose threads runs any more. Returns the places that are to be
 * signalled: they look at the rings that they shared with it, or for locks of files.
 */
static inline uint32_t family_area_leave(struct family_area *area, uint32_t place)
{
	const uint64_t own = family_reader(place) | family_writer(place);
	uint32_t places = family_files_leave(&area->files, place);
	for (unsigned i = 0; i < FAMILY_RINGS; i++) {
		struct family_ring *ring = &area->ring[i];
		family_replace(&ring->lock, place + 1, 0);
		if (family_get(&ring->ends) & own)
			places |= family_places(family_and(&ring->ends, ~own) & ~own);
	}
	for (uint32_t i = 0; i < PROCESS_MEMBERS; i++)
		if (places >> i & 1)
			family_or(&area->changed[i], FAMILY_LOOK | FAMILY_RUNG);
	return places;
}
