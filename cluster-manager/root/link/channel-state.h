/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a channel, for channel.c. */
#pragma once

#include <skerry/machine_handshake.h>
#include "fragment.h"
#include "root.h"

enum link_state { LINK_STARTING, LINK_UP, LINK_DEAD };

struct channel {
	uint32_t peer;
	struct channel_side *mine, *theirs;
	void *ring_out, *ring_in;
	struct ring_end out, in;
	enum link_state state;
	uint64_t generation;   /* ours; what stands in the header may be overwritten */
	uint64_t seen;         /* the peer's generation we talk with; 0: none yet */
	uint64_t heartbeat;    /* as read last */
	uint64_t alive_at;     /* our TSC when it last changed */
	uint32_t silent_ticks; /* of our timer since then */
	/* that its watcher knows of (watch.h), which sees more than its heartbeat; null: it has none */
	const _Atomic uint32_t *life;
	struct handshake_manager handshake; /* with a peer in another machine */
	int doorbell;
	struct fragment *queue;
	uint32_t queue_head, queue_tail; /* free-running */
	uint32_t dropped;
	struct assembly *assembly;
	uint64_t said_since;   /* TSC at which the current SAY_MS began */
	uint32_t said, unsaid; /* lines since then; dropped messages without a line */
};

/*
 * A cluster that shows its life in a ledger takes it for the generation; of a channel to another machine the loader has
 * left what the peer has granted. Others count on in the header.
 */
static inline uint64_t own_generation(struct channel *c, struct channel_header *header, const struct root_channel *info)
{
	if (info->remote)
		return handshake_resume(&c->handshake, header, info->side);
	for (uint32_t i = 1; i < ROOT->ledger_count; i++)
		if (ROOT->ledger[i].cluster == c->peer && ROOT->life)
			return ROOT->life;
	return atomic_load_explicit(&c->mine->generation, memory_order_relaxed) + 1;
}
