/* SPDX-License-Identifier: BSD-2-Clause */
	.text
	.globl _start
_start:
	xorl %ebp, %ebp
	call ktest_main
	ud2

/* A worker's entry: RDI its struct worker, RSP its stack. */
	.globl worker_entry
worker_entry:
	xorl %ebp, %ebp
	call worker_main
	ud2

	.section .note.GNU-stack, "", @progbits
