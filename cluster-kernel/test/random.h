/* SPDX-License-Identifier: BSD-2-Clause */
/* Long sequences of system calls, interrupts and address uses, valid and invalid, drawn from a source of numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct source {
	uint64_t state;            /* of the generator, when there are no bytes */
	const uint8_t *data;       /* else numbers come from here until they end */
	uint64_t size, used;
};

/* Below `count`. */
unsigned draw(struct source *source, unsigned count);
bool source_ended(const struct source *source);
/* Up to `steps` steps on a fresh machine, kernel_check() after each. Fewer when no thread is left to make calls. */
unsigned random_run(struct source *source, unsigned cores, unsigned steps, uint64_t seed);
/* What the run did, on stderr, step by step. */
extern bool random_verbose;
