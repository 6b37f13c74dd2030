/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tasks. Position-independent, no stack; runs in address spaces of their own. Every error ends in UD2, for which
 * there is no handler here.
 */
#include "tasks.h"

	.macro system_call number, cap
	movl $\number, %eax
	movq \cap, %rdi
	xorl %esi, %esi
	xorl %edx, %edx
	syscall
	testl %eax, %eax
	jnz wrong
	.endm

	.section .rodata
	.balign 64
	.globl tasks_start, tasks_end, task_client, task_server, task_writer
tasks_start:

	/* R14 rounds, R15 endpoint, RBX what to signal at the end, RBP where to wait then. */
task_client:
	system_call TASK_SYS_CALL, %r15
	decq %r14
	jnz task_client
	system_call TASK_SYS_SIGNAL, %rbx
	system_call TASK_SYS_WAIT, %rbp
	jmp wrong

	/* R15 endpoint, R12 its reply object; R13 counts the answers. */
task_server:
	system_call TASK_SYS_RECV, %r15
1:	incq %r13
	system_call TASK_SYS_REPLY_RECV, %r15
	jmp 1b

	/*
	 * R14 rounds, R15 pages at R12, R13 its number: writes that into each page's first word, where every round must
	 * find 0, and looks then that it stands there and nobody else's, and the page's number in the second. RBX what
	 * to signal after a round, RBP where to wait for the next.
	 */
task_writer:
	movq %r12, %r8
	movq %r15, %r9
1:	cmpq $0, (%r8)
	jne wrong
	movq %r13, (%r8)
	addq $4096, %r8
	decq %r9
	jnz 1b
	movq %r12, %r8
	xorl %r9d, %r9d
2:	cmpq %r13, (%r8)
	jne wrong
	cmpq %r9, 8(%r8)
	jne wrong
	addq $4096, %r8
	incq %r9
	cmpq %r15, %r9
	jb 2b
	system_call TASK_SYS_SIGNAL, %rbx
	system_call TASK_SYS_WAIT, %rbp
	decq %r14
	jnz task_writer
	system_call TASK_SYS_SIGNAL, %rbx
	system_call TASK_SYS_WAIT, %rbp
wrong:
	ud2
tasks_end:

	.section .note.GNU-stack, "", @progbits
