/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread's user registers in the hosted port: no program runs, a test sets them and reads them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>

enum { ARCH_FPU_SIZE = 64 };

struct context {
	struct thread_registers registers;
	bool syscall; /* the kernel was entered by a system call */
	bool again;   /* that call is the next thing the thread does */
	bool trap;    /* the kernel was entered by a trap: RIP is behind the instruction */
	bool raise;   /* that trap is raised again before the thread goes on */
};

static inline uint64_t context_syscall(const struct context *c) { return c->registers.rax; }
static inline uint64_t context_cptr(const struct context *c) { return c->registers.rdi; }
static inline uint64_t context_info(const struct context *c) { return c->registers.rsi; }
static inline uint64_t context_reply_cptr(const struct context *c) { return c->registers.r12; }
static inline uint64_t context_rip(const struct context *c) { return c->registers.rip; }
static inline uint64_t context_rsp(const struct context *c) { return c->registers.rsp; }
static inline void context_set_result(struct context *c, uint64_t error) { c->registers.rax = error; }
static inline void context_set_syscall(struct context *c, uint64_t number) { c->registers.rax = number; }
static inline void context_set_badge(struct context *c, uint64_t badge) { c->registers.rdi = badge; }
static inline void context_set_info(struct context *c, uint64_t info) { c->registers.rsi = info; }
static inline void context_set_tls(struct context *c, uint64_t base) { c->registers.fs_base = base; }

/* By how much a system call moves RIP, and a trap: INT 3 in two bytes. */
enum { SYSCALL_SIZE = 2 };

static inline void context_restart_call(struct context *c)
{
	if (!c->syscall)
		return;
	c->registers.rip -= SYSCALL_SIZE;
	c->again = true;
}

static inline void context_restart(struct context *c)
{
	context_restart_call(c);
	if (c->trap)
		c->raise = true;
}

/* index < MESSAGE_REGISTERS */
static inline uint64_t *context_word_place(struct context *c, unsigned index)
{
	struct thread_registers *r = &c->registers;
	return index == 0 ? &r->rdx : index == 1 ? &r->r10 : index == 2 ? &r->r8 : &r->r9;
}
static inline uint64_t context_word(const struct context *c, unsigned index)
{
	return *context_word_place((struct context *)c, index);
}
static inline void context_set_word(struct context *c, unsigned index, uint64_t value)
{
	*context_word_place(c, index) = value;
}

static inline void context_copy_words(struct context *to, const struct context *from, unsigned count)
{
	for (unsigned i = 0; i < count && i < MESSAGE_REGISTERS; i++)
		context_set_word(to, i, context_word(from, i));
}

static inline bool context_canonical(uint64_t address) { return address < 1ull << 47; }

/* As on x86-64: interrupts are on in user mode; a program sets the arithmetic flags, DF, OF and ID. */
enum { RFLAGS_FIXED = 0x202, RFLAGS_USER = 0x200cd5 };

static inline void context_init(struct context *context)
{
	*context = (struct context){ .registers.rflags = RFLAGS_FIXED };
}
static inline bool context_acceptable(const struct thread_registers *r)
{
	return context_canonical(r->rip) && context_canonical(r->rsp) && context_canonical(r->fs_base) &&
	       context_canonical(r->gs_base);
}
static inline void context_write(struct context *c, const struct thread_registers *r)
{
	c->registers = *r;
	c->registers.rflags = (r->rflags & RFLAGS_USER) | RFLAGS_FIXED;
	c->syscall = c->again = c->trap = c->raise = false;
}
static inline void context_read(const struct context *c, struct thread_registers *r) { *r = c->registers; }
