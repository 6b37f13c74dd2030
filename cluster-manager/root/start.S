/* SPDX-License-Identifier: BSD-2-Clause */
/* The root task's entry: RDI = root_info, RSI = IPC buffer, RSP = ROOT_STACK_TOP. */
	.text
	.globl _start
	.type _start, @function
_start:
	xorl %ebp, %ebp
	call root_main
	ud2
	.size _start, . - _start

/* Entry of the timer thread; the manager gives it a stack. */
	.globl timer_start
	.type timer_start, @function
timer_start:
	xorl %ebp, %ebp
	call timer_main
	ud2
	.size timer_start, . - timer_start

	.section .note.GNU-stack, "", @progbits
