/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that says that it runs, and then waits in its program for ever: its core leaves it for interrupts alone.
 * Position-independent, no stack. RBX: the core's line in the shared frames.
 */
	.section .rodata
	.balign 64
	.globl shootdown_start, shootdown_end, shootdown_thread
shootdown_start:

shootdown_thread:
	movl $1, (%rbx)
1:	pause
	jmp 1b
shootdown_end:

	.section .note.GNU-stack, "", @progbits
