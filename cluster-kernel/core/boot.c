/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot.h"
#include <stddef.h>
#include <skerry/boot.h>
#include <skerry/doorbell.h>
#include <skerry/ledger.h>
#include <skerry/root_info.h>
#include "arch.h"
#include "beat.h"
#include "boot_memory.h"
#include "frame.h"
#include "kernel.h"
#include "memory.h"
#include "schedule.h"
#include "vspace.h"
#include "work.h"
#include LOCKING_HEADER

enum { SLICE_MS = 5, VISIT_TURN_US = 2, ROOT_STACK_SIZE = 0x10000 };

/* Puts core `index` behind the last core before it with which it is in a group, if there is one. */
static void join_group(struct kernel *kernel, uint32_t index)
{
	struct core_groups *groups = &kernel->groups;
	uint32_t before = index;
	while (before && !core_group_same(kernel->map_core[before - 1].apic, kernel->map_core[index].apic))
		before--;
	groups->first[index] = (uint16_t)index;
	if (!before)
		return;
	groups->first[index] = groups->first[before - 1];
	groups->next[before - 1] = (uint16_t)index;
}

static void make_cpus(struct kernel *kernel, struct boot_memory *memory)
{
	for (unsigned i = 0; i < kernel->cpu_count; i++) {
		struct cpu *cpu = boot_memory_take(memory, sizeof(*cpu), 4096);
		cpu->own.kernel = kernel;
		cpu->own.index = i;
		cpu->own.word = core_set_index(i);
		cpu->own.bit = core_set_bit(i);
		cpu_allow_fast(cpu);
		cpu->own.stat = &kernel->stat[i];
		cpu->shared.current = &cpu->shared.idle;
		cpu->shared.idle.state = THREAD_IDLE;
		cpu->shared.running = -1;
		cpu->shared.idle.core = cpu->shared.idle.next_core = (uint16_t)i;
		run_queue_init(&cpu->shared.ready);
		lock_cpu_init(cpu);
		kernel->cpu[i] = cpu;
		join_group(kernel, i);
		cpu->own.group = core_group_of(kernel, i);
		cpu->own.member = core_member(kernel->map_core[i].apic);
		if (!kernel_has_core(kernel, i))
			kernel_count_core(cpu, cpu, false);
	}
}

static void make_channels(struct kernel *kernel, struct boot_memory *memory)
{
	kernel_assert(kernel->boot->channel_count <= BOOT_MAX_CHANNELS);
	kernel->channel_count = kernel->boot->channel_count;
	for (unsigned i = 0; i < kernel->channel_count; i++) {
		const struct boot_channel *channel = &kernel->boot->channel[i];
		kernel->channel[i] = (struct channel_end){
			.ring = direct(channel->ring),
			.rx = direct(channel->rx),
			.peer_cpu_count = channel->peer_cpu_count,
			.remote = channel->remote,
			.peer_core = direct(channel->peer_cores),
			.listener = boot_memory_take(memory, DOORBELL_COUNT * sizeof(struct listener), 4096),
		};
		for (unsigned number = 0; number < DOORBELL_COUNT; number++)
			kernel->channel[i].route[number] = DOORBELL_UNBOUND;
	}
}

void boot_kernel(struct kernel *kernel, const struct boot_info *info)
{
	kernel_assert(info->cpu_count >= 1 && info->own_count <= CORES_MAX);
	kernel_assert(info->tsc_hz >= 1000);
	struct boot_memory *memory = &kernel->boot_memory;
	boot_memory_init(memory, info);
	kernel->boot = info;
	kernel->map_core = direct(info->core_list);
	kernel_assert(boot_cores_has(&info->cores, 0));
	/* cores of other clusters for which there is no room cannot join */
	kernel->cpu_count = info->cpu_count < CORES_MAX ? info->cpu_count : CORES_MAX;
	kernel->core_words = core_set_index(kernel->cpu_count - 1) + 1;
	for (uint32_t i = 0; i < kernel->cpu_count; i++)
		if (boot_cores_has(&info->cores, i))
			core_set_add(&kernel->cores, i);
	kernel->tsc_hz = info->tsc_hz;
	for (unsigned i = 0; i < KERNEL_VSPACES; i++)
		kernel->vspace_free[i] = i;
	kernel->work_budget = WORK_BUDGET;
	kernel->tlb_round = 1;
	kernel->slice = info->tsc_hz / 1000 * SLICE_MS;
	kernel->visit_turn = info->tsc_hz / 1000000 * VISIT_TURN_US;
	kernel->stat = boot_memory_take(memory, kernel->cpu_count * sizeof(*kernel->stat), 4096);
	lock_kernel_init(kernel);
	make_cpus(kernel, memory);
	make_channels(kernel, memory);
	beats_init(kernel);
}

/* Maps a page of the root task. No capability names the page tables that this makes. */
static void map_page(struct boot_memory *memory, struct vspace *vspace, uint64_t vaddr, uint64_t paddr, unsigned rights)
{
	kernel_assert(!(vaddr & 4095) && !(paddr & 4095));
	unsigned missing;
	uint64_t *entry;
	while (!(entry = vspace_entry(vspace, vaddr, LEVEL_4K, &missing))) {
		uint64_t *above = vspace_entry(vspace, vaddr, missing + 1, &missing);
		*above = arch_pte_table(physical(boot_memory_take(memory, 4096, 4096)));
	}
	kernel_assert(!arch_pte_present(*entry));
	*entry = arch_pte_frame(paddr, LEVEL_4K, rights, CACHE_WRITE_BACK);
}

static void map_range(struct boot_memory *memory, struct vspace *vspace, uint64_t vaddr, const void *kernel_address,
                      uint64_t size, unsigned rights)
{
	for (uint64_t offset = 0; offset < size; offset += 4096)
		map_page(memory, vspace, vaddr + offset, physical(kernel_address) + offset, rights);
}

/* Maps the ledgers of all clusters of the machine. All but the first are another cluster's memory. */
static void map_ledgers(struct kernel *kernel, struct vspace *vspace)
{
	const struct boot_info *info = kernel->boot;
	struct boot_memory *memory = &kernel->boot_memory;
	for (unsigned i = 0; i < info->ledger_count; i++) {
		uint64_t vaddr = ROOT_LEDGER_VADDR + i * sizeof(struct ledger), base = info->ledger[i].base;
		for (uint64_t page = 0; page < sizeof(struct ledger_kernel); page += 4096)
			map_page(memory, vspace, vaddr + page, base + page, RIGHT_READ);
		map_page(memory, vspace, vaddr + offsetof(struct ledger, manager),
		         base + offsetof(struct ledger, manager),
		         i ? RIGHT_READ : RIGHT_READ | RIGHT_WRITE);
	}
}

/* Maps the table of which cluster has which memory (skerry/memory_control.h), which is loader memory. */
static void map_memory_control(struct kernel *kernel, struct vspace *vspace)
{
	const struct boot_info *info = kernel->boot;
	if (info->memory_control)
		map_range(&kernel->boot_memory, vspace, ROOT_MEMORY_VADDR, direct(info->memory_control),
		          2 * info->memory_size, RIGHT_READ);
}

static void put_cap(struct slot *cnode, unsigned index, struct cap cap)
{
	kernel_assert(index > 0);
	cap.rights = cap.rights ? cap.rights : RIGHT_ALL;
	slot_insert(&cnode[index], &cap, 0);
}

/* Cuts [base, base + size) into aligned blocks, each an untyped of its own. */
static void put_untyped(struct root_info *root, struct slot *cnode, const struct boot_range *range, unsigned kind,
                        unsigned channel)
{
	uint64_t base = range->base, end = range->base + range->size;
	while (base < end && root->untyped_count < ROOT_MAX_UNTYPED) {
		unsigned bits = base ? __builtin_ctzll(base) : 47;
		unsigned largest = 63 - __builtin_clzll(end - base);
		bits = bits < largest ? bits : largest;
		if (bits > 47)
			bits = 47;
		unsigned i = root->untyped_count++;
		root->untyped[i] = (struct root_untyped){ .paddr = base, .size_bits = bits, .kind = kind,
		                                          .channel = channel };
		put_cap(cnode, ROOT_SLOT_UNTYPED + i,
		        (struct cap){ .type = OBJECT_UNTYPED, .size_bits = bits, .object = base,
		                      .flags = kind == ROOT_UNTYPED_ORDINARY ? 0 : CAP_DEVICE });
		base += 1ull << bits;
	}
}

/* What user level can drive by I/O ports. */
static uint16_t port_of(const struct boot_serial *serial)
{
	return serial->kind == BOOT_SERIAL_PORT && serial->stride == 1 ? serial->base : 0;
}

static void describe_root(struct kernel *kernel, struct root_info *root)
{
	kernel_assert(kernel->boot->module_count <= BOOT_MAX_MODULES);
	const struct boot_info *info = kernel->boot;
	root->magic = ROOT_INFO_MAGIC;
	root->size = sizeof(*root);
	root->cluster = info->cluster;
	root->cluster_count = info->cluster_count;
	root->cpu_count = info->own_count;
	root->room = kernel->cpu_count;
	root->core_control = info->core_control;
	root->memory_control = info->memory_control;
	root->memory_size = info->memory_size;
	root->tsc_hz = info->tsc_hz;
	root->epoch = info->epoch;
	root->epoch_tsc = info->epoch_tsc;
	root->rsdp = info->rsdp;
	root->modules = info->modules;
	root->module_count = info->module_count;
	root->channel_count = info->channel_count;
	root->cnode_bits = info->root_cnode_bits;
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		root->cpu_number[i] = kernel->map_core[i].number;
	for (unsigned i = 0; i < info->module_count; i++)
		root->module[i] = info->module[i];
	for (unsigned i = 0; i < info->channel_count; i++)
		root->channel[i] = (struct root_channel){ .id = info->channel[i].id, .peer = info->channel[i].peer,
			                                  .side = info->channel[i].side,
			                                  .remote = info->channel[i].remote,
			                                  .memory = info->channel[i].memory };
	for (unsigned i = 0; i < BOOT_NAME_SIZE; i++)
		root->kernel_name[i] = info->kernel_name[i];
	for (unsigned i = 0; i < 16; i++) {
		root->isa_gsi[i] = info->isa_gsi[i];
		root->isa_flags[i] = info->isa_flags[i];
	}
	root->console_port = port_of(&info->console);
	root->results_port = port_of(&info->results);
	root->power_status = info->power_status;
	root->power_enable = info->power_enable;
	root->ledger_count = info->ledger_count;
	root->patience_ms = info->patience_ms;
	for (unsigned i = 0; i < info->ledger_count; i++)
		root->ledger[i] = info->ledger[i];
	root->life = info->life;
	root->controlled_count = info->controlled_count;
	for (unsigned i = 0; i < info->controlled_count; i++)
		root->controlled[i] = info->controlled[i].cluster;
}

static void put_untypeds(struct kernel *kernel, struct root_info *root, struct slot *cnode)
{
	const struct boot_info *info = kernel->boot;
	struct boot_memory *memory = &kernel->boot_memory;
	for (unsigned i = 0; i < memory->count; i++)
		put_untyped(root, cnode, &memory->range[i], ROOT_UNTYPED_ORDINARY, 0);
	for (unsigned i = 0; i < info->device_count; i++)
		put_untyped(root, cnode, &info->device[i], ROOT_UNTYPED_DEVICE, 0);
	put_untyped(root, cnode, &info->modules, ROOT_UNTYPED_MODULES, 0);
	for (unsigned i = 0; i < info->channel_count; i++)
		put_untyped(root, cnode, &info->channel[i].memory, ROOT_UNTYPED_CHANNEL, i);
	root->stat_slot = ROOT_SLOT_UNTYPED + root->untyped_count;
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		put_cap(cnode, root->stat_slot + i,
		        (struct cap){ .type = OBJECT_FRAME_4K, .rights = RIGHT_READ,
		                      .object = physical(&kernel->stat[i]) });
	root->first_free_slot = root->stat_slot + kernel->cpu_count;
}

static void put_special(struct kernel *kernel, struct slot *cnode, const void *ipc_buffer)
{
	const struct boot_info *info = kernel->boot;
	if (info->device_count) {
		put_cap(cnode, ROOT_SLOT_IRQ_CONTROL, (struct cap){ .type = OBJECT_IRQ_CONTROL });
		put_cap(cnode, ROOT_SLOT_IO_PORT, (struct cap){ .type = OBJECT_IO_PORT, .badge = 0xffff0000 });
	}
	if (info->controlled_count)
		put_cap(cnode, ROOT_SLOT_CLUSTER_CONTROL, (struct cap){ .type = OBJECT_CLUSTER_CONTROL });
	put_cap(cnode, ROOT_SLOT_CONTROL, (struct cap){ .type = OBJECT_CONTROL });
	put_cap(cnode, ROOT_SLOT_IPC_BUFFER,
	        (struct cap){ .type = OBJECT_FRAME_4K, .object = physical(ipc_buffer) });
	for (unsigned i = 0; i < info->channel_count; i++)
		put_cap(cnode, ROOT_SLOT_CHANNEL + i, (struct cap){ .type = OBJECT_CHANNEL, .object = i });
}

static struct thread *make_root_thread(struct kernel *kernel, struct slot *cnode, struct vspace *vspace,
                                       void *ipc_buffer)
{
	struct thread *thread = boot_memory_take(&kernel->boot_memory, 1u << TCB_BITS, 4096);
	uint64_t bits = kernel->boot->root_cnode_bits;
	struct thread_registers registers = { .rip = kernel->boot->root_entry, .rsp = ROOT_STACK_TOP,
		                              .rdi = ROOT_INFO_VADDR, .rsi = ROOT_IPC_BUFFER_VADDR };
	thread_init(thread);
	context_write(&thread->context, &registers);
	thread->priority = thread->mcp = 255;
	thread->scheduled = 1;
	for (unsigned i = 0; i < kernel->cpu_count; i++)
		core_set_add(&thread->cores, i); /* those that are not here yet, too */
	put_cap(cnode, ROOT_SLOT_TCB, (struct cap){ .type = OBJECT_TCB, .object = (uint64_t)thread });
	put_cap(cnode, ROOT_SLOT_CNODE,
	        (struct cap){ .type = OBJECT_CNODE, .object = (uint64_t)cnode, .size_bits = bits,
	                      .guard_bits = 64 - bits,
	                      .limit = 1ull << bits });
	put_cap(cnode, ROOT_SLOT_VSPACE, (struct cap){ .type = OBJECT_VSPACE, .object = (uint64_t)vspace });
	thread_set_slot(thread, THREAD_CSPACE, &cnode[ROOT_SLOT_CNODE]);
	thread_set_slot(thread, THREAD_VSPACE, &cnode[ROOT_SLOT_VSPACE]);
	thread_set_slot(thread, THREAD_IPC_BUFFER, &cnode[ROOT_SLOT_IPC_BUFFER]);
	thread->ipc_buffer_address = ipc_buffer;
	return thread;
}

void boot_root_task(struct kernel *kernel)
{
	const struct boot_info *info = kernel->boot;
	struct boot_memory *memory = &kernel->boot_memory;
	if (info->root_cnode_bits < ROOT_CNODE_BITS || info->root_cnode_bits > ROOT_CNODE_BITS_MAX)
		arch_panic("the loader gives the root task a CNode of a size that cannot be");
	struct slot *cnode = boot_memory_take(memory, sizeof(struct slot) << info->root_cnode_bits, 4096);
	struct vspace *vspace = boot_memory_take(memory, 1u << VSPACE_BITS, 1u << VSPACE_BITS);
	struct root_info *root = boot_memory_take(memory, sizeof(*root), 4096);
	void *ipc_buffer = boot_memory_take(memory, 4096, 4096);
	void *stack = boot_memory_take(memory, ROOT_STACK_SIZE, 4096);

	vspace_init(kernel, vspace);
	for (unsigned i = 0; i < info->segment_count; i++) {
		const struct boot_segment *s = &info->segment[i];
		unsigned rights = RIGHT_READ | (s->rights & BOOT_WRITE ? RIGHT_WRITE : 0) |
		                  (s->rights & BOOT_EXECUTE ? RIGHT_EXECUTE : 0);
		map_range(memory, vspace, s->vaddr, direct(s->paddr), s->size, rights);
	}
	map_range(memory, vspace, ROOT_INFO_VADDR, root, sizeof(*root), RIGHT_READ);
	map_range(memory, vspace, ROOT_IPC_BUFFER_VADDR, ipc_buffer, 4096, RIGHT_READ | RIGHT_WRITE);
	map_range(memory, vspace, ROOT_STAT_VADDR, kernel->stat, kernel->cpu_count * sizeof(*kernel->stat), RIGHT_READ);
	map_ledgers(kernel, vspace);
	map_memory_control(kernel, vspace);
	map_range(memory, vspace, ROOT_STACK_TOP - ROOT_STACK_SIZE, stack, ROOT_STACK_SIZE, RIGHT_READ | RIGHT_WRITE);

	put_special(kernel, cnode, ipc_buffer);
	struct thread *thread = make_root_thread(kernel, cnode, vspace, ipc_buffer);
	describe_root(kernel, root);
	put_untypeds(kernel, root, cnode); /* last: takes all that is left */
	schedule_wake(kernel->cpu[0], thread);
}
