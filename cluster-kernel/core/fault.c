/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"
#include "arch.h"
#include "cnode.h"
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "print.h"
#include "outcome.h"
#include "timer.h"
#include LOCKING_HEADER

/*
 * Rate limit of fault reports. A report takes some 10 ms on a serial line, with the lock held, and any program can make
 * threads that fault without a handler. This many are printed in a burst, then one a second; the rest are counted. The
 * next report prints their number, or else the core's timer does, a second after the first one that was left out.
 */
enum { REPORTS_AT_ONCE = 8 };

static bool may_report(struct kernel *kernel)
{
	assert_exclusive();
	uint64_t now = arch_time(), second = kernel->tsc_hz;
	if (kernel->reports_until < now)
		kernel->reports_until = now;
	if (kernel->reports_until - now > (REPORTS_AT_ONCE - 1) * second)
		return false;
	kernel->reports_until += second;
	return true;
}

static void report_missed(struct kernel *kernel)
{
	assert_exclusive();
	if (kernel->reports_missed)
		print("kernel: %u more threads without fault handler stopped", kernel->reports_missed);
	kernel->reports_missed = 0;
}

static void count_miss(struct cpu *cpu)
{
	assert_exclusive();
	if (kernel_of(cpu)->reports_missed++)
		return;
	kernel_of(cpu)->missed_since = arch_time();
	cpu->own.report_at = kernel_of(cpu)->missed_since + kernel_of(cpu)->tsc_hz;
	timer_housekeeping(cpu);
}

/* With the kernel for itself. */
static void fault_report(struct cpu *cpu, unsigned fault, const uint64_t *words)
{
	assert_exclusive();
	if (!may_report(kernel_of(cpu))) {
		count_miss(cpu);
		return;
	}
	report_missed(kernel_of(cpu));
	print("kernel: thread without fault handler stopped: fault %u rip %p sp %p %p %p", fault, words[0], words[1],
	      words[2], words[3]);
}

/* Another core may have printed the number and counted more since; that core's timer prints those. One line a
 * second. */
void faults_timer(struct cpu *cpu)
{
	cpu->own.report_at = 0;
	timer_housekeeping(cpu);
	if (arch_time() - kernel_of(cpu)->missed_since < kernel_of(cpu)->tsc_hz)
		return;
	kernel_irrevocable(cpu);
	report_missed(kernel_of(cpu));
}

void faults_take_over(struct cpu *cpu, const struct cpu *leaving)
{
	assert_exclusive();
	kernel_assert(leaving != cpu);
	if (!leaving->own.report_at)
		return;
	cpu->own.report_at = timer_earlier(cpu->own.report_at, leaving->own.report_at);
	timer_housekeeping(cpu);
}

bool fault_raise(struct cpu *cpu, struct thread *thread, unsigned fault, unsigned count, const uint64_t *words)
{
	kernel_assert(thread != &cpu->shared.idle);
	kernel_assert(count <= sizeof(thread->fault_words) / sizeof(thread->fault_words[0]));
	struct slot *slot = thread->fault_cptr ? cspace_lookup(thread, thread->fault_cptr) : 0;
	if (!slot || slot->cap.type != OBJECT_ENDPOINT || !(slot->cap.rights & RIGHT_WRITE)) {
		if (!kernel_exclusive(cpu))
			return false;
		kernel_irrevocable(cpu);
		fault_report(cpu, fault, words);
		thread_become(thread, THREAD_INACTIVE);
		return true;
	}
	kernel_assert(thread_is(thread, THREAD_READY) && !thread->faulting);
	for (unsigned i = 0; i < count; i++)
		thread->fault_words[i] = words[i];
	thread->faulting = 1;
	uint64_t result = endpoint_send(cpu, thread, &slot->cap, message_info(fault, 0, count), SEND_CALL);
	if (objects_have_homes() && result == KERNEL_AWAY) {
		thread->faulting = 0;
		return false;
	}
	return true;
}
