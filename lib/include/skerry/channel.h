/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A channel's shared memory between two clusters, as its two cluster-managers
 * lay it out. Side 0 is the first end that the map names.
 *
 *     0                header
 *     4 KiB            ring  side 0's manager -> side 1's (CHANNEL_SLOTS slots)
 *     4 KiB + 64 KiB   ring  side 1's manager -> side 0's
 *     CHANNEL_PORTS    network ports (skerry/port.h), PORT_SIZE each, numbered from 0
 *
 * Ports are numbered in the map's order of the applications that have them,
 * whichever side has the switch.
 *
 * Doorbells: CHANNEL_BELL_MANAGER wakes the other side's manager. For port i,
 * 1 + 2i wakes the switch's side and 2 + 2i the stack's side.
 *
 * A side writes only its own half of the header. Hazard: one side starts again
 * while the other still uses the rings, which hold messages of the time before.
 * So a start is a handshake:
 *
 *     1. The side that starts withdraws its acknowledgement, then raises its
 *        `generation` (0: not started). It touches no ring: the peer may still
 *        be reading the last messages of the side's predecessor.
 *     2. The peer sees the generation change and gives up what is outstanding.
 *        It starts its ends of both rings anew at channel_position(), and only
 *        then acknowledges the new generation.
 *     3. The channel is up for a side once the peer has acknowledged the side's
 *        own generation. Until then it neither produces nor consumes.
 *
 * So a slot is written only after its reader has started anew, and no slot's old
 * content is ever taken for a message.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <skerry/ring.h>

#define CHANNEL_MAGIC 0x314c4e4843524b53ull
enum {
	/* of all that the two ends share, the kernels' doorbell areas (skerry/doorbell.h) included */
	CHANNEL_VERSION = 4,
	CHANNEL_SLOTS = 512,
	CHANNEL_RING = 0x10000,
	CHANNEL_RINGS = 0x1000,
	CHANNEL_PORTS = 0x200000, /* 2 MiB */
	CHANNEL_BELL_MANAGER = 0,
};

struct channel_side {
	_Alignas(64) _Atomic uint64_t magic;
	_Atomic uint32_t version;
	_Atomic uint32_t cluster;
	_Atomic uint64_t generation; /* 0: not started */
	_Atomic uint64_t heartbeat;  /* TSC of the last sign of life, at least every CHANNEL_HEARTBEAT_MS */
	_Atomic uint64_t acknowledged; /* the peer's generation that this side's rings belong to */
};
enum { CHANNEL_HEARTBEAT_MS = 100, CHANNEL_DEAD_MS = 1000 };

/* The words of the handshake between machines (skerry/machine_handshake.h); all zero in any other channel. */
struct machine_handshake {
	struct machine_handshake_side {
		_Alignas(64) _Atomic uint64_t hello; /* of the machine's loader: never 0, another at every start */
		_Atomic uint64_t answer;  /* the peer's hello that the loader has seen */
		_Atomic uint64_t joined;  /* the peer's hello that the manager has seen, which was running already */
		_Atomic uint64_t granted; /* the generation that the peer takes then */
		/* generation of this side, and of the peer, as the loader leaves them to the manager */
		_Atomic uint64_t own;
		_Atomic uint64_t peer;
	} side[2];
	_Alignas(64) _Atomic uint64_t cleared; /* side 1's hello, for which side 0's loader has cleared the memory */
};

struct channel_header {
	struct channel_side side[2];
	struct machine_handshake handshake;
};
_Static_assert(sizeof(struct channel_header) <= CHANNEL_RINGS, "before the rings");

/*
 * Where both rings start for this pair of generations. Generations only grow, so
 * that a later pair has a larger sum and its rings start at least 2^44 slots
 * farther on. At a million messages a second a ring would pass that distance in
 * half a year. The same position comes again after 2^20 starts.
 */
/*@ requires mine + theirs < 1 << 20;
  @ assigns \nothing;
  @ ensures bits: \result == (mine + theirs) * (1 << 44); */
static inline uint64_t channel_position(uint64_t mine, uint64_t theirs) { return (mine + theirs) << 44; }
