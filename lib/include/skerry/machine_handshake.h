/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handshake of the two ends of a channel between machines (struct machine_handshake). Neither end knows when the
 * other machine was switched on, and bytes of an earlier run or a former life are still in that memory.
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
 *                 again, and both repeat the handshake.
 *     running     its manager finds a hello that its loader has not answered:
 *                 the peer's former life is over. It grants the next
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
struct handshake_loader {
	struct channel_header *header;
	uint64_t size;     /* of the memory that begins with the header */
	uint32_t side;
	uint64_t hello;    /* ours */
	uint64_t answered; /* the peer's hello that was seen last */
	uint64_t peer;     /* the peer's hello that the handshake was completed with */
	uint64_t own_generation, peer_generation;
	bool is_done, has_joined;
};

static inline uint64_t handshake_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}
static inline void handshake_store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* 0 says that a side has not started. */
static inline uint64_t handshake_generation(uint64_t generation) { return generation ? generation : 1; }

/*
 * Hazard: ABA. A clock that repeats itself after a restart gives numbers again: one that stands where the peer has
 * answered a former life would be taken for an answer to this one.
 */
static inline bool handshake_is_used(const struct handshake_loader *l, uint64_t hello)
{
	const struct machine_handshake *m = &l->header->handshake;

	return hello == 0 || hello == handshake_load(&m->side[l->side].hello) ||
	       hello == handshake_load(&m->side[!l->side].answer) ||
	       hello == handshake_load(&m->side[!l->side].joined) || hello == handshake_load(&m->cleared);
}

/* `fresh`: a number that is unlikely to have been there. */
static inline void handshake_hello(struct handshake_loader *l, uint64_t fresh)
{
	struct machine_handshake_side *mine = &l->header->handshake.side[l->side];

	while (handshake_is_used(l, fresh))
		fresh++;
	l->hello = fresh;
	l->answered = 0;
	l->is_done = l->has_joined = false;
	atomic_store_explicit(&mine->answer, 0, memory_order_relaxed);
	atomic_store_explicit(&mine->joined, 0, memory_order_relaxed);
	atomic_store_explicit(&mine->granted, 0, memory_order_relaxed);
	handshake_store(&mine->hello, l->hello);
}

/* Clears the memory, but for the words of the handshake. */
static inline void handshake_clear(struct handshake_loader *l)
{
	const size_t from = offsetof(struct channel_header, handshake), to = sizeof(struct channel_header);

	memset((void *)l->header, 0, from);
	memset((char *)l->header + to, 0, l->size - to);
}

static inline void handshake_join(struct handshake_loader *l, uint64_t hello)
{
	const struct machine_handshake_side *theirs = &l->header->handshake.side[!l->side];
	const struct channel_side *peer = &l->header->side[!l->side];

	if (l->is_done && l->peer == hello)
		return;
	l->is_done = l->has_joined = true;
	l->peer = hello;
	l->own_generation = handshake_generation(atomic_load_explicit(&theirs->granted, memory_order_relaxed));
	l->peer_generation = handshake_generation(atomic_load_explicit(&peer->generation, memory_order_relaxed));
}

/* Both are in their loaders. */
static inline void handshake_restart(struct handshake_loader *l, uint64_t hello)
{
	struct machine_handshake *m = &l->header->handshake;

	l->has_joined = false;
	l->is_done = l->side == 0 || handshake_load(&m->cleared) == l->hello;
	if (!l->is_done)
		return;
	if (l->side == 0) {
		handshake_clear(l);
		handshake_store(&m->cleared, hello);
	}
	l->peer = hello;
	l->own_generation = l->peer_generation = 1;
}

/* Answers the peer's hello. Returns whether the handshake is complete, with the life that the peer is in now. */
static inline bool handshake_poll(struct handshake_loader *l)
{
	struct machine_handshake_side *mine = &l->header->handshake.side[l->side];
	const struct machine_handshake_side *theirs = &l->header->handshake.side[!l->side];
	uint64_t hello = handshake_load(&theirs->hello);

	if (hello != l->answered)
		handshake_store(&mine->answer, hello);
	l->answered = hello;
	if (handshake_load(&theirs->joined) == l->hello) {
		handshake_join(l, hello);
		return true;
	}
	if (l->is_done && l->peer == hello)
		return true;
	l->is_done = false;
	if (handshake_load(&theirs->answer) == l->hello && handshake_load(&theirs->hello) == hello)
		handshake_restart(l, hello);
	return l->is_done;
}

/* Stores the result for the manager. The loader polls no more. */
static inline void handshake_finish(const struct handshake_loader *l)
{
	struct machine_handshake_side *mine = &l->header->handshake.side[l->side];

	handshake_store(&mine->own, l->own_generation);
	handshake_store(&mine->peer, l->peer_generation);
	handshake_store(&mine->answer, l->peer);
}

/* A manager's private view. */
struct handshake_manager {
	struct machine_handshake_side *mine;
	const struct machine_handshake_side *theirs; /* null: the peer is in this machine */
	uint64_t hello;    /* ours */
	uint64_t answered; /* the peer's hello that is known */
	uint64_t expected; /* the peer's only generation that is taken */
};

/* Continues from the loader's result. Returns our own generation. */
static inline uint64_t handshake_resume(struct handshake_manager *m, struct channel_header *header, uint32_t side)
{
	m->mine = &header->handshake.side[side];
	m->theirs = &header->handshake.side[!side];
	m->hello = handshake_load(&m->mine->hello);
	m->answered = handshake_load(&m->mine->answer);
	m->expected = handshake_generation(handshake_load(&m->mine->peer));
	return handshake_generation(handshake_load(&m->mine->own));
}

/* Returns whether the peer's machine has been started again. */
static inline bool handshake_is_requested(const struct handshake_manager *m)
{
	return m->theirs && handshake_load(&m->theirs->hello) != m->answered;
}

/* Lets the peer join. The rest of our half of the header must have been written before. */
static inline void handshake_grant(struct handshake_manager *m)
{
	uint64_t hello = handshake_load(&m->theirs->hello);

	m->answered = hello;
	m->expected = handshake_generation(m->expected + 1);
	atomic_store_explicit(&m->mine->hello, m->hello, memory_order_relaxed);
	atomic_store_explicit(&m->mine->granted, m->expected, memory_order_relaxed);
	handshake_store(&m->mine->joined, hello);
}

/* Returns whether the peer's generation is the expected one. */
static inline bool handshake_expects(const struct handshake_manager *m, uint64_t generation)
{
	return !m->theirs || generation == m->expected;
}

/* Returns whether another party has overwritten this side's words. */
static inline bool handshake_corrupted(const struct handshake_manager *m)
{
	return m->theirs && atomic_load_explicit(&m->mine->hello, memory_order_relaxed) != m->hello;
}
