/* SPDX-License-Identifier: BSD-2-Clause */
#include "arch_context.h"
#include "x86.h"

/* Flags a user program may set: the arithmetic ones, DF, and ID; never IOPL, NT, TF, VM. */
#define USER_RFLAGS (0xcd5ull | 1 << 21)

void context_init(struct context *context)
{
	context->cs = SELECTOR_USER_CODE;
	context->ss = SELECTOR_USER_DATA;
	context->rflags = RFLAGS_IF | 2;
}

bool context_acceptable(const struct thread_registers *r)
{
	return context_canonical(r->rip) && context_canonical(r->rsp) && context_canonical(r->fs_base) &&
	       context_canonical(r->gs_base);
}

void context_write(struct context *c, const struct thread_registers *r)
{
	c->rip = r->rip, c->rsp = r->rsp;
	c->rflags = (r->rflags & USER_RFLAGS) | RFLAGS_IF | 2;
	c->rax = r->rax, c->rbx = r->rbx, c->rcx = r->rcx, c->rdx = r->rdx;
	c->rsi = r->rsi, c->rdi = r->rdi, c->rbp = r->rbp;
	c->r8 = r->r8, c->r9 = r->r9, c->r10 = r->r10, c->r11 = r->r11;
	c->r12 = r->r12, c->r13 = r->r13, c->r14 = r->r14, c->r15 = r->r15;
	c->fs_base = r->fs_base, c->gs_base = r->gs_base;
	c->vector = 0; /* all registers count: leave by IRET */
}

void context_read(const struct context *c, struct thread_registers *r)
{
	*r = (struct thread_registers){
		.rip = c->rip, .rsp = c->rsp, .rflags = c->rflags,
		.rax = c->rax, .rbx = c->rbx, .rcx = c->rcx, .rdx = c->rdx,
		.rsi = c->rsi, .rdi = c->rdi, .rbp = c->rbp,
		.r8 = c->r8, .r9 = c->r9, .r10 = c->r10, .r11 = c->r11,
		.r12 = c->r12, .r13 = c->r13, .r14 = c->r14, .r15 = c->r15,
		.fs_base = c->fs_base, .gs_base = c->gs_base,
	};
}
