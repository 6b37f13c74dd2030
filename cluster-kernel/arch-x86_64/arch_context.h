/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread's user registers, laid out so that the processor itself stores the
 * last five when an interrupt arrives (TSS.RSP0 points at the structure's end
 * of `ss`) and the entry code pushes the rest below them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>

enum { ARCH_FPU_SIZE = 832 }; /* XSAVE area for x87, SSE and AVX */
enum { VECTOR_DEBUG = 1, VECTOR_BREAKPOINT = 3, VECTOR_SYSCALL = 256 };
/* Flag in `vector`: a trap has been raised and not reported yet. entry_resume raises it again instead of resuming. */
enum { VECTOR_AGAIN = 1 << 16 };
enum { SELECTOR_KERNEL_CODE = 8, SELECTOR_KERNEL_DATA = 16, SELECTOR_USER_DATA = 24 | 3, SELECTOR_USER_CODE = 32 | 3 };

struct context {
	_Alignas(16) uint64_t r15;
	uint64_t r14, r13, r12, r11, r10, r9, r8, rbp, rdi, rsi, rdx, rcx, rbx, rax;
	uint64_t vector; /* how the kernel was entered; VECTOR_SYSCALL: the exit may use SYSRET */
	uint64_t error;
	uint64_t rip, cs, rflags, rsp, ss;
	uint64_t fs_base, gs_base; /* as set by TCB_SET_TLS and TCB_WRITE_REGISTERS */
};
_Static_assert(__builtin_offsetof(struct context, fs_base) % 16 == 0, "the processor aligns RSP0");

/* The system call's arguments and results (skerry/syscall.h). */
static inline uint64_t context_syscall(const struct context *c) { return c->rax; }
static inline uint64_t context_cptr(const struct context *c) { return c->rdi; }
static inline uint64_t context_info(const struct context *c) { return c->rsi; }
static inline uint64_t context_reply_cptr(const struct context *c) { return c->r12; }
static inline uint64_t context_rip(const struct context *c) { return c->rip; }
static inline uint64_t context_rsp(const struct context *c) { return c->rsp; }
static inline void context_set_result(struct context *c, uint64_t error) { c->rax = error; }
static inline void context_set_syscall(struct context *c, uint64_t number) { c->rax = number; }
static inline void context_set_badge(struct context *c, uint64_t badge) { c->rdi = badge; }
static inline void context_set_info(struct context *c, uint64_t info) { c->rsi = info; }
static inline void context_set_tls(struct context *c, uint64_t base) { c->fs_base = base; }

enum { SYSCALL_SIZE = 2 };

static inline void context_restart_call(struct context *c)
{
	if (c->vector == VECTOR_SYSCALL)
		c->rip -= SYSCALL_SIZE;
}

/* RIP of a fault is at its instruction, which faults again; that of a trap is behind it (SDM 3, 6.5). */
static inline void context_restart(struct context *c)
{
	context_restart_call(c);
	if (c->vector == VECTOR_DEBUG || c->vector == VECTOR_BREAKPOINT)
		c->vector |= VECTOR_AGAIN;
}

/* index < MESSAGE_REGISTERS */
static inline uint64_t context_word(const struct context *c, unsigned index)
{
	return index == 0 ? c->rdx : index == 1 ? c->r10 : index == 2 ? c->r8 : c->r9;
}
static inline void context_set_word(struct context *c, unsigned index, uint64_t value)
{
	*(index == 0 ? &c->rdx : index == 1 ? &c->r10 : index == 2 ? &c->r8 : &c->r9) = value;
}

/* Copies the first `count` words, MESSAGE_REGISTERS at most. */
static inline void context_copy_words(struct context *to, const struct context *from, unsigned count)
{
	switch (count) {
	default: to->r9 = from->r9; /* fall through */
	case 3: to->r8 = from->r8; /* fall through */
	case 2: to->r10 = from->r10; /* fall through */
	case 1: to->rdx = from->rdx; /* fall through */
	case 0: break;
	}
}

/*@ assigns \nothing; ensures bits: \result <==> address < 1 << 47; */
static inline bool context_canonical(uint64_t address)
{
	return (int64_t)(address << 16) >> 16 == (int64_t)address && !(address >> 63);
}

void context_init(struct context *context);
/* Returns whether the processor would refuse an address on the return to user mode. */
bool context_acceptable(const struct thread_registers *registers);
void context_write(struct context *context, const struct thread_registers *registers);
void context_read(const struct context *context, struct thread_registers *registers);
