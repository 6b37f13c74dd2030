/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts that take turns in one thread: the cores of a hosted machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A place to come back to; `stack` is what was there, from the place up. */
struct fiber_mark {
	void *at, *stack;
	size_t size;
	bool back;
};

struct fiber {
	void *at, *caller; /* the stack pointer of each while the other runs; `at` is null before the start */
	void *stack;
	size_t size;
	void (*run)(void *);
	void *argument;
	/* for the address sanitizer, which must know which stack is in use */
	void *fake_stack, *caller_fake_stack;
	const void *caller_stack;
	size_t caller_size;
	struct fiber_mark *mark; /* the one that it asks for */
	struct fiber_mark *back; /* where it is to go on, null: where it yielded */
};

/* `run` never returns. */
void fiber_init(struct fiber *fiber, void (*run)(void *), void *argument);
void fiber_free(struct fiber *fiber);
/* From outside: goes on in the fiber until it calls fiber_yield(). */
void fiber_resume(struct fiber *fiber);
/* From inside: back to the caller that resumed it. */
void fiber_yield(struct fiber *fiber);
/*
 * From inside: false. After fiber_back() it returns once more, with registers and stack as they were: true. A mark is
 * zeroed before its first use, and keeps memory. Not under the address sanitizer.
 */
bool fiber_mark(struct fiber *fiber, struct fiber_mark *mark);
_Noreturn void fiber_back(struct fiber *fiber, struct fiber_mark *mark);
