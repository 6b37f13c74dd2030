/* SPDX-License-Identifier: BSD-2-Clause */
/* A machine's memory map, its boot_info as a loader would write it, and its birth and end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skerry/core_control.h>
#include <skerry/doorbell.h>
#include <skerry/ledger.h>
#include <skerry/root_info.h>
#include "arena.h"
#include "boot.h"
#include "direct.h"
#include "hosted.h"
#include "message.h"

/* Offsets into a cluster's part of the arena. Only RAM, IMAGE and LEDGER exist: what is not the kernel's to touch
 * faults. */
#define RAM_OFFSET     0x0000000ull
#define RAM_DEFAULT    0x1000000ull
#define IMAGE_OFFSET   0x8000000ull
#define IMAGE_SIZE     0x4000ull
#define MODULES_OFFSET 0xa000000ull
#define MODULES_SIZE   0x400000ull
#define DEVICE_OFFSET  0xc000000ull
#define DEVICE_SIZE    0x10000ull
#define LEDGER_OFFSET  0xe000000ull
#define ROOT_VADDR     0x400000ull
#define CHANNEL_SIZE   0x200000ull

/* Channels live in part 0: doorbell area of side 0, of side 1, and at 2 MiB the memory. */
#define AREA_SIZE doorbell_area_size(HOSTED_CORES)
static uint64_t channel_base(unsigned id) { return (id + 1) * 2 * CHANNEL_SIZE; }

uint64_t hosted_list(const struct boot_core *list) { return (uint64_t)list - arch_direct_base(); }

/* The list of the first cores of another cluster. */
static uint64_t list_cores(struct hosted_cores *cores, unsigned cluster, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		cores->of[cluster][i] = (struct boot_core){ hosted_apic(cluster, i), hosted_apic(cluster, i) };
	return hosted_list(cores->of[cluster]);
}

static void make_channel(struct boot_info *info, struct hosted_cores *cores, const struct hosted_link *link)
{
	uint64_t base = channel_base(link->id);
	struct boot_channel *channel = &info->channel[info->channel_count++];
	if (link->side == 0) {
		arena_take(base, 2 * AREA_SIZE);
		for (unsigned side = 0; side < 2; side++) {
			struct doorbell_area *area = direct(base + side * AREA_SIZE);
			for (unsigned i = 0; i < DOORBELL_COUNT; i++)
				area->route[i] = DOORBELL_UNBOUND;
		}
	}
	*channel = (struct boot_channel){
		.id = link->id, .peer = link->peer, .side = link->side, .remote = link->remote,
		.memory = { base + CHANNEL_SIZE, CHANNEL_SIZE },
		.ring = base + link->side * AREA_SIZE,
		.rx = base + !link->side * AREA_SIZE,
		.peer_cpu_count = link->peer_cores,
		.peer_cores = list_cores(cores, link->peer, link->peer_cores),
	};
}

/* The clusters' control words, behind the channels; there as long as a machine that controls others is. */
#define CONTROL_BASE 0x8000000ull
enum { CONTROL_SIZE = BOOT_MAX_CLUSTERS * sizeof(struct cluster_control),
       CORES_SIZE = HOSTED_CPUS * sizeof(struct core_control) };
#define CORES_BASE (CONTROL_BASE + CONTROL_SIZE)
#define WORDS_SIZE (CONTROL_SIZE + CORES_SIZE)
static unsigned controllers;
static _Atomic uint64_t lost_starts; /* bit: cluster */

struct cluster_control *hosted_control(unsigned cluster)
{
	kernel_assert(controllers && cluster < BOOT_MAX_CLUSTERS);
	return (struct cluster_control *)direct(CONTROL_BASE) + cluster;
}

struct core_control *hosted_core_control(unsigned cpu)
{
	kernel_assert(controllers && cpu < HOSTED_CPUS);
	return (struct core_control *)direct(CORES_BASE) + cpu;
}

/* A core that nobody has, as the loader gives it out at boot. */
static void own_core(unsigned cluster, unsigned index, bool is_here)
{
	struct core_control *control = hosted_core_control(hosted_apic(cluster, index));
	if (is_here && !atomic_load(&control->word))
		atomic_store(&control->word, core_word(0, cluster, cluster, CORE_OWNED));
}

void hosted_lose_starts(unsigned cluster, bool lose)
{
	if (lose)
		atomic_fetch_or(&lost_starts, 1ull << cluster);
	else
		atomic_fetch_and(&lost_starts, ~(1ull << cluster));
}

static void first_life(unsigned cluster)
{
	if (!hosted_control(cluster)->word)
		atomic_store(&hosted_control(cluster)->word, control_word(1, 0, CONTROL_RUNNING));
}

static void make_controlled(struct boot_info *info, struct hosted_cores *cores, const struct hosted_config *config)
{
	if (!config->controlled_count)
		return;
	if (!controllers++)
		arena_take(CONTROL_BASE, WORDS_SIZE);
	info->control = CONTROL_BASE;
	info->core_control = CORES_BASE;
	direct_words(info);
	first_life(config->cluster);
	for (unsigned i = 0; i < config->cores; i++)
		own_core(config->cluster, i, boot_cores_has(&info->cores, i));
	for (unsigned i = 0; i < config->foreign_count; i++)
		cores->own[config->foreign[i].index].number = config->foreign[i].cpu;
	info->controlled_count = config->controlled_count;
	for (unsigned i = 0; i < config->controlled_count; i++) {
		const struct hosted_controlled *from = &config->controlled[i];
		struct boot_controlled *to = &info->controlled[i];
		to->cluster = from->cluster;
		to->cpu_count = from->cores;
		to->boot_core = from->boot_core ? from->boot_core - 1 : BOOT_NO_CORE;
		to->cores = list_cores(cores, from->cluster, from->cores);
		for (unsigned core = 0; core < from->cores; core++)
			own_core(from->cluster, core, true);
		first_life(from->cluster);
	}
}

/* The loader has them at once, where their interrupts arrive; the boot processor, if its handler finds that it must go
 * there. */
void arch_fence_cores(struct kernel *kernel, const struct boot_controlled *target,
                      const struct boot_cores *cores)
{
	struct hosted *machine = (struct hosted *)((char *)kernel - __builtin_offsetof(struct hosted, kernel));
	struct cluster_control *control = hosted_control(target->cluster);
	for (unsigned i = 0; i < target->cpu_count; i++) {
		if (!boot_cores_has(cores, i))
			continue;
		atomic_fetch_add(&machine->fenced, 1);
		if (!(atomic_load(&lost_starts) >> target->cluster & 1) &&
		    (i != target->boot_core || control_must_park(control)))
			control_arrive(control, i);
	}
}

static void make_info(struct boot_info *info, struct hosted_cores *cores, const struct hosted_config *config)
{
	uint64_t part = arena_part(config->cluster);
	*info = (struct boot_info){
		.magic = BOOT_INFO_MAGIC, .size = sizeof(*info), .cluster = config->cluster,
		.cluster_count = ARENA_CLUSTERS, .tsc_hz = 1000000000, .lapic_hz = 1000000000,
		.cpu_count = config->cores, .own_count = config->cores, .boot_core = BOOT_NO_CORE,
		.cores = { { ~0ull >> (64 - config->cores) & ~config->absent } },
		.root_cnode_bits = ROOT_CNODE_BITS,
		.memory_count = 1, .memory = { { part + RAM_OFFSET, config->memory } },
		.modules = { part + MODULES_OFFSET, MODULES_SIZE },
		.segment_count = 1,
		.segment = { { ROOT_VADDR, part + IMAGE_OFFSET, IMAGE_SIZE, BOOT_READ | BOOT_EXECUTE, 0 } },
		.root_entry = ROOT_VADDR, .kernel_name = REGIME_HEADER,
	};
	if (config->gsis) {
		info->device_count = 1;
		info->device[0] = (struct boot_range){ part + DEVICE_OFFSET, DEVICE_SIZE };
	}
	if (config->beat_ms) {
		info->beat_ms = config->beat_ms;
		info->ledger_count = 1;
		info->ledger[0] = (struct boot_ledger){ .cluster = config->cluster, .base = part + LEDGER_OFFSET };
		arena_take(part + LEDGER_OFFSET, sizeof(struct ledger));
	}
	info->core_list = hosted_list(cores->own);
	for (unsigned i = 0; i < config->cores; i++)
		cores->own[i] = (struct boot_core){ hosted_apic(config->cluster, i), hosted_apic(config->cluster, i) };
	for (unsigned i = 0; i < config->channel_count; i++)
		make_channel(info, cores, &config->channel[i]);
	make_controlled(info, cores, config);
}

static struct hosted *machines[ARENA_CLUSTERS];

uint32_t hosted_apic(unsigned cluster, unsigned core) { return cluster * HOSTED_CORES + core; }

struct hosted_core *hosted_core_by_apic(uint32_t apic)
{
	struct hosted *machine = machines[apic / HOSTED_CORES];
	return machine && apic % HOSTED_CORES < machine->config.cores ? &machine->core[apic % HOSTED_CORES] : 0;
}

struct hosted *hosted_create(const struct hosted_config *config)
{
	struct hosted *machine = aligned_alloc(_Alignof(struct hosted), sizeof(*machine));
	if (!machine || config->cluster >= ARENA_CLUSTERS || machines[config->cluster] || config->gsis > HOSTED_PINS) {
		fprintf(stderr, "no machine can be made of this configuration\n");
		abort();
	}
	memset(machine, 0, sizeof(*machine));
	machines[config->cluster] = machine;
	machine->config = *config;
	machine->config.memory = config->memory ? config->memory : RAM_DEFAULT;
	machine->time = 1;
	machine->tsc_start = __builtin_ia32_rdtsc();
	pthread_mutex_init(&machine->pins, 0);
	machine->random = config->seed * 2 + 1;
	machine->checks_interrupts = !config->threads && !config->any_interrupts;
	uint64_t part = arena_part(config->cluster);
	arena_take(part + RAM_OFFSET, machine->config.memory);
	arena_take(part + IMAGE_OFFSET, IMAGE_SIZE);
	direct_begin(config->cluster, machine->config.memory);
	make_info(&machine->info, &machine->cores, &machine->config);

	hosted_self = &machine->core[0];
	hosted_self->machine = machine;
	boot_kernel(&machine->kernel, &machine->info);
	boot_root_task(&machine->kernel);
	hosted_self = 0;
	for (unsigned i = 0; i < config->cores; i++)
		hosted_core_init(machine, i);
	hosted_run(machine);
	machine->root = current(machine->core[0].cpu);
	machine->root_cnode = (struct slot *)machine->root->slot[THREAD_CSPACE].cap.object;
	return machine;
}

void hosted_destroy(struct hosted *machine)
{
	uint64_t part = arena_part(machine->config.cluster);
	for (unsigned i = 0; i < machine->config.cores; i++)
		hosted_core_free(&machine->core[i]);
	pthread_mutex_destroy(&machine->pins);
	arena_drop(part + RAM_OFFSET, machine->config.memory);
	direct_end(machine->config.cluster);
	arena_drop(part + IMAGE_OFFSET, IMAGE_SIZE);
	if (machine->config.beat_ms)
		arena_drop(part + LEDGER_OFFSET, sizeof(struct ledger));
	if (machine->config.controlled_count && !--controllers)
		arena_drop(CONTROL_BASE, WORDS_SIZE);
	machines[machine->config.cluster] = 0;
	free(machine);
}

uint64_t hosted_root_invokes(struct hosted *machine, uint64_t cptr, uint64_t label, const uint64_t caps[3],
                             unsigned count, const uint64_t *words)
{
	struct hosted_call call = { .number = SYS_CALL, .cptr = cptr, .info = message_info(label, 3, count) };
	struct ipc_buffer *buffer = thread_ipc_buffer(machine->root);
	for (unsigned i = 0; i < count; i++)
		*(i < MESSAGE_REGISTERS ? &call.word[i] : &buffer->words[i]) = words[i];
	for (unsigned i = 0; i < 3; i++)
		buffer->caps[i] = caps[i];
	hosted_post_call(machine, 0, &call);
	hosted_run(machine);
	return machine->root->context.registers.rax;
}
