/* SPDX-License-Identifier: BSD-2-Clause */
	.text
	.globl _start
_start:
	xorl %ebp, %ebp
	call bare_main
	ud2

	.section .note.GNU-stack, "", @progbits
