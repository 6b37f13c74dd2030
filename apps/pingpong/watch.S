/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The watching thread: of the highest priority, it waits until a moment that
 * comes as soon as the thread it has interrupted goes on, so that an interrupt
 * is pending whenever the kernel could take one. The time from one wait to its
 * end is what the interrupted thread had in one piece, and what it takes to get
 * here and away again.
 *
 *     RBX  struct watch    R15  a notification that nobody signals    R13  SYS_WAIT
 *     R14  the clock before the wait
 */
#include "shared.h"

	.macro clock
	rdtsc
	shlq $32, %rdx
	orq %rdx, %rax
	.endm

	.text
	.globl watch_thread, waiting_thread
watch_thread:
	clock
	subq %r14, %rax
	incq WATCH_WAKES(%rbx)
	cmpq $0, WATCH_ACTIVE(%rbx)
	je 1f
	cmpq WATCH_LONGEST(%rbx), %rax
	jbe 1f
	movq %rax, WATCH_LONGEST(%rbx)
1:	clock
	movq %rax, %r14
	movq %rax, WATCH_BEFORE(%rbx)
	addq WATCH_DELAY(%rbx), %rax
	movq %rax, %rdx
	movq %r13, %rax
	movq %r15, %rdi
	xorl %esi, %esi
	syscall
	jmp watch_thread

/* Makes one system call with the registers it starts with, then rests: such threads are only waited for. */
/* R13: a system call that it makes after the first, of the capability R12; 0: none. */
waiting_thread:
	syscall
	movq %r13, %rax
	movq %r12, %rdi
	xorl %edx, %edx
	testq %rax, %rax
	jz 1f
	syscall
1:	pause
	jmp 1b

	.section .note.GNU-stack, "", @progbits
