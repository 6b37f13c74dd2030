/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that says that it runs, and then reads its page for ever: its core leaves it for interrupts alone.
 * Position-independent, no stack. RBX: the core's line in the shared frames; R12: the page.
 */
	.section .rodata
	.balign 64
	.globl shootdown_start, shootdown_end, shootdown_thread
shootdown_start:

shootdown_thread:
	movl (%r12), %eax
	movl $1, (%rbx)
1:	movl (%r12), %eax
	pause
	jmp 1b
shootdown_end:

	.section .note.GNU-stack, "", @progbits
