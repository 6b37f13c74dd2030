/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code for other address spaces (space.c): position-independent, no stack.
 * RBX points at the space's data page; RDI and RSI are arguments.
 */
	.section .rodata
	.globl foreign_start, foreign_end, foreign_count, foreign_store, foreign_load, foreign_call, foreign_reply
	.balign 64
foreign_start:

/* counts in data[0] for ever */
foreign_count:
	incq (%rbx)
	pause
	jmp foreign_count

/* stores RSI at the address RDI for ever, counting in data[0] */
foreign_store:
	movq %rsi, (%rdi)
	incq (%rbx)
	jmp foreign_store

/* reads the address RDI into data[1] for ever, counting in data[0] */
foreign_load:
	movq (%rdi), %rax
	movq %rax, 8(%rbx)
	incq (%rbx)
	jmp foreign_load

/* Calls endpoint RDI for ever, a growing word each time; data[0] counts good answers, data[1] bad ones */
foreign_call:
	movq %rdi, %rbp
	xorl %r13d, %r13d
1:	incq %r13
	movq %rbp, %rdi
	movl $1, %eax            /* SYS_CALL */
	movl $1, %esi            /* one word */
	movq %r13, %rdx
	syscall
	testq %rax, %rax
	jnz 2f
	leaq 1(%r13), %rax
	cmpq %rax, %rdx
	jne 2f
	incq (%rbx)
	jmp 1b
2:	incq 8(%rbx)
	jmp 1b

/* Serves endpoint RDI with reply object RSI: answers each word plus 1, counting in data[0] */
foreign_reply:
	movq %rdi, %rbp
	movq %rsi, %r12
	movl $4, %eax            /* SYS_RECV */
	syscall
1:	incq (%rbx)
	incq %rdx
	movq %rbp, %rdi
	movl $1, %esi
	movl $7, %eax            /* SYS_REPLY_RECV */
	syscall
	jmp 1b
foreign_end:

	.section .note.GNU-stack, "", @progbits
