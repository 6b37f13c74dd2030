/* SPDX-License-Identifier: BSD-2-Clause */
/* void system_call_raw(struct registers *): offsets are those of struct registers (ktest.h). */
	.text
	.globl system_call_raw
system_call_raw:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	push %rdi
	pushq 104(%rdi)
	mov 0(%rdi), %rax
	mov 8(%rdi), %rbx
	mov 16(%rdi), %rdx
	mov 24(%rdi), %rsi
	mov 40(%rdi), %rbp
	mov 48(%rdi), %r8
	mov 56(%rdi), %r9
	mov 64(%rdi), %r10
	mov 72(%rdi), %r12
	mov 80(%rdi), %r13
	mov 88(%rdi), %r14
	mov 96(%rdi), %r15
	mov 32(%rdi), %rdi
	popf
	.globl system_call_raw_site
system_call_raw_site:
	syscall
	pushf
	cld
	mov 8(%rsp), %rcx
	popq 104(%rcx)
	mov %rax, 0(%rcx)
	mov %rbx, 8(%rcx)
	mov %rdx, 16(%rcx)
	mov %rsi, 24(%rcx)
	mov %rdi, 32(%rcx)
	mov %rbp, 40(%rcx)
	mov %r8, 48(%rcx)
	mov %r9, 56(%rcx)
	mov %r10, 64(%rcx)
	mov %r12, 72(%rcx)
	mov %r13, 80(%rcx)
	mov %r14, 88(%rcx)
	mov %r15, 96(%rcx)
	pop %rdi
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

	.section .note.GNU-stack, "", @progbits
