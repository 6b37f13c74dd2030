/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the lines of some pages, or reads the first of them one after the
 * other: each line has the address of the next, so that the time of all is the
 * sum of their latencies. Position-independent, no stack.
 *
 *     RBX  struct agent (shared.h)    R13  SYS_WAIT    R15  the notification that orders raise
 */
#include "shared.h"

	/* R8 is the clock. */
	.macro clock
	lfence
	rdtsc
	shlq $32, %rdx
	leaq (%rax, %rdx), %r8
	.endm

	.section .rodata
	.balign 64
	.globl caches_start, caches_end, caches_agent
caches_start:

caches_agent:
	movl %r13d, %eax
	movq %r15, %rdi
	xorl %esi, %esi
	xorl %edx, %edx
	syscall
	orl %eax, CACHES_ERRORS(%rbx)

	movq CACHES_START(%rbx), %r9
	movl CACHES_WRITES(%rbx), %ecx
	testl %ecx, %ecx
	jz 2f
1:
	.set line, 0
	.rept CACHES_LINES
	incq 64 * line + 8(%r9)
	.set line, line + 1
	.endr
	addq $4096, %r9
	decl %ecx
	jnz 1b

2:	movl CACHES_READS(%rbx), %ecx
	testl %ecx, %ecx
	jz 4f
	movq CACHES_START(%rbx), %r9
	.set page, 0
	.rept CACHES_TIMED
	movq 4096 * page + 64 * CACHES_LINES(%r9), %rax
	.set page, page + 1
	.endr
	decl %ecx
	/* First of a line that leads to itself, so that the code is in its cache the second time. */
	leaq CACHES_ITSELF(%rbx), %r9
	movl $2, %esi
5:	clock
	movq %r8, %r10
	testl %ecx, %ecx
	jz 3f
	.rept CACHES_TIMED * CACHES_LINES
	movq (%r9), %r9
	.endr
3:	clock
	subq %r10, %r8
	movq %r8, CACHES_CYCLES(%rbx)
	movq CACHES_START(%rbx), %r9
	decl %esi
	jnz 5b

4:	movq CACHES_DONE(%rbx), %rax
	movq CACHES_DONE + 8(%rbx), %rdi
	xorl %esi, %esi
	xorl %edx, %edx
	syscall
	orl %eax, CACHES_ERRORS(%rbx)
	jmp caches_agent
caches_end:

	.section .note.GNU-stack, "", @progbits
