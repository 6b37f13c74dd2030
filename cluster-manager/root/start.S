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

	.section .note.GNU-stack, "", @progbits
