/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiled to assembly only; the build puts the marked lines into offsets.h. */
#include <skerry/boot.h>
#include "arch_context.h"
#include "core_local.h"

#define REGISTER(name) OFFSET(CONTEXT_##name, __builtin_offsetof(struct context, name))
#define OFFSET(name, value) asm volatile("\n@@ .set " #name ", %c0" ::"i"(value))

void offsets(void)
{
	OFFSET(BOOT_MAGIC_LOW, (uint32_t)BOOT_INFO_MAGIC);
	OFFSET(BOOT_MAGIC_HIGH, BOOT_INFO_MAGIC >> 32);
	OFFSET(BOOT_SIZE, sizeof(struct boot_info));
	OFFSET(LOCAL_CPU, __builtin_offsetof(struct core_local, cpu));
	OFFSET(LOCAL_CONTEXT_END, __builtin_offsetof(struct core_local, tss.rsp[0]));
	OFFSET(CONTEXT_END, __builtin_offsetof(struct context, fs_base));
	OFFSET(CONTEXT_GS_BASE, __builtin_offsetof(struct context, gs_base));
	OFFSET(CONTEXT_RSP, __builtin_offsetof(struct context, rsp));
	OFFSET(ENTRY_SYS_CALL, SYS_CALL);
	OFFSET(ENTRY_SYS_REPLY_RECV, SYS_REPLY_RECV);
	OFFSET(ENTRY_SYS_SIGNAL_WAIT, SYS_SIGNAL_WAIT);
	OFFSET(LOCAL_USER_RSP, __builtin_offsetof(struct core_local, user_rsp));
	OFFSET(LOCAL_STACK_TOP, __builtin_offsetof(struct core_local, stack_top));
	REGISTER(rax);
	REGISTER(rbx);
	REGISTER(rdx);
	REGISTER(rsi);
	REGISTER(rdi);
	REGISTER(rbp);
	REGISTER(r8);
	REGISTER(r9);
	REGISTER(r10);
	REGISTER(r12);
	REGISTER(r13);
	REGISTER(r14);
	REGISTER(r15);
	OFFSET(CONTEXT_VECTOR, __builtin_offsetof(struct context, vector));
	OFFSET(CONTEXT_RIP, __builtin_offsetof(struct context, rip));
	OFFSET(CONTEXT_CS, __builtin_offsetof(struct context, cs));
	OFFSET(CONTEXT_RFLAGS, __builtin_offsetof(struct context, rflags));
	OFFSET(ENTRY_VECTOR_SYSCALL, VECTOR_SYSCALL);
	OFFSET(ENTRY_VECTOR_AGAIN, VECTOR_AGAIN);
	OFFSET(ENTRY_USER_CODE, SELECTOR_USER_CODE);
	OFFSET(ENTRY_USER_DATA, SELECTOR_USER_DATA);
	OFFSET(BOOT_STACK_TOP, KERNEL_STACKS_BASE + STACK_SIZE);
	OFFSET(BOOT_STACKS_STRIDE, KERNEL_STACKS_STRIDE);
}
