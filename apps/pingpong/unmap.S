/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that takes the right to write from its page, and gives it back, without end. Position-independent, no stack;
 * runs in an address space of its own.
 *
 *     RBX  struct worker of unmap.c    R13  SYS_CALL        R14  its address space
 *     R15  the frame                   RBP  message info    R12  no reply object
 */
#include "shared.h"

	.macro protect rights
	movl %r13d, %eax
	movq %r15, %rdi
	movq %rbp, %rsi
	movl $\rights, %edx
	syscall
	orl %eax, UNMAP_ERRORS(%rbx)
	.endm

	.section .rodata
	.balign 64
	.globl unmap_start, unmap_end, unmap_worker
unmap_start:

unmap_worker:
	movl $THREAD_BUFFERS + UNMAP_CAPS, %eax
	movq %r14, (%rax)
1:	protect UNMAP_READ
	protect UNMAP_READ_WRITE
	incq UNMAP_ROUNDS(%rbx)
	jmp 1b
unmap_end:

	.section .note.GNU-stack, "", @progbits
