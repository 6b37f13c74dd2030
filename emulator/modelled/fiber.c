/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fiber.h"
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <skerry/require.h>
#include "prices.h"

enum { STACK = 65536, HWCAP2_WRFSBASE = 2 };
enum { BUSY, IDLE, FIRST }; /* of a carrier's `work`; FIRST + party: is to run that fiber */

struct carrier;
struct fiber {
	void *stack; /* while it is saved; its registers are on it */
	uintptr_t storage;
	struct carrier *carrier;
	_Atomic bool go;
	_Atomic bool saved; /* the thread that makes it false runs it */
};
struct carrier {
	_Atomic uint32_t work; /* a futex */
	struct fiber *left;    /* the one that it ran, whose registers are being saved */
	struct fiber *next;    /* to be run once the one that it runs waits */
	void *stack;           /* of its loop, while it runs a fiber */
	uintptr_t storage;
	pid_t id;
};

static struct fiber fibers[MOST_CORES];
static struct carrier carriers[MOST_CORES];
static _Atomic unsigned carrier_count; /* behind the last one that has joined */
static _Atomic unsigned recent; /* the carrier that was the last to be given work */
static bool by_instruction;     /* FS base */

/* Saves the caller's registers and its stack in *from, and goes on at `to` with thread-local storage `storage`. */
void fiber_switch(void **from, void *to, uintptr_t storage, bool by_instruction) __attribute__((visibility("hidden")));
/* A carrier's first switch to its loop: %r13 (%r12). */
void fiber_begin(void) __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
        ".globl fiber_switch\n.hidden fiber_switch\n.type fiber_switch, @function\nfiber_switch:\n"
        "	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
        "	sub $8, %rsp\n	stmxcsr (%rsp)\n	fnstcw 4(%rsp)\n"
        "	mov %rsp, (%rdi)\n"
        "	mov %rsi, %rsp\n"
        "	test %cl, %cl\n	jz 1f\n"
        "	wrfsbase %rdx\n"
        "2:	ldmxcsr (%rsp)\n	fldcw 4(%rsp)\n	add $8, %rsp\n"
        "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
        "	ret\n"
        "1:	mov $158, %eax\n	mov $0x1002, %edi\n	mov %rdx, "
        "%rsi\n	syscall\n" /* arch_prctl(ARCH_SET_FS) */
        "	jmp 2b\n"
        ".size fiber_switch, . - fiber_switch\n"
        ".globl fiber_begin\n.hidden fiber_begin\n.type fiber_begin, @function\nfiber_begin:\n"
        "	mov %r12, %rdi\n	call *%r13\n	ud2\n"
        ".size fiber_begin, . - fiber_begin\n"
        ".popsection\n");

static bool fiber_claim(struct fiber *fiber)
{
	bool saved = true;
	return atomic_compare_exchange_strong(&fiber->saved, &saved, false);
}

/* A carrier that is idle runs the fiber, which the caller has claimed. */
static void carrier_start(const struct fiber *fiber)
{
	const unsigned count = carrier_count;
	for (unsigned at = recent;; at++) {
		struct carrier *c = &carriers[at % count];
		uint32_t idle = IDLE;
		if (atomic_compare_exchange_strong(&c->work, &idle, FIRST + (uint32_t)(fiber - fibers))) {
			recent = at % count;
			syscall(SYS_futex, &c->work, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
			return;
		}
		if (at % count == count - 1)
			sched_yield(); /* one is about to be */
	}
}

/* The registers of the fiber that the carrier ran are saved. Returns it, claimed, if it may go on meanwhile. */
static struct fiber *fiber_publish(struct carrier *carrier)
{
	struct fiber *left = carrier->left;
	carrier->left = NULL;
	if (!left)
		return NULL;
	require(!left->saved);
	left->saved = true;
	return left->go && fiber_claim(left) ? left : NULL;
}

/* Without the C library, whose thread-local storage another carrier may be using. */
static void futex_wait(_Atomic uint32_t *at, uint32_t value)
{
	register void *timeout __asm__("r10") = NULL;
	long result = SYS_futex;
	__asm__ volatile("syscall" : "+a"(result) : "D"(at), "S"(FUTEX_WAIT_PRIVATE), "d"(value), "r"(timeout) : "rcx",
	                 "r11", "memory");
}

static struct fiber *await_work(struct carrier *carrier)
{
	uint32_t work;
	carrier->work = IDLE;
	while ((work = carrier->work) == IDLE)
		futex_wait(&carrier->work, IDLE);
	carrier->work = BUSY;
	require(work >= FIRST && work - FIRST < MOST_CORES);
	return &fibers[work - FIRST];
}

static __attribute__((noreturn)) void carrier_run(struct carrier *carrier)
{
	for (;;) {
		struct fiber *fiber = fiber_publish(carrier);
		if (!fiber)
			fiber = await_work(carrier);
		require(fiber->stack && !fiber->saved);
		fiber->carrier = carrier;
		fiber_switch(&carrier->stack, fiber->stack, fiber->storage, by_instruction);
	}
}

/* The frame that fiber_switch() pops from a stack. */
struct frame {
	uint32_t mxcsr, fcw;
	uint64_t r15, r14, r13, r12, rbx, rbp, rip, above;
};

static void make_loop(struct carrier *carrier)
{
	uint8_t *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		abort();
	struct frame *frame = (struct frame *)(void *)(stack + STACK - sizeof(*frame) - 8);
	*frame = (struct frame){ .r12 = (uintptr_t)carrier, .r13 = (uintptr_t)carrier_run,
				   .rip = (uintptr_t)fiber_begin };
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(frame->mxcsr), "=m"(frame->fcw));
	carrier->stack = frame;
}

void fiber_join(unsigned party)
{
	struct carrier *carrier = &carriers[party];
	uintptr_t storage;
	__asm__("mov %%fs:0, %0" : "=r"(storage)); /* System V ABI for thread-local storage */
	by_instruction = getauxval(AT_HWCAP2) & HWCAP2_WRFSBASE;
	require(party < MOST_CORES && !fibers[party].carrier);
	carrier->storage = storage;
	carrier->id = (pid_t)syscall(SYS_gettid);
	make_loop(carrier);
	fibers[party].storage = storage;
	fibers[party].carrier = carrier;
	for (unsigned count = carrier_count; count <= party;)
		if (atomic_compare_exchange_weak(&carrier_count, &count, party + 1))
			break;
}

void fiber_go(unsigned party)
{
	require(party < MOST_CORES);
	fibers[party].go = true;
	if (fiber_claim(&fibers[party])) /* else it runs, or sees it as soon as it is saved */
		carrier_start(&fibers[party]);
}

void fiber_go_after(unsigned from, unsigned party)
{
	require(from != party && fibers[from].carrier && !fibers[from].carrier->next);
	fibers[party].go = true;
	if (fiber_claim(&fibers[party]))
		fibers[from].carrier->next = &fibers[party];
}

void fiber_stop(unsigned party) { atomic_store_explicit(&fibers[party].go, false, memory_order_release); }

void fiber_await(unsigned party)
{
	struct fiber *self = &fibers[party], *next = self->carrier->next;
	self->carrier->next = NULL;
	if (self->go && next)
		carrier_start(next);
	while (!self->go) {
		struct carrier *carrier = self->carrier;
		carrier->left = self;
		if (next) {
			next->carrier = carrier;
			fiber_switch(&self->stack, next->stack, next->storage, by_instruction);
		} else {
			fiber_switch(&self->stack, carrier->stack, carrier->storage, by_instruction);
		}
		next = fiber_publish(self->carrier);
		if (next && self->go) {
			carrier_start(next);
			next = NULL;
		}
	}
}

pid_t fiber_thread(unsigned party)
{
	require(party < MOST_CORES && fibers[party].carrier);
	return fibers[party].carrier->id;
}

void fiber_thread_moved(pid_t was, pid_t is)
{
	for (unsigned i = 0; i < carrier_count; i++)
		if (carriers[i].id == was)
			carriers[i].id = is;
}
