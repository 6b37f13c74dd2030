/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor's state that is not in general registers, over calls and answers on the fast path and beside it. */
#include <skerry/x86.h>
#include "ktest.h"

enum { CLIENT = 50 }; /* its priority */

static inline void load_vectors(uint64_t value)
{
	__asm__ volatile("movq %0, %%xmm0; movq %0, %%xmm3; movq %0, %%xmm8; movq %0, %%xmm15" ::"r"(value));
}

static inline uint64_t vectors_differ(uint64_t value)
{
	uint64_t a, b, c, d;
	__asm__ volatile("movq %%xmm0, %0; movq %%xmm3, %1; movq %%xmm8, %2; movq %%xmm15, %3" : "=r"(a), "=r"(b),
	                 "=r"(c), "=r"(d));
	return (a ^ value) | (b ^ value) | (c ^ value) | (d ^ value);
}

enum { SWITCHES = 3000 };
#define NO_VECTORS __attribute__((target("general-regs-only")))

static NO_VECTORS void vector_client(struct worker *self)
{
	uint32_t mxcsr = 0x1f80 | 1 << 13, seen;
	__asm__ volatile("ldmxcsr %0" ::"m"(mxcsr));
	load_vectors(0xc11e47 + self->index);
	for (unsigned i = 0; i < SWITCHES; i++) {
		struct message m;
		m.info = message_info(0, 0, 1);
		m.word[0] = m.word[1] = m.word[2] = m.word[3] = i;
		system_call(SYS_CALL, self->arg[0], 0, &m);
		self->out[0] |= vectors_differ(0xc11e47 + self->index) | (m.word[0] ^ (i + 1));
		__asm__ volatile("stmxcsr %0" : "=m"(seen));
		self->out[1] |= seen ^ mxcsr;
	}
}

static NO_VECTORS void vector_server(struct worker *self)
{
	uint32_t mxcsr = 0x1f80 | 2 << 13, seen;
	struct message m;
	m.info = m.word[0] = m.word[1] = m.word[2] = m.word[3] = 0;
	__asm__ volatile("ldmxcsr %0" ::"m"(mxcsr));
	load_vectors(0x5e47e4);
	system_call(SYS_RECV, self->arg[0], self->arg[1], &m);
	for (;;) {
		self->out[0] |= vectors_differ(0x5e47e4);
		__asm__ volatile("stmxcsr %0" : "=m"(seen));
		self->out[1] |= seen ^ mxcsr;
		m.word[0]++;
		m.info = message_info(0, 0, 1);
		system_call(SYS_REPLY_RECV, self->arg[0], self->arg[1], &m);
	}
}

TEST(vectors, 1, 0, "fast path: vector registers and MXCSR of both sides survive thousands of switches")
{
	static const unsigned priority[] = { CLIENT, CLIENT + 10, CLIENT - 10 };
	for (unsigned i = 0; i < 3; i++) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *s = worker_start(vector_server, priority[i], 0, endpoint, object(OBJECT_REPLY, 0));
		until(waits(s));
		struct worker *c = worker_start(vector_client, CLIENT, 0, endpoint, 0);
		until(c->done);
		check_eq(c->out[0] | c->out[1], 0);
		check_eq(s->out[0] | s->out[1], 0);
		workers_drop();
	}
}

static bool has_base_instructions(void) { return cpuid(7, 0).ebx & 1; }

static inline uint64_t bases_differ(uint64_t fs, uint64_t gs)
{
	uint64_t a, b;
	__asm__ volatile("rdfsbase %0; rdgsbase %1" : "=r"(a), "=r"(b));
	return (a ^ fs) | (b ^ gs);
}

/* arg[2], arg[3]: the bases it was given */
static void base_client(struct worker *self)
{
	for (unsigned i = 0; i < 500; i++) {
		struct message m = { .info = message_info(0, 0, 1), .word = { i } };
		check_ok(ipc_call(self->arg[0], &m));
		self->out[0] |= bases_differ(self->arg[2], self->arg[3]);
	}
}

static void base_server(struct worker *self)
{
	struct message m = { 0 };
	check_ok(ipc_receive(self->arg[0], self->arg[1], &m));
	for (;;) {
		self->out[0] |= bases_differ(self->arg[2], self->arg[3]);
		m.info = 0;
		check_ok(ipc_reply_receive(self->arg[0], self->arg[1], &m));
	}
}

static struct worker *with_bases(void (*run)(struct worker *), unsigned priority, uint64_t fs, uint64_t gs,
                                 uint64_t arg0, uint64_t arg1)
{
	struct worker *w = worker_make(run, priority, 0);
	struct thread_registers r;
	w->arg[0] = arg0, w->arg[1] = arg1, w->arg[2] = fs, w->arg[3] = gs;
	check_ok(tcb_read_registers(IPC, w->tcb, &r));
	r.fs_base = fs, r.gs_base = gs;
	check_ok(tcb_write_registers(IPC, w->tcb, 1, &r));
	return w;
}

TEST(bases, 1, 0, "fast path: FS and GS bases of both sides survive hundreds of switches")
{
	for (unsigned priority = CLIENT - 10; has_base_instructions() && priority <= CLIENT + 10; priority += 10) {
		uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
		struct worker *s = with_bases(base_server, priority, 0x111000, 0x222000, endpoint,
		                              object(OBJECT_REPLY, 0));
		until(waits(s));
		struct worker *c = with_bases(base_client, CLIENT, 0x333000, 0x7fffffffe000, endpoint, 0);
		until(c->done);
		check_eq(c->out[0], 0);
		check_eq(s->out[0], 0);
	}
}
