/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pair that calls and answers for ever, with a delay before each of both.
 * Position-independent, no stack; each runs in an address space of its own.
 *
 * Or one thread that takes a ticket lock which all cores share, after a delay.
 *
 *     RBX  this core's block (shared.h)      R13  the number of the system call
 *     R14  place in the list of delays       R15  its capability    RBP  its message info
 */
#include "shared.h"

	/* ECX is the next delay, and added to the sum. */
	.macro draw list, sum
	movl \list(%rbx, %r14, 4), %ecx
	incl %r14d
	andl $(SCALE_COUNT - 1), %r14d
	addq %rcx, \sum(%rbx)
	.endm

	/* ECX turns of SCALE_UNIT instructions. */
	.macro delay_instructions
	jrcxz 2f
1:	.rept SCALE_UNIT - 2
	nop
	.endr
	decl %ecx
	jnz 1b
2:
	.endm

	/* ECX cycles of the TSC. */
	.macro delay_cycles
	rdtsc
	shlq $32, %rdx
	orq %rdx, %rax
	addq %rax, %rcx
1:	rdtsc
	shlq $32, %rdx
	orq %rdx, %rax
	cmpq %rcx, %rax
	jb 1b
	.endm

	.macro call
	movl %r13d, %eax
	movq %r15, %rdi
	movq %rbp, %rsi
	syscall
	.endm

	.macro client delay
	draw SCALE_DELAYS, SCALE_DRAWN
	\delay
	call
	orl %eax, SCALE_ERRORS(%rbx)
	count_round
	.endm

	/* And signals after the last one. */
	.macro count_round
	movq SCALE_ROUNDS(%rbx), %rcx
	incq %rcx
	movq %rcx, SCALE_ROUNDS(%rbx)
	cmpq SCALE_SIGNAL_AT(%rbx), %rcx
	jne 3f
	movq SCALE_SIGNAL(%rbx), %rax
	movq SCALE_SIGNAL + 8(%rbx), %rdi
	syscall
3:
	.endm

	.macro server delay
	orl %eax, SCALE_SERVER_ERRORS(%rbx)
	draw SCALE_SERVER_DELAYS, SCALE_SERVER_DRAWN
	\delay
	movl %r13d, %eax
	movq %r15, %rdi
	movq %rbp, %rsi
	.endm

	.section .rodata
	.balign 64
	.globl scale_start, scale_end, scale_client, scale_server, scale_client_cycles, scale_server_cycles, scale_section
scale_start:

scale_client:
	client delay_instructions
	jmp scale_client

	/* Starts with RAX, RDI set for its first receive; R12 its reply object. */
4:	server delay_instructions
scale_server:
	syscall
	jmp 4b

scale_client_cycles:
	client delay_cycles
	jmp scale_client_cycles

5:	server delay_cycles
scale_server_cycles:
	syscall
	jmp 5b

	/* R12 the lock, R15 turns of the waiting loop in its section. */
scale_section:
	draw SCALE_DELAYS, SCALE_DRAWN
	delay_instructions
	movl $1, %eax
	lock xaddl %eax, SCALE_NEXT(%r12)
6:	cmpl %eax, SCALE_SERVING(%r12)
	je 7f
	pause
	jmp 6b
7:	movl %r15d, %ecx
	delay_instructions
	incl SCALE_SERVING(%r12)
	count_round
	jmp scale_section
scale_end:

	.section .note.GNU-stack, "", @progbits
