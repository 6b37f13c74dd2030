/* SPDX-License-Identifier: BSD-2-Clause */
#include "cluster_control.h"
#include <skerry/core_control.h>
#include "arch.h"
#include "core_move.h"
#include "kernel.h"
#include "memory_move.h"
#include "message.h"
#include LOCKING_HEADER

/* Returns null if this cluster may not start cluster `m0` again. It never may start itself. */
static const struct boot_controlled *find_target(const struct kernel *kernel, uint64_t cluster)
{
	const struct boot_info *boot = kernel->boot;
	kernel_assert(boot->controlled_count <= BOOT_MAX_CLUSTERS);
	if (cluster == boot->cluster)
		return 0;
	for (unsigned i = 0; i < boot->controlled_count; i++)
		if (boot->controlled[i].cluster == cluster)
			return &boot->controlled[i];
	return 0;
}

static struct cluster_control *own_control(const struct kernel *kernel)
{
	return (struct cluster_control *)direct(kernel->boot->control) + kernel->boot->cluster;
}

static struct core_control *target_core(const struct kernel *kernel, const struct boot_controlled *target,
                                        uint32_t index)
{
	const struct boot_core *cores = direct(target->cores);
	return (struct core_control *)direct(kernel->boot->core_control) + cores[index].number;
}

/* The cores that the cluster has. */
static struct boot_cores target_cores(const struct kernel *kernel, const struct boot_controlled *target)
{
	struct boot_cores cores = { 0 };
	for (unsigned i = 0; i < target->cpu_count; i++)
		if (core_is_of(core_read(target_core(kernel, target, i)), target->cluster))
			boot_cores_add(&cores, i);
	return cores;
}

/*
 * From now on these cores belong to the fenced cluster: none can be parked, so the reset reaches no core of another
 * cluster.
 */
static struct boot_cores hold_cores(const struct kernel *kernel, const struct boot_controlled *target)
{
	struct boot_cores cores = { 0 };
	for (unsigned i = 0; i < target->cpu_count; i++)
		if (core_hold(target_core(kernel, target, i), target->cluster))
			boot_cores_add(&cores, i);
	return cores;
}

static uint64_t cluster_start(const struct kernel *kernel, struct cluster_control *control,
                              const struct boot_controlled *target)
{
	const struct boot_cores cores = target_cores(kernel, target);
	if (!control_start(control, kernel->boot->cluster, &cores))
		return SKERRY_BUSY;
	control_release(own_control(kernel), target->cluster);
	return SKERRY_OK;
}

/*
 * Hazard: the claim may pass to another cluster before the interrupts are sent. They then reset cores that this cluster
 * may no longer fence. That is harmless: those cores go to the loader, which starts them only together with their
 * cluster.
 */
static uint64_t cluster_fence(struct kernel *kernel, struct cluster_control *control,
			      const struct boot_controlled *target)
{
	kernel_assert(target->cluster != kernel->boot->cluster && target->cpu_count <= BOOT_MAX_CPUS);
	if (!control_fence_begin(control, kernel->boot->cluster, target->cpu_count))
		return SKERRY_BUSY;
	if (control_yields(own_control(kernel), control, kernel->boot->cluster, target->cluster))
		return SKERRY_BUSY;
	const struct boot_cores cores = hold_cores(kernel, target);
	arch_fence_cores(kernel, target, &cores);
	return control_fence_end(control, kernel->boot->cluster) ? SKERRY_OK : SKERRY_BUSY;
}

uint64_t invoke_cluster_control(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	assert_exclusive();
	kernel_assert(slot->cap.type == OBJECT_CLUSTER_CONTROL);
	struct kernel *kernel = kernel_of(cpu);
	struct thread *thread = current(cpu);
	uint64_t label = message_label(info);
	uint32_t own = kernel->boot->cluster;
	if (label >= CORE_READ && label <= CORE_TAKE)
		return invoke_core_control(cpu, slot, info);
	if (label == MEMORY_GIVE || label == MEMORY_TAKE)
		return invoke_memory_control(cpu, slot, info);
	if (label < CLUSTER_READ || label > CLUSTER_GIVE_UP)
		return SKERRY_BAD_LABEL;
	if (message_words(info) < (label == CLUSTER_CLAIM ? 2u : 1u))
		return SKERRY_TRUNCATED;
	if (!(slot->cap.rights & (label == CLUSTER_READ ? RIGHT_READ : RIGHT_WRITE)))
		return SKERRY_NO_RIGHTS;
	const struct boot_controlled *target = find_target(kernel, message_word(thread, 0));
	if (!target)
		return SKERRY_BAD_ARGUMENT;
	kernel_assert(kernel->boot->control && target->cluster < BOOT_MAX_CLUSTERS);
	struct cluster_control *control = (struct cluster_control *)direct(kernel->boot->control) + target->cluster;
	uint64_t expected = label == CLUSTER_CLAIM ? message_word(thread, 1) : 0;

	kernel_irrevocable(cpu);
	switch (label) {
	case CLUSTER_READ:
		message_set_word(thread, 0, control_read(control));
		return SKERRY_OK;
	case CLUSTER_CLAIM: return control_claim(control, expected, own) ? SKERRY_OK : SKERRY_BUSY;
	case CLUSTER_FENCE: return cluster_fence(kernel, control, target);
	case CLUSTER_START: return cluster_start(kernel, control, target);
	default: return control_give_up(control, own) ? SKERRY_OK : SKERRY_BUSY;
	}
}
