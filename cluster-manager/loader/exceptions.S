/* SPDX-License-Identifier: BSD-2-Clause */
/* The entries of the 32 exceptions, of one size, so that exceptions.c finds each by its number. */
#include "exceptions.h"

	.text
	.balign EXCEPTION_ENTRY_SIZE
	.globl exception_entries
exception_entries:
	vector = 0
	.rept EXCEPTION_COUNT
	.balign EXCEPTION_ENTRY_SIZE
	.if !(EXCEPTIONS_WITH_ERROR >> vector & 1)
	push $0
	.endif
	push $vector
	jmp 1f
	vector = vector + 1
	.endr

1:	cld
	mov %rsp, %rdi
	and $-16, %rsp
	call exception_taken

	.section .note.GNU-stack, "", @progbits
