/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts that take turns in one thread: the cores of a hosted machine. */
#pragma once

#include <stddef.h>
#include <ucontext.h>

struct fiber {
	ucontext_t context, caller;
	void *stack;
	size_t size;
	void (*run)(void *);
	void *argument;
	/* for the address sanitizer, which must know which stack is in use */
	void *fake_stack, *caller_fake_stack;
	const void *caller_stack;
	size_t caller_size;
};

/* `run` never returns. */
void fiber_init(struct fiber *fiber, void (*run)(void *), void *argument);
void fiber_free(struct fiber *fiber);
/* From outside: goes on in the fiber until it calls fiber_yield(). */
void fiber_resume(struct fiber *fiber);
/* From inside: back to whoever resumed it. */
void fiber_yield(struct fiber *fiber);
