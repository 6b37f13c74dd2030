/* SPDX-License-Identifier: BSD-2-Clause */
#include "fiber.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#else
static void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size)
{
	(void)save, (void)bottom, (void)size;
}
static void __sanitizer_finish_switch_fiber(void *fake_stack, const void **bottom, size_t *size)
{
	(void)fake_stack, (void)bottom, (void)size;
}
#endif

enum { STACK_SIZE = 256 << 10 };

static void enter(unsigned high, unsigned low)
{
	struct fiber *fiber = (struct fiber *)((uintptr_t)high << 32 | low);
	__sanitizer_finish_switch_fiber(0, &fiber->caller_stack, &fiber->caller_size);
	fiber->run(fiber->argument);
	abort();
}

void fiber_init(struct fiber *fiber, void (*run)(void *), void *argument)
{
	*fiber = (struct fiber){ .run = run, .argument = argument, .size = STACK_SIZE, .stack = malloc(STACK_SIZE) };
	if (!fiber->stack || getcontext(&fiber->context)) {
		perror("making a core");
		abort();
	}
	fiber->context.uc_stack.ss_sp = fiber->stack;
	fiber->context.uc_stack.ss_size = fiber->size;
	/* makecontext passes ints */
	makecontext(&fiber->context, (void (*)(void))enter, 2, (unsigned)((uintptr_t)fiber >> 32), (unsigned)(uintptr_t)fiber);
}

void fiber_free(struct fiber *fiber) { free(fiber->stack); }

/* From outside: the stack is as it was at the mark. */
static void go_back(struct fiber *fiber)
{
	struct fiber_mark *mark = fiber->back;
	memcpy((uint8_t *)fiber->stack + fiber->size - mark->size, mark->stack, mark->size);
	fiber->context = mark->context;
	fiber->back = 0;
}

static void resume(struct fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->caller_fake_stack, fiber->stack, fiber->size);
	swapcontext(&fiber->caller, &fiber->context);
	__sanitizer_finish_switch_fiber(fiber->caller_fake_stack, 0, 0);
}

void fiber_resume(struct fiber *fiber)
{
	for (resume(fiber); fiber->back; resume(fiber))
		go_back(fiber);
}

void fiber_yield(struct fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->fake_stack, fiber->caller_stack, fiber->caller_size);
	swapcontext(&fiber->context, &fiber->caller);
	__sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->caller_stack, &fiber->caller_size);
}

bool fiber_mark(struct fiber *fiber, struct fiber_mark *mark)
{
	mark->back = false;
	getcontext(&mark->context);
	if (mark->back) { /* the second time */
		__sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->caller_stack, &fiber->caller_size);
		return true;
	}
	const uint8_t *place = (const uint8_t *)mark->context.uc_mcontext.gregs[REG_RSP];
	if (!mark->stack)
		mark->stack = malloc(fiber->size);
	if (!mark->stack)
		abort();
	mark->size = (const uint8_t *)fiber->stack + fiber->size - place;
	memcpy(mark->stack, place, mark->size);
	return false;
}

void fiber_back(struct fiber *fiber, struct fiber_mark *mark)
{
	mark->back = true;
	fiber->back = mark;
	fiber_yield(fiber);
	abort();
}
