/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the two ends of a channel between machines meet (struct channel_meeting).
 * Nothing says when the other machine was switched on, and what an earlier run
 * or a former life left is still in that memory.
 *
 * A loader writes a *hello*, a number that was not there before, and waits. The
 * peer is in one of three states:
 *
 *     off         nothing happens until it is switched on.
 *     in its loader   each answers the other's hello. The side that finds its
 *                 own hello answered knows that the other one is here now and
 *                 has seen it. Side 0 clears the memory for both, and both
 *                 begin with generation 1. A loader that still waits for a third
 *                 machine goes on looking: a peer with another hello was started
 *                 again, and both meet once more.
 *     running     its manager finds a hello that is not the one its loader has
 *                 met: the peer's former life is over. It grants the next
 *                 generation, one more than the last that it knows of, says
 *                 `joined`, and takes no other generation from then on. Nothing
 *                 is cleared, as the manager uses that memory.
 *
 * Hazard: bytes of a former life. Rings begin at channel_position(), which
 * depends on the sum of the generations. That of a pair of lives is larger than
 * that of any earlier pair since the memory was cleared: the granting side
 * counts privately, and its loader has left it the peer's generation.
 *
 * Neither end believes the other: each word of the peer's half decides only
 * which life of the peer is talked to. Each side writes its own half alone. A
 * manager that finds its own hello changed knows that the peer went wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <skerry/channel.h>

/* A loader's view of one channel. */
struct meeting_loader {
	struct channel_header *header;
	uint64_t size;     /* of the memory that begins with the header */
	uint32_t side;
	uint64_t hello;    /* ours */
	uint64_t answered; /* the peer's hello that was seen last */
	uint64_t peer;     /* that was met */
	uint64_t own_generation, peer_generation;
	bool is_met, has_joined;
};

static inline uint64_t meeting_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}
static inline void meeting_store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* 0 says that a side has not started. */
static inline uint64_t meeting_generation(uint64_t generation) { return generation ? generation : 1; }

/*
 * Hazard: ABA. A clock that repeats itself after a restart gives numbers again: one that stands where the peer has
 * answered a former life would be taken for an answer to this one.
 */
static inline bool meeting_is_used(const struct meeting_loader *l, uint64_t hello)
{
	const struct channel_meeting *m = &l->header->meeting;

	return hello == 0 || hello == meeting_load(&m->side[l->side].hello) ||
	       hello == meeting_load(&m->side[!l->side].answer) ||
	       hello == meeting_load(&m->side[!l->side].joined) || hello == meeting_load(&m->cleared);
}

/* `fresh`: a number that is unlikely to have been there. */
static inline void meeting_say_hello(struct meeting_loader *l, uint64_t fresh)
{
	struct channel_meeting_side *mine = &l->header->meeting.side[l->side];

	while (meeting_is_used(l, fresh))
		fresh++;
	l->hello = fresh;
	l->answered = 0;
	l->is_met = l->has_joined = false;
	atomic_store_explicit(&mine->answer, 0, memory_order_relaxed);
	atomic_store_explicit(&mine->joined, 0, memory_order_relaxed);
	atomic_store_explicit(&mine->granted, 0, memory_order_relaxed);
	meeting_store(&mine->hello, l->hello);
}

/* All but the words by which both sides meet. */
static inline void meeting_clear(struct meeting_loader *l)
{
	const size_t from = offsetof(struct channel_header, meeting), to = sizeof(struct channel_header);

	memset((void *)l->header, 0, from);
	memset((char *)l->header + to, 0, l->size - to);
}

static inline void meeting_join(struct meeting_loader *l, uint64_t hello)
{
	const struct channel_meeting_side *theirs = &l->header->meeting.side[!l->side];
	const struct channel_side *peer = &l->header->side[!l->side];

	if (l->is_met && l->peer == hello)
		return;
	l->is_met = l->has_joined = true;
	l->peer = hello;
	l->own_generation = meeting_generation(atomic_load_explicit(&theirs->granted, memory_order_relaxed));
	l->peer_generation = meeting_generation(atomic_load_explicit(&peer->generation, memory_order_relaxed));
}

/* Both are in their loaders. */
static inline void meeting_begin_anew(struct meeting_loader *l, uint64_t hello)
{
	struct channel_meeting *m = &l->header->meeting;

	l->has_joined = false;
	l->is_met = l->side == 0 || meeting_load(&m->cleared) == l->hello;
	if (!l->is_met)
		return;
	if (l->side == 0) {
		meeting_clear(l);
		meeting_store(&m->cleared, hello);
	}
	l->peer = hello;
	l->own_generation = l->peer_generation = 1;
}

/* Returns whether the peer has been met, and is the one that was met. */
static inline bool meeting_look(struct meeting_loader *l)
{
	struct channel_meeting_side *mine = &l->header->meeting.side[l->side];
	const struct channel_meeting_side *theirs = &l->header->meeting.side[!l->side];
	uint64_t hello = meeting_load(&theirs->hello);

	if (hello != l->answered)
		meeting_store(&mine->answer, hello);
	l->answered = hello;
	if (meeting_load(&theirs->joined) == l->hello) {
		meeting_join(l, hello);
		return true;
	}
	if (l->is_met && l->peer == hello)
		return true;
	l->is_met = false;
	if (meeting_load(&theirs->answer) == l->hello && meeting_load(&theirs->hello) == hello)
		meeting_begin_anew(l, hello);
	return l->is_met;
}

/* Leaves to the manager what it has to know. The loader looks no more. */
static inline void meeting_leave(const struct meeting_loader *l)
{
	struct channel_meeting_side *mine = &l->header->meeting.side[l->side];

	meeting_store(&mine->own, l->own_generation);
	meeting_store(&mine->peer, l->peer_generation);
	meeting_store(&mine->answer, l->peer);
}

/* A manager's view, private from its start on. */
struct meeting_manager {
	struct channel_meeting_side *mine;
	const struct channel_meeting_side *theirs; /* null: the peer is in this machine */
	uint64_t hello;    /* ours */
	uint64_t answered; /* the peer's hello that is known */
	uint64_t expected; /* the peer's only generation that is taken */
};

/* Returns our own generation. */
static inline uint64_t meeting_manage(struct meeting_manager *m, struct channel_header *header, uint32_t side)
{
	m->mine = &header->meeting.side[side];
	m->theirs = &header->meeting.side[!side];
	m->hello = meeting_load(&m->mine->hello);
	m->answered = meeting_load(&m->mine->answer);
	m->expected = meeting_generation(meeting_load(&m->mine->peer));
	return meeting_generation(meeting_load(&m->mine->own));
}

/* Whether the peer's machine has been started again. */
static inline bool meeting_knocks(const struct meeting_manager *m)
{
	return m->theirs && meeting_load(&m->theirs->hello) != m->answered;
}

/* Lets it join. All that our half of the header says of this side stands there already. */
static inline void meeting_grant(struct meeting_manager *m)
{
	uint64_t hello = meeting_load(&m->theirs->hello);

	m->answered = hello;
	m->expected = meeting_generation(m->expected + 1);
	atomic_store_explicit(&m->mine->hello, m->hello, memory_order_relaxed);
	atomic_store_explicit(&m->mine->granted, m->expected, memory_order_relaxed);
	meeting_store(&m->mine->joined, hello);
}

/* Whether it may be talked to. */
static inline bool meeting_expects(const struct meeting_manager *m, uint64_t generation)
{
	return !m->theirs || generation == m->expected;
}

/* Whether somebody else has written what only this side writes. */
static inline bool meeting_meddled(const struct meeting_manager *m)
{
	return m->theirs && atomic_load_explicit(&m->mine->hello, memory_order_relaxed) != m->hello;
}
