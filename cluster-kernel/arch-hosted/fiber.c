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

enum { FIBER_STACK = 256 << 10 };

/*
 * The registers that a function keeps are on the stack while another fiber runs. Not swapcontext(): it asks the host
 * for the signal mask each time, which took two thirds of the time of what switches as often as the explorer does.
 */
void fiber_switch(void **from, void *to) __attribute__((visibility("hidden")));
void fiber_start(void **from, void *top, struct fiber *fiber) __attribute__((visibility("hidden")));
void fiber_enter(struct fiber *fiber) __attribute__((visibility("hidden"), noreturn, used));
#define KEEP "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n mov %rsp, (%rdi)\n"
asm(".pushsection .text\n"
    ".globl fiber_switch\n .hidden fiber_switch\n .type fiber_switch, @function\n"
    "fiber_switch:\n" KEEP " mov %rsi, %rsp\n"
    " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n"
    ".size fiber_switch, . - fiber_switch\n"
    ".globl fiber_start\n .hidden fiber_start\n .type fiber_start, @function\n"
    "fiber_start:\n .cfi_startproc\n .cfi_undefined %rip\n" KEEP " mov %rsi, %rsp\n mov %rdx, %rdi\n xor %ebp, %ebp\n"
    " call fiber_enter\n ud2\n .cfi_endproc\n"
    ".size fiber_start, . - fiber_start\n"
    ".popsection\n");

void fiber_enter(struct fiber *fiber)
{
	__sanitizer_finish_switch_fiber(0, &fiber->caller_stack, &fiber->caller_size);
	fiber->run(fiber->argument);
	abort();
}

void fiber_init(struct fiber *fiber, void (*run)(void *), void *argument)
{
	*fiber = (struct fiber){ .run = run, .argument = argument, .size = FIBER_STACK, .stack = malloc(FIBER_STACK) };
	if (!fiber->stack) {
		perror("making a core");
		abort();
	}
}

void fiber_free(struct fiber *fiber) { free(fiber->stack); }

static void fiber_swap(struct fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->caller_fake_stack, fiber->stack, fiber->size);
	if (fiber->at)
		fiber_switch(&fiber->caller, fiber->at);
	else
		fiber_start(&fiber->caller, (uint8_t *)fiber->stack + fiber->size, fiber);
	__sanitizer_finish_switch_fiber(fiber->caller_fake_stack, 0, 0);
}

/* From outside: what is on the stack now, and where. */
static void fiber_capture(struct fiber *fiber)
{
	struct fiber_mark *mark = fiber->mark;
	if (!mark->stack)
		mark->stack = malloc(fiber->size);
	if (!mark->stack)
		abort();
	mark->at = fiber->at;
	mark->size = (size_t)((uint8_t *)fiber->stack + fiber->size - (uint8_t *)mark->at);
	memcpy(mark->stack, mark->at, mark->size);
	fiber->mark = 0;
}

/* From outside: the stack is as it was at the mark. */
static void go_back(struct fiber *fiber)
{
	struct fiber_mark *mark = fiber->back;
	memcpy(mark->at, mark->stack, mark->size);
	fiber->at = mark->at;
	fiber->back = 0;
}

void fiber_resume(struct fiber *fiber)
{
	for (fiber_swap(fiber); fiber->mark || fiber->back; fiber_swap(fiber)) {
		if (fiber->mark)
			fiber_capture(fiber);
		else
			go_back(fiber);
	}
}

void fiber_yield(struct fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->fake_stack, fiber->caller_stack, fiber->caller_size);
	fiber_switch(&fiber->at, fiber->caller);
	__sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->caller_stack, &fiber->caller_size);
}

bool fiber_mark(struct fiber *fiber, struct fiber_mark *mark)
{
	mark->back = false;
	fiber->mark = mark;
	fiber_yield(fiber);
	return mark->back; /* yielded once, and resumed here as often as somebody goes back */
}

void fiber_back(struct fiber *fiber, struct fiber_mark *mark)
{
	mark->back = true;
	fiber->back = mark;
	fiber_yield(fiber);
	abort();
}
