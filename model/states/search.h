/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breadth-first search through the states of the tiny machine. A state is stored as its parent, the step that led to it
 * and the hash of its canonical form, in 16 bytes; 16 more are in a table of hashes that is at most half full. It is
 * made again by the steps of its path. Two states with one hash of 64 bits are taken for one: with 10^8 states that
 * happens with a probability of 3 in 10,000.
 *
 * Each level is explored by processes that share states and table. A process in which a rule is broken, or the kernel
 * crashes or does not return, ends: that is a find, and since all shorter paths have been tried, its path is a shortest
 * one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "step.h"

enum { SEARCH_PATH_MAX = 256, SEARCH_STEPS_MAX = 1 << 12 };

struct search_options {
	unsigned depth;    /* steps of the longest path */
	size_t states_max; /* room for so many states */
	unsigned seconds;  /* 0: no limit */
	unsigned jobs;
	bool pairs;        /* two runs of each path, whose programs have other secrets: pairs.h */
	const uint16_t *operation; /* the alphabet: numbers in operations[] */
	unsigned operations;
};

enum search_end { SEARCH_DEPTH, SEARCH_CLOSED, SEARCH_STATES, SEARCH_TIME, SEARCH_STOPPED, SEARCH_FOUND };

struct search_result {
	enum search_end end;
	unsigned depth;       /* levels that were explored wholly */
	size_t states, transitions, refused, checked, pairs;
	double seconds;
	unsigned path[SEARCH_PATH_MAX]; /* SEARCH_FOUND: steps */
	unsigned path_length;
};

/* `level` is called behind each level. */
void search_run(const struct search_options *options, struct search_result *result,
                void (*level)(const struct search_result *result, size_t new_states));
/* Asks the search to end; for signal handlers. */
void search_stop(void);
/* The step with this number, of an alphabet. Below search_steps(). */
struct step search_step(const struct search_options *options, unsigned number);
unsigned search_steps(const struct search_options *options);
/* Does the steps of a path from the first state, with every check. */
void search_replay(const struct search_options *options, const unsigned *path, unsigned length);
/* Returns bytes that a search needs for so many states. */
size_t search_bytes(size_t states);
