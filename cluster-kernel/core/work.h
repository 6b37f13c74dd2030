/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preemption points. An operation whose length a user chooses charges its work to the budget of its kernel entry. When
 * the budget is spent, the operation leaves the kernel consistent and returns KERNEL_AGAIN, and the thread restarts its
 * system call with the same registers. In between, interrupts are taken and other cores enter. Each entry does one unit
 * at least, so every call makes progress.
 *
 * Units are instructions, roughly.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "kernel.h"
#include "outcome.h"

enum {
	WORK_BUDGET = 6000,
	WORK_EMPTY_SLOT = 28,
	WORK_ZERO = 16, /* 64 bytes */
	WORK_COPY = 8, /* 64 bytes */
	WORK_COPY_CAP = 150,
	WORK_MAP = 200,
	WORK_OBJECT = 120,
	WORK_VSPACE = 1400, /* its kernel half */
	WORK_WAKE = 220,
	WORK_VISIT = 400, /* a call for a thread of another core */
	WORK_LOOK = 8, /* at a thread in a stack that one is taken out of */
	WORK_WAKE_TIMED = 300, /* of a thread with a deadline */
	WORK_CLEAR_DEADLINE = 120,
	WORK_DELETE = 250,
	WORK_UNMAP = 250,
};

static inline void work_begin(struct cpu *cpu)
{
	assert_entered();
	cpu->own.work_left = kernel_of(cpu)->work_budget;
}
/* Charges `cost`; the work proceeds in any case. */
static inline void work_done(struct cpu *cpu, int cost)
{
	kernel_assert(cost > 0);
	cpu->own.work_left -= cost;
}
/* The budget is exhausted. Callers do at least one unit first, so that each call makes progress. */
static inline bool work_over(const struct cpu *cpu) { return cpu->own.work_left <= 0; }
