/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entry to the kernel and exit from it. Every entry stores the user's registers in the current thread's struct context
 * and runs C code from the top of the core's only kernel stack. C code never returns here; it leaves through entry_resume
 * or entry_idle.
 */
#include "offsets.h"

	.macro push_registers
	push %rax
	push %rbx
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	push %rbp
	push %r8
	push %r9
	push %r10
	push %r11
	push %r12
	push %r13
	push %r14
	push %r15
	.endm

	/*
	 * The registers to save at SYSCALL: all but RCX (the user's RIP) and R11 (RFLAGS), which SYSCALL has overwritten.
	 */
	.macro save_syscall
	swapgs
	mov %rsp, %gs:LOCAL_USER_RSP
	mov %gs:LOCAL_CONTEXT_END, %rsp
	mov %rcx, CONTEXT_RIP - CONTEXT_END(%rsp)
	mov %r11, CONTEXT_RFLAGS - CONTEXT_END(%rsp)
	mov %gs:LOCAL_USER_RSP, %rcx
	mov %rcx, CONTEXT_RSP - CONTEXT_END(%rsp)
	movq $ENTRY_VECTOR_SYSCALL, CONTEXT_VECTOR - CONTEXT_END(%rsp)
	.irp register, rax, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15
	mov %\register, CONTEXT_\register - CONTEXT_END(%rsp)
	.endr
	mov %gs:LOCAL_STACK_TOP, %rsp
	.endm

	/* RSP: the struct context of a thread that entered by SYSCALL; it goes on behind it. */
	.macro resume_syscall
	mov CONTEXT_RIP(%rsp), %rcx
	mov CONTEXT_RFLAGS(%rsp), %r11
	.irp register, rax, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15
	mov CONTEXT_\register(%rsp), %\register
	.endr
	mov CONTEXT_RSP(%rsp), %rsp
	sysretq
	.endm

	.macro pop_registers
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rbp
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %rbx
	pop %rax
	.endm

	.text
	/* struct boot_contract: the loader refuses a kernel with other words in front of its entry */
	.balign 8
	.long BOOT_MAGIC_LOW, BOOT_MAGIC_HIGH
	.quad BOOT_SIZE
/* A core of this cluster, from the loader: RDI boot_info, RSI index (skerry/boot.h). */
	.global entry_start
entry_start:
	mov $BOOT_STACK_TOP, %rsp
	imul $BOOT_STACKS_STRIDE, %rsi, %rcx
	add %rcx, %rsp
	xor %ebp, %ebp
	call start
	ud2

/* SYSCALL: RCX user RIP, R11 user RFLAGS, interrupts off (FMASK). */
	.global entry_syscall
entry_syscall:
	save_syscall
	mov %gs:LOCAL_CPU, %rcx
	cmp $ENTRY_SYS_CALL, %rax
	je trap_call /* RDI, RSI: as the program set them */
	mov %r12, %rdx
	cmp $ENTRY_SYS_REPLY_RECV, %rax
	je trap_reply_receive
	cmp $ENTRY_SYS_SIGNAL_WAIT, %rax
	je trap_signal_wait
slow:
	mov %gs:LOCAL_CPU, %rdi
	xor %ebp, %ebp
	call kernel_syscall
	mov %gs:LOCAL_CPU, %rdi
	call trap_leave
	ud2

/* The fast path has declined; this core holds the lock. */
	.global entry_declined
entry_declined:
	mov %gs:LOCAL_STACK_TOP, %rsp
	mov %gs:LOCAL_CPU, %rdi
	xor %ebp, %ebp
	call kernel_syscall_entered
	mov %gs:LOCAL_CPU, %rdi
	call trap_leave
	ud2

/* RSP: the struct context to leave through behind a SYSCALL; only the GS base is still to be loaded. */
	.global entry_resume_fast
entry_resume_fast:
	mov CONTEXT_GS_BASE(%rsp), %rcx
	swapgs
	wrgsbase %rcx
	resume_syscall

/* The same of a thread that may have entered by an interrupt, which must find all its registers. */
	.global entry_resume_next
entry_resume_next:
	cmpl $ENTRY_VECTOR_SYSCALL, CONTEXT_VECTOR(%rsp)
	je entry_resume_fast
	mov CONTEXT_GS_BASE(%rsp), %rcx
	swapgs
	wrgsbase %rcx
	swapgs
	mov %rsp, %rdi
	jmp entry_resume

/* For processors without WRGSBASE, where the fast path cannot be used. */
	.global entry_syscall_slow_only
entry_syscall_slow_only:
	save_syscall
	jmp slow

/* Every vector's stub pushes an error code (if the processor did not) and its number. */
entry_interrupt:
	push_registers
	testb $3, CONTEXT_CS(%rsp)
	jz 1f
	swapgs
	mov %rsp, %rsi
	mov %gs:LOCAL_STACK_TOP, %rsp
	pushq $2 /* the gate leaves the user's DF, and AC, which would switch SMAP off */
	popfq
	mov %gs:LOCAL_CPU, %rdi
	xor %ebp, %ebp
	call trap_user
	ud2
1:	/* from the kernel: the idle loop, or a bug */
	mov %rsp, %rdi
	xor %ebp, %ebp
	and $-16, %rsp
	call trap_kernel
	ud2

/* NMI, double fault, machine check: on stacks of their own; GS may be the user's or the kernel's. */
entry_fatal:
	push_registers
	cld
	mov %rsp, %rdi
	xor %ebp, %ebp
	and $-16, %rsp
	call trap_fatal
	ud2

/* RDI: the struct context to leave through. */
	.global entry_resume
entry_resume:
	mov %rdi, %rsp
	cmpl $ENTRY_VECTOR_SYSCALL, CONTEXT_VECTOR(%rsp)
	jne 1f
	swapgs
	resume_syscall
1:	testl $ENTRY_VECTOR_AGAIN, CONTEXT_VECTOR(%rsp)
	jnz 2f
	pop_registers
	add $16, %rsp
	swapgs
	iretq
2:	/* the thread was stopped in a trap that was not reported yet */
	mov %rsp, %rsi
	mov %gs:LOCAL_STACK_TOP, %rsp
	mov %gs:LOCAL_CPU, %rdi
	xor %ebp, %ebp
	call trap_again
	ud2

/* Nothing to run: wait for an interrupt with an empty stack. */
	.global entry_idle
entry_idle:
	mov %gs:LOCAL_STACK_TOP, %rsp
	xor %ebp, %ebp
1:	sti
	hlt
	jmp 1b

	.macro stub vector
	.balign 16
	.if \vector == 8 || (\vector >= 10 && \vector <= 14) || \vector == 17 || \vector == 21 || \vector == 29 || \vector == 30
	.else
	push $0
	.endif
	push $\vector
	.if \vector == 2 || \vector == 8 || \vector == 18
	jmp entry_fatal
	.else
	jmp entry_interrupt
	.endif
	.endm

	.balign 16
	.global entry_stubs /* 16 bytes each */
entry_stubs:
	.altmacro
	.set v, 0
	.rept 256
	stub %v
	.set v, v + 1
	.endr
	.noaltmacro

	.section .note.GNU-stack,"",@progbits
