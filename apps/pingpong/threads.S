/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The measured threads. Position-independent, no stack; runs in address spaces of its own. The reader before a system
 * call and the one after it enclose, of user instructions, what `empty` encloses and the SYSCALL itself: nothing that
 * depends on data, no branch.
 *
 *     RBX  the shared frame (shared.h)      R13  the number of the system call
 *     R14  rounds done                      R15  its capability    RBP  its message info
 */
#include "shared.h"

	/* Reads the clock; then RAX is the system call's number and RDX 0: no deadline, or an empty first word. */
	.macro before stamp
	movq %r15, %rdi
	movq %rbp, %rsi
	lfence
	rdtsc
	movl %eax, \stamp(%rbx)
	movl %r13d, %eax
	xorl %edx, %edx
	.endm

	/* RAX is the system call's error, which is kept for later. */
	.macro after stamp, log
	movl %eax, %ecx
	lfence
	rdtsc
	orl %ecx, SHARED_ERRORS(%rbx)
	subl \stamp(%rbx), %eax
	movl %eax, \log(%rbx, %r14, 4)
	.endm

	/* Next round, or the end: the main thread, of higher priority, does not let it go on. */
	.macro again label
	incq %r14
	cmpq SHARED_ROUNDS(%rbx), %r14
	jb \label
	movq SHARED_DONE(%rbx), %rax
	movq SHARED_DONE + 8(%rbx), %rdi
	syscall
	ud2
	.endm

	.section .rodata
	.balign 64
	.globl threads_start, threads_end
	.globl thread_empty, thread_single, thread_prepared, thread_client, thread_server, thread_switch, thread_switch_begun
threads_start:

thread_empty:
	before SHARED_STAMP_A
	after SHARED_STAMP_A, SHARED_LOG_A
	again thread_empty

thread_single:
	before SHARED_STAMP_A
	syscall
	after SHARED_STAMP_A, SHARED_LOG_A
	again thread_single

	/* One more system call before each round. */
thread_prepared:
	movq SHARED_PREPARE(%rbx), %rax
	movq SHARED_PREPARE + 8(%rbx), %rdi
	xorl %edx, %edx
	syscall
	before SHARED_STAMP_A
	syscall
	after SHARED_STAMP_A, SHARED_LOG_A
	again thread_prepared

thread_client:
	before SHARED_STAMP_A
	syscall
	after SHARED_STAMP_B, SHARED_LOG_B
	again thread_client

	/* Starts with RAX, RDI set for its first receive; R12 its reply object. */
1:	before SHARED_STAMP_B
thread_server:
	syscall
	after SHARED_STAMP_A, SHARED_LOG_A
	incq %r14
	jmp 1b

	/* Two threads of these: each measures from the other's stamp. One may begin in a system call, with RAX and RDI set. */
thread_switch:
	before SHARED_STAMP_A
thread_switch_begun:
	syscall
	movl %eax, %ecx
	lfence
	rdtsc
	orl %ecx, SHARED_ERRORS(%rbx)
	subl SHARED_STAMP_A(%rbx), %eax
	movq SHARED_INDEX(%rbx), %r14
	movl %eax, SHARED_LOG_A(%rbx, %r14, 4)
	incq SHARED_INDEX(%rbx)
	again thread_switch
threads_end:

	.section .note.GNU-stack, "", @progbits
