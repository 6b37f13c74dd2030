/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the entry code (entry.S) arrives in C, and how a core leaves the kernel again. */
#include "arch.h"
#include "assert.h"
#include "core_local.h"
#include "kernel.h"
#include "local_apic.h"
#include "panic.h"
#include "remote.h"
#include "syscall.h"

enum { EXCEPTIONS = 32, EXCEPTION_PAGE_FAULT = 14 };

_Noreturn void entry_resume(const struct context *context);
_Noreturn void entry_idle(void);

/* The way out of all but the fast path: deferred work, then the current thread. System calls come here from entry.S. */
_Noreturn void trap_leave(struct cpu *cpu)
{
	kernel_assert(!cpu->own.handoff && cpu == this_core()->cpu);
	if (cpu->own.pending)
		arch_finish(cpu);
	if (cpu->shared.current == &cpu->shared.idle)
		entry_idle();
	entry_resume(&cpu->shared.current->context);
}

_Static_assert(VECTOR_REST < VECTOR_IRQ, "what a budget leaves of deadlines comes below the devices");
_Static_assert(VECTOR_IRQ + KERNEL_IRQS <= VECTOR_RESCHEDULE, "the devices' vectors are below the cores'");
_Static_assert(VECTOR_RESCHEDULE < VECTOR_TIMER && VECTOR_DOORBELL < VECTOR_TIMER,
               "nobody's interrupts keep the timer's");

static void handle_interrupt(struct cpu *cpu, unsigned vector)
{
	if (vector == VECTOR_SPURIOUS)
		return;
	if (vector == VECTOR_TIMER || vector == VECTOR_REST) {
		kernel_timer(cpu);
	} else if (vector == VECTOR_DOORBELL) {
		kernel_doorbell(cpu);
	} else if (vector == VECTOR_RESCHEDULE) {
		remote_serve(cpu);
		kernel_reschedule(cpu);
	} else if (vector >= VECTOR_IRQ && vector < VECTOR_IRQ + KERNEL_IRQS) {
		kernel_irq(cpu, vector - VECTOR_IRQ);
	}
	local_apic_end_of_interrupt();
}

_Noreturn void trap_user(struct cpu *cpu, const struct context *context)
{
	kernel_assert((context->cs & 3) == 3 && context == &cpu->shared.current->context);
	unsigned vector = context->vector;
	if (vector >= EXCEPTIONS) {
		handle_interrupt(cpu, vector);
	} else if (vector == EXCEPTION_PAGE_FAULT) {
		uint64_t words[4] = { context->rip, context->rsp, read_cr2(), context->error };
		kernel_fault(cpu, FAULT_PAGE, 4, words);
	} else {
		uint64_t words[5] = { context->rip, context->rsp, context->rflags, vector, context->error };
		kernel_fault(cpu, FAULT_EXCEPTION, 5, words);
	}
	trap_leave(cpu);
}

_Noreturn void trap_again(struct cpu *cpu, struct context *context)
{
	/* context_restart() sets it anew where the thread is stopped again */
	context->vector &= ~(uint64_t)VECTOR_AGAIN;
	trap_user(cpu, context);
}

_Noreturn void trap_kernel(const struct context *frame)
{
	struct cpu *cpu = this_core()->cpu;
	if (frame->vector < EXCEPTIONS || cpu->shared.current != &cpu->shared.idle)
		panic_exception(frame);
	handle_interrupt(cpu, frame->vector);
	trap_leave(cpu);
}

_Noreturn void trap_start(struct cpu *cpu)
{
	kernel_reschedule(cpu);
	trap_leave(cpu);
}
