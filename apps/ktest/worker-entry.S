/* SPDX-License-Identifier: BSD-2-Clause */
	.text
/* A worker's entry: RDI its struct worker, RSP its stack. */
	.globl worker_entry
worker_entry:
	xorl %ebp, %ebp
	call worker_main
	ud2

/* A thread here keeps its registers and does nothing. */
	.globl program_stay
program_stay:
	pause
	jmp program_stay

	.section .note.GNU-stack, "", @progbits
