/* SPDX-License-Identifier: BSD-2-Clause */
/* Every core arrives here from the loader, in any order (skerry/boot.h). */
#include <stdatomic.h>
#include <skerry/cpu_needs.h>
#include "arch.h"
#include "boot.h"
#include "console.h"
#include "core_local.h"
#include "core_move.h"
#include "descriptors.h"
#include "fence.h"
#include "fpu.h"
#include "idle.h"
#include "io_apic.h"
#include "kernel.h"
#include "local_apic.h"
#include "paging.h"
#include "panic.h"
#include "print.h"
#include "skerry_version.h"

struct core_local core_local[CORES_MAX] __attribute__((aligned(64)));

static struct kernel kernel;
static _Atomic uint32_t console_ready, kernel_built, cores_entered, all_entered;

_Noreturn void trap_start(struct cpu *cpu);

static bool tags_usable(void) { return cpuid(1, 0).ecx >> 17 & 1; }

static void enable_protection(struct core_local *local)
{
	struct cpuid features = cpuid(7, 0);
	uint64_t cr4 = read_cr4();
	cr4 |= CR4_MCE; /* else a machine check ends all clusters */
	cr4 |= features.ebx >> 0 & 1 ? CR4_FSGSBASE : 0;
	cr4 |= features.ebx >> 7 & 1 ? CR4_SMEP : 0;
	cr4 |= features.ebx >> 20 & 1 ? CR4_SMAP : 0;
	cr4 |= features.ecx >> 2 & 1 ? CR4_UMIP : 0;
	cr4 |= tags_usable() ? CR4_PCIDE : 0;
	write_cr4(cr4);
	local->fsgsbase = !!(cr4 & CR4_FSGSBASE);
	/* entries 0-3 as at reset, 4: write combining */
	write_msr(MSR_PAT, (read_msr(MSR_PAT) & ~(0xffull << 32)) | 1ull << 32);
}

static void wait_for(_Atomic uint32_t *counter, uint32_t value)
{
	while (atomic_load_explicit(counter, memory_order_acquire) != value)
		arch_relax();
}

/* Core 0 alone. A loader of another version was refused by the words in front of the entry: nothing could be printed
 * here. */
static void find_console(const struct boot_info *info)
{
	if (info->magic != BOOT_INFO_MAGIC || info->size != sizeof(*info))
		arch_panic("the loader speaks another version of boot.h");
	panic_cluster = info->cluster;
	paging_init(info);
	console_init(info);
	if (info->own_count > CORES_MAX)
		arch_panic("the cluster has more cores than a kernel with assertions takes");
	atomic_store_explicit(&console_ready, 1, memory_order_release);
}

/* Panics with the first feature that this core lacks. The loader has checked its own core. */
static void check_core(void)
{
#define LACKS(name, leaf, register, bit) "this core lacks " name,
	static const char *const lacking[CPU_NEED_COUNT] = { CPU_NEEDS(LACKS) "this core lacks " CPU_STATE_NEED };
	uint32_t lacks = cpu_lacks(cpuid);
	if (lacks)
		arch_panic(lacking[__builtin_ctz(lacks)]);
}

/* A core checks and enables features only when there is a console to report them to. */
static void init_core(const struct boot_info *info, unsigned index)
{
	struct core_local *local = &core_local[index];
	local->index = index;
	local->stack_top = core_stack_top(index);
	descriptors_init(local);
	if (index)
		wait_for(&console_ready, 1);
	enable_protection(local);
	if (!index)
		find_console(info);
	check_core();
	fpu_enable();
}

/* Core 0 alone. */
enum { LINE_MS = 10 }; /* more than a line takes at 115200 baud; managers wait as long (root/output/results.c) */

/* Kernels of one machine share the console, but no lock: each has its time for its first line. */
static void await_turn(const struct boot_info *info)
{
	uint64_t turn = arch_time() + info->cluster * (info->tsc_hz / 1000 * LINE_MS);
	while (arch_time() < turn)
		arch_relax();
}

static void build_kernel(const struct boot_info *info)
{
	fence_init(info);
	paging_use_tags(tags_usable());
	local_apic_setup(info->x2apic, info->lapic_hz);
	boot_kernel(&kernel, info);
	if (info->ioapic_count)
		io_apic_init(info);
	boot_root_task(&kernel);
	await_turn(info);
	print("cluster %u: kernel %s, Skerry " SKERRY_VERSION ", %u cores, %u MHz", info->cluster, info->kernel_name,
	      boot_cores_count(&info->cores), (unsigned)(info->tsc_hz / 1000000));
	atomic_store_explicit(&kernel_built, 1, memory_order_release);
}

_Noreturn void start(const struct boot_info *info, uint64_t index)
{
	if (index >= CORES_MAX)
		cpu_stop(); /* core 0 says so */
	init_core(info, index);
	if (index == 0)
		build_kernel(info);
	else
		wait_for(&kernel_built, 1);
	core_local[index].cpu = kernel.cpu[index];
	core_local[index].apic_id = kernel.map_core[index].apic;
	local_apic_init();
	if (!kernel.cpu[index]->own.stat->started) /* a core that joins again idles since it left */
		idle_start(kernel.cpu[index]->own.stat, arch_time());

	/* a core that joins a kernel that runs, and may have been there before; not by the identity mapping, which may
	 * be gone */
	bool joins = !boot_cores_has(&info->cores, (uint32_t)index) ||
	             atomic_load_explicit(&all_entered, memory_order_acquire);
	if (!joins)
		atomic_fetch_add_explicit(&cores_entered, 1, memory_order_acq_rel);
	if (index == 0) {
		wait_for(&cores_entered, boot_cores_count(&info->cores));
		paging_drop_identity();
		atomic_store_explicit(&all_entered, 1, memory_order_release);
	}
	paging_load_kernel();
	if (joins && !core_arrive(kernel.cpu[index]))
		arch_leave_kernel(kernel.cpu[index]);
	trap_start(kernel.cpu[index]);
}
