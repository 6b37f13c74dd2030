/* SPDX-License-Identifier: BSD-2-Clause */
#include "panic.h"
#include <stdatomic.h>
#include <skerry/ledger.h>
#include "arch.h"
#include "assert.h"
#include "channel.h"
#include "core_local.h"
#include "fence.h"
#include "kernel.h"
#include "local_apic.h"
#include "print.h"

enum { EXCEPTION_NMI = 2, BACKTRACE_DEPTH = 16 };

uint32_t panic_cluster;
static atomic_flag panicking = ATOMIC_FLAG_INIT;

_Noreturn void arch_hang(void)
{
	for (;;)
		arch_relax(); /* interrupts are off: a core that spins, not one that halts */
}

_Noreturn void arch_init_self(void)
{
	local_apic_init_self();
	cpu_stop();
}

/*
 * Stops this core for good, except for the NMI that fences this cluster: that must reach a core which stops in an NMI
 * handler, too.
 */
static _Noreturn void stop_core(void)
{
	cpu_unblock_nmi(SELECTOR_KERNEL_CODE, SELECTOR_KERNEL_DATA);
	cpu_stop();
}

static bool is_kernel_address(uint64_t address) { return address >= KERNEL_IMAGE_BASE; }

static void print_backtrace(uint64_t rip, uint64_t rbp)
{
	struct print_line line;
	print_begin(&line, "  backtrace: %p", rip);
	for (unsigned i = 0; i < BACKTRACE_DEPTH && is_kernel_address(rbp) && rbp % 8 == 0; i++) {
		const uint64_t *frame = (const uint64_t *)rbp;
		print_more(&line, " %p", frame[1]);
		if (frame[0] <= rbp)
			break;
		rbp = frame[0];
	}
	print_end(&line);
}

static void report_trace(const struct trace *trace)
{
	uint64_t first = trace->count > TRACE_EVENTS ? trace->count - TRACE_EVENTS : 0;
	for (uint64_t i = first; i < trace->count; i++) {
		const struct trace_event *event = &trace->event[i % TRACE_EVENTS];
		print("    %p %s %u %p", event->time, trace_name(event->kind), event->number, event->argument);
	}
}

static void report_cores(const struct kernel *kernel)
{
	for (unsigned i = 0; kernel && i < kernel->cpu_count; i++) {
		if (!kernel_has_core(kernel, i))
			continue;
		const struct cpu *cpu = kernel->cpu[i];
		const struct thread *thread = cpu->shared.current;
		bool idle = thread == &cpu->shared.idle;
		print("  core %u: %s thread %p rip %p pending %u request %u", i, idle ? "idle" : "runs",
		      (uint64_t)thread, idle ? 0ull : thread->context.rip, cpu->own.pending,
		      core_group_asks(cpu->own.group, cpu->own.member) ? cpu->own.group->request : 0);
		report_trace(&cpu->own.trace);
	}
}

/* Writes the last words and rings every core that listens to this cluster, so that its watchers need not wait for a
 * tick. */
static void ledger_say(struct kernel *kernel, enum ledger_reason kind, uint32_t core, const char *reason)
{
	if (!kernel->ledger)
		return;
	atomic_store_explicit(&kernel->ledger->said_at, arch_time(), memory_order_relaxed);
	ledger_last_words(kernel->ledger, kind, core, reason);
	for (unsigned i = 0; i < kernel->channel_count; i++) {
		const struct channel_end *end = &kernel->channel[i];
		struct boot_cores cores = { 0 };
		doorbells_ring_all(end, &cores);
		for (uint32_t core = 0; core < end->peer_cpu_count; core++)
			if (boot_cores_has(&cores, core))
				local_apic_send(end->peer_core[core].apic, VECTOR_DOORBELL);
	}
}

/* Returns false if another core of this cluster reports already. */
static void panic_begin(enum ledger_reason kind, const char *reason)
{
	struct core_local *local = this_core();
	if (atomic_flag_test_and_set(&panicking))
		stop_core();
	struct kernel *kernel = local->cpu ? kernel_of(local->cpu) : 0;
	if (kernel)
		ledger_say(kernel, kind, local->index, reason);
	for (unsigned i = 0; kernel && i < kernel->cpu_count; i++)
		if (i != local->index && kernel_has_core(kernel, i))
			nmi_send(i, kernel->map_core[i].apic, NMI_PARK);
	print(""); /* for human readers: another writer's line may have begun */
	print("kernel panic: cluster %u core %u: %s", panic_cluster, local->index, reason);
	report_cores(kernel);
}

static _Noreturn void panic_end(void)
{
	const struct core_local *local = this_core();
	const struct kernel *kernel = local->cpu ? kernel_of(local->cpu) : 0;
	if (kernel && kernel->ledger)
		ledger_report_ended(kernel->ledger);
	stop_core();
}

_Noreturn void arch_panic(const char *reason)
{
	panic_begin(LEDGER_PANIC, reason);
	print_backtrace((uint64_t)__builtin_return_address(0), (uint64_t)__builtin_frame_address(0));
	panic_end();
}

static _Noreturn void panic_report(const struct context *f, enum ledger_reason kind, const char *reason)
{
	panic_begin(kind, reason);
	print("  vector %u error %p cr2 %p", (unsigned)f->vector, f->error, read_cr2());
	print("  rip %p rsp %p rflags %p", f->rip, f->rsp, f->rflags);
	print("  rax %p rbx %p rcx %p rdx %p", f->rax, f->rbx, f->rcx, f->rdx);
	print("  rsi %p rdi %p rbp %p r8  %p", f->rsi, f->rdi, f->rbp, f->r8);
	print("  r9  %p r10 %p r11 %p r12 %p", f->r9, f->r10, f->r11, f->r12);
	print("  r13 %p r14 %p r15 %p cr3 %p", f->r13, f->r14, f->r15, read_cr3());
	print_backtrace(f->rip, f->rbp);
	panic_end();
}

_Noreturn void panic_exception(const struct context *frame)
{
	panic_report(frame, LEDGER_EXCEPTION, "exception in the kernel");
}

void nmi_send(unsigned core, uint32_t apic_id, enum nmi_reason reason)
{
	kernel_assert(core < CORES_MAX);
	atomic_store_explicit(&core_local[core].nmi_reason, reason, memory_order_release);
	local_apic_send_nmi(apic_id);
}

/* Without the kernel's lock, which any core may hold now, this one included. */
static _Noreturn void take_nmi(struct core_local *local, const struct context *frame)
{
	fence_obey();
	if (atomic_load_explicit(&local->nmi_reason, memory_order_acquire) == NMI_PARK)
		stop_core();
	panic_report(frame, LEDGER_NMI, "NMI that no core sent");
}

/*
 * NMI, double fault, machine check. GS may be the user's, and hold a kernel address: the stack says
 * which core this is.
 */
_Noreturn void trap_fatal(const struct context *frame)
{
	uint64_t index = ((uint64_t)frame - KERNEL_STACKS_BASE) / KERNEL_STACKS_STRIDE;
	struct core_local *local = &core_local[index];
	write_msr(MSR_GS_BASE, (uint64_t)local);
	if (frame->vector == EXCEPTION_NMI)
		take_nmi(local, frame);
	panic_exception(frame);
}
