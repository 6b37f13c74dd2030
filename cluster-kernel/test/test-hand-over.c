/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What boot.c makes of a loader's words: a second kernel is booted beside the machine's, in memory of its own that
 * is full of noise, and the root task's capabilities, mappings and root_info are compared with the boot_info.
 */
#include <string.h>
#include <skerry/doorbell.h>
#include "arena.h"
#include "boot.h"
#include "harness.h"
#include "vspace.h"

#define SPARE      0x4000000ull /* from the beginning of a cluster's part of the arena */
#define IMAGE      0x8000000ull /* the machine's image, which exists */
#define ROOT_VADDR 0x400000ull
#define ROOT_STACK 0x10000ull
enum { CORES = 3, CHANNELS = 2, PAGE = 4096, MEMORY_PAGES = 4096, NOISE = 0x5a, DEVICE_RANGES = 2 };

static const struct boot_core own_cores[CORES] = { { 21, 31 }, { 22, 32 }, { 23, 33 } };
static const struct boot_core peer_cores[] = { { 8, 34 }, { 9, 35 } };
static struct boot_core more_cores[CORES_MAX + 6]; /* others of the machine among them */
static unsigned more; /* so many of them; 0: own_cores alone */
static struct boot_info info;
static struct kernel kernel;
static struct thread *thread;
static struct slot *cnode;
static struct vspace *vspace;
static uint8_t owner[MEMORY_PAGES + 2]; /* of each page of the spare memory: how many have it */

static uint64_t spare(void) { return arena_part(machine->config.cluster) + SPARE; }

static void describe_machine(bool devices, unsigned skipped)
{
	uint64_t image = arena_part(machine->config.cluster) + IMAGE;
	info = (struct boot_info){
		.magic = BOOT_INFO_MAGIC, .size = sizeof(info), .cluster = 5, .cluster_count = 7, .tsc_hz = 3000000000,
		.lapic_hz = 1000000, .rsdp = 0xe1234, .epoch = 1700000000, .epoch_tsc = 987654321, .cpu_count = CORES,
		.own_count = CORES, .cores = { { (1u << CORES) - 1 } },
		.core_list = hosted_list(own_cores), .root_cnode_bits = ROOT_CNODE_BITS + 1,
		.memory_count = 1, .memory = { { spare() + skipped * PAGE, MEMORY_PAGES * PAGE } },
		.device_count = devices ? DEVICE_RANGES : 0,
		.device = { { 0xfec00000, 0x3000 }, { 0xe0001000, 0xfffff000 } },
		.modules = { 0x40200000, 0x600000 }, .segment_count = 3,
		.segment = { { ROOT_VADDR, image, PAGE, BOOT_READ | BOOT_EXECUTE, 0 },
		             { ROOT_VADDR + PAGE, image + PAGE, PAGE, BOOT_READ | BOOT_WRITE, 0 },
		             { ROOT_VADDR + 2 * PAGE, image + 2 * PAGE, 2 * PAGE, BOOT_READ, 0 } },
		.module_count = 2, .root_entry = ROOT_VADDR + 0x123,
		.module = { { "map", 0, 100 }, { "other", 0x1000, 200 } }, .channel_count = CHANNELS,
		.channel = { { .id = 4, .peer = 6, .side = 1, .memory = { 0x80000000, 0x200000 }, .ring = 0x1000,
		               .rx = 0x2000, .peer_cpu_count = 2, .peer_cores = hosted_list(peer_cores) },
		             { .id = 3, .peer = 2, .side = 0, .remote = 1, .memory = { 0x90000000, 0x400000 },
		               .ring = 0x3000, .rx = 0x4000, .peer_cpu_count = 1 } },
		.kernel_name = "hand-over", .console = { 0x3f8, BOOT_SERIAL_PORT, 1, 1 },
		.results = { 0xfe001000, BOOT_SERIAL_MEMORY, 1, 1 }, .power_status = 0x600, .power_enable = 0x602,
	};
	if (more) {
		info.cpu_count = more;
		info.core_list = hosted_list(more_cores);
	}
	info.life = 3;
	info.patience_ms = 700;
	if (devices) {
		info.control = 0x70000000;
		info.controlled_count = 2;
		info.controlled[0] = (struct boot_controlled){ .cluster = 8, .cpu_count = 1 };
		info.controlled[1] = (struct boot_controlled){ .cluster = 1, .cpu_count = 60 };
	}
	for (unsigned i = 0; i < 16; i++)
		info.isa_gsi[i] = 100 + i, info.isa_flags[i] = 200 + i;
}

/* `skipped` pages of the spare memory are not the cluster's. */
static void boot(bool devices, unsigned skipped)
{
	arena_take(spare(), (MEMORY_PAGES + 2) * PAGE);
	memset(direct(spare()), NOISE, (MEMORY_PAGES + 2) * PAGE);
	memset(&kernel, 0, sizeof(kernel));
	memset(owner, 0, sizeof(owner));
	describe_machine(devices, skipped);
	struct cpu *other = machine->core[0].cpu;
	hosted_self = &machine->core[0];
	hosted_self->cpu = 0; /* a core that boots has none yet */
	boot_kernel(&kernel, &info);
	boot_root_task(&kernel);
	hosted_self->cpu = other;
	hosted_self = 0;
	thread = kernel.cpu[0]->own.handoff;
	cnode = (struct slot *)thread->slot[THREAD_CSPACE].cap.object;
	vspace = (struct vspace *)thread->slot[THREAD_VSPACE].cap.object;
}

static void end(void) { arena_drop(spare(), (MEMORY_PAGES + 2) * PAGE); }

/* The physical address behind a page of the root task, which must be mapped like this. */
static uint64_t mapped(uint64_t vaddr, unsigned rights)
{
	unsigned missing;
	const uint64_t *entry = vspace_entry(vspace, vaddr, LEVEL_4K, &missing);
	EXPECT(entry != 0, true);
	uint64_t paddr = arch_pte_address(*entry, LEVEL_4K);
	EXPECT(*entry, arch_pte_frame(paddr, LEVEL_4K, rights, CACHE_WRITE_BACK));
	return paddr;
}

static void expect_unmapped(uint64_t vaddr)
{
	unsigned missing;
	const uint64_t *entry = vspace_entry(vspace, vaddr, LEVEL_4K, &missing);
	EXPECT(entry && arch_pte_present(*entry), false);
}

static void expect_cap(unsigned slot, unsigned type, uint64_t object, unsigned rights)
{
	EXPECT(cnode[slot].cap.type, type);
	EXPECT(cnode[slot].cap.object, object);
	EXPECT(cnode[slot].cap.rights, rights);
	EXPECT(cnode[slot].cap.flags, 0);
}

static const struct root_info *root(void) { return direct(mapped(ROOT_INFO_VADDR, RIGHT_READ)); }

static void capabilities(void)
{
	expect_cap(ROOT_SLOT_TCB, OBJECT_TCB, (uint64_t)thread, RIGHT_ALL);
	expect_cap(ROOT_SLOT_CNODE, OBJECT_CNODE, (uint64_t)cnode, RIGHT_ALL);
	EXPECT(cnode[ROOT_SLOT_CNODE].cap.size_bits, ROOT_CNODE_BITS + 1);
	EXPECT(cnode[ROOT_SLOT_CNODE].cap.guard_bits, 64 - ROOT_CNODE_BITS - 1);
	EXPECT(cnode[ROOT_SLOT_CNODE].cap.limit, 2ull << ROOT_CNODE_BITS);
	expect_cap(ROOT_SLOT_VSPACE, OBJECT_VSPACE, (uint64_t)vspace, RIGHT_ALL);
	expect_cap(ROOT_SLOT_IPC_BUFFER, OBJECT_FRAME_4K, physical(thread->ipc_buffer_address), RIGHT_ALL);
	expect_cap(ROOT_SLOT_CONTROL, OBJECT_CONTROL, 0, RIGHT_ALL);
	for (unsigned i = 0; i < CORES; i++)
		expect_cap(root()->stat_slot + i, OBJECT_FRAME_4K, physical(&kernel.stat[i]), RIGHT_READ);
	for (unsigned i = 0; i < CHANNELS; i++)
		expect_cap(ROOT_SLOT_CHANNEL + i, OBJECT_CHANNEL, i, RIGHT_ALL);
	EXPECT(thread->references, 1);
	EXPECT(vspace->references, 2);
	EXPECT(cnode[0].cap.references, 2);
	for (unsigned i = ROOT_SLOT_CHANNEL + CHANNELS; i < ROOT_SLOT_UNTYPED; i++)
		EXPECT(slot_empty(&cnode[i]), true);
	for (unsigned i = root()->first_free_slot; i < 2u << ROOT_CNODE_BITS; i++)
		EXPECT(slot_empty(&cnode[i]), true);
}

static void with_devices(void)
{
	boot(true, 0);
	capabilities();
	expect_cap(ROOT_SLOT_IRQ_CONTROL, OBJECT_IRQ_CONTROL, 0, RIGHT_ALL);
	expect_cap(ROOT_SLOT_IO_PORT, OBJECT_IO_PORT, 0, RIGHT_ALL);
	EXPECT(cnode[ROOT_SLOT_IO_PORT].cap.badge, 0xffff0000);
	expect_cap(ROOT_SLOT_CLUSTER_CONTROL, OBJECT_CLUSTER_CONTROL, 0, RIGHT_ALL);
	EXPECT(root()->controlled_count, 2);
	EXPECT(root()->controlled[0], 8);
	EXPECT(root()->controlled[1], 1);
	EXPECT(root()->life, 3);
	EXPECT(root()->patience_ms, 700);
	end();
}

static void without_devices(void)
{
	boot(false, 0);
	capabilities();
	EXPECT(slot_empty(&cnode[ROOT_SLOT_IRQ_CONTROL]), true);
	EXPECT(slot_empty(&cnode[ROOT_SLOT_IO_PORT]), true);
	EXPECT(slot_empty(&cnode[ROOT_SLOT_CLUSTER_CONTROL]), true);
	EXPECT(root()->controlled_count, 0);
	for (unsigned i = 0; i < root()->untyped_count; i++)
		EXPECT(root()->untyped[i].kind != ROOT_UNTYPED_DEVICE, true);
	end();
}

static void mappings(void)
{
	boot(true, 0);
	EXPECT(mapped(ROOT_VADDR, RIGHT_READ | RIGHT_EXECUTE), info.segment[0].paddr);
	EXPECT(mapped(ROOT_VADDR + PAGE, RIGHT_READ | RIGHT_WRITE), info.segment[1].paddr);
	EXPECT(mapped(ROOT_VADDR + 2 * PAGE, RIGHT_READ), info.segment[2].paddr);
	EXPECT(mapped(ROOT_VADDR + 3 * PAGE, RIGHT_READ), info.segment[2].paddr + PAGE);
	expect_unmapped(ROOT_VADDR - PAGE);
	expect_unmapped(ROOT_VADDR + 4 * PAGE);
	EXPECT(mapped(ROOT_IPC_BUFFER_VADDR, RIGHT_READ | RIGHT_WRITE), physical(thread->ipc_buffer_address));
	expect_unmapped(ROOT_IPC_BUFFER_VADDR + PAGE);
	for (uint64_t i = 0; i < CORES * sizeof(*kernel.stat); i += PAGE)
		EXPECT(mapped(ROOT_STAT_VADDR + i, RIGHT_READ), physical(kernel.stat) + i);
	expect_unmapped(ROOT_STAT_VADDR + CORES * sizeof(*kernel.stat));
	uint64_t stack = mapped(ROOT_STACK_TOP - ROOT_STACK, RIGHT_READ | RIGHT_WRITE);
	for (uint64_t i = 0; i < ROOT_STACK; i += PAGE)
		EXPECT(mapped(ROOT_STACK_TOP - ROOT_STACK + i, RIGHT_READ | RIGHT_WRITE), stack + i);
	expect_unmapped(ROOT_STACK_TOP - ROOT_STACK - PAGE);
	expect_unmapped(ROOT_STACK_TOP);
	for (uint64_t i = 0; i < ROOT_STACK; i++)
		EXPECT(((const uint8_t *)direct(stack))[i], 0);
	for (uint64_t i = 0; i < PAGE; i++)
		EXPECT(((const uint8_t *)thread->ipc_buffer_address)[i], 0);
	end();
}

static void root_thread(void)
{
	boot(true, 0);
	const struct thread_registers *r = &thread->context.registers;
	EXPECT(thread->state, THREAD_READY);
	EXPECT(thread->priority, 255);
	EXPECT(thread->mcp, 255);
	EXPECT(thread->core, 0);
	EXPECT(r->rip, info.root_entry);
	EXPECT(r->rsp, ROOT_STACK_TOP);
	EXPECT(r->rdi, ROOT_INFO_VADDR);
	EXPECT(r->rsi, ROOT_IPC_BUFFER_VADDR);
	EXPECT(thread_ipc_buffer(thread) == thread->ipc_buffer_address, true);
	for (unsigned i = 0; i < CORES; i++) {
		const struct cpu *cpu = kernel.cpu[i];
		EXPECT(cpu->own.index, i);
		EXPECT(cpu->own.word, i >> CORE_SHIFT);
		EXPECT(cpu->own.bit, 1ull << (i & (CORE_SET_BITS - 1)));
		EXPECT(cpu->own.stat == &kernel.stat[i], true);
		EXPECT(cpu->shared.current == &cpu->shared.idle, true);
		EXPECT(cpu->shared.idle.core, i);
		EXPECT(cpu->shared.running, -1);
		EXPECT(cpu->shared.ready.highest, -1);
	}
	EXPECT(kernel.slice, info.tsc_hz / 200); /* 5 ms */
	EXPECT(kernel.work_budget, 6000);
	end();
}

static void words(void)
{
	boot(true, 0);
	const struct root_info *r = root();
	EXPECT(r->magic, ROOT_INFO_MAGIC);
	EXPECT(r->size, sizeof(*r));
	EXPECT(r->cluster, 5);
	EXPECT(r->cluster_count, 7);
	EXPECT(r->cpu_count, CORES);
	for (unsigned i = 0; i < BOOT_MAX_CPUS; i++)
		EXPECT(r->cpu_number[i], i < CORES ? own_cores[i].number : 0);
	EXPECT(kernel.map_core == own_cores, true);
	EXPECT(r->tsc_hz, info.tsc_hz);
	EXPECT(r->epoch, info.epoch);
	EXPECT(r->epoch_tsc, info.epoch_tsc);
	EXPECT(r->rsdp, info.rsdp);
	EXPECT(r->stat_slot, ROOT_SLOT_UNTYPED + r->untyped_count);
	EXPECT(r->first_free_slot, r->stat_slot + CORES);
	EXPECT(r->module_count, 2);
	EXPECT(r->channel_count, CHANNELS);
	EXPECT(r->cnode_bits, info.root_cnode_bits);
	EXPECT(memcmp(&r->modules, &info.modules, sizeof(r->modules)), 0);
	EXPECT(memcmp(r->module, info.module, sizeof(r->module)), 0);
	EXPECT(memcmp(r->kernel_name, info.kernel_name, sizeof(r->kernel_name)), 0);
	EXPECT(memcmp(r->isa_gsi, info.isa_gsi, sizeof(r->isa_gsi)), 0);
	EXPECT(memcmp(r->isa_flags, info.isa_flags, sizeof(r->isa_flags)), 0);
	EXPECT(r->console_port, 0x3f8);
	EXPECT(r->results_port, 0); /* it has none */
	EXPECT(r->power_status, 0x600);
	EXPECT(r->power_enable, 0x602);
	for (unsigned i = 0; i < CHANNELS; i++) {
		const struct boot_channel *channel = &info.channel[i];
		const struct channel_end *end = &kernel.channel[i];
		EXPECT(r->channel[i].id, channel->id);
		EXPECT(r->channel[i].peer, channel->peer);
		EXPECT(r->channel[i].side, channel->side);
		EXPECT(memcmp(&r->channel[i].memory, &channel->memory, sizeof(channel->memory)), 0);
		EXPECT(end->ring == direct(channel->ring) && end->rx == direct(channel->rx), true);
		EXPECT(end->peer_cpu_count, channel->peer_cpu_count);
		EXPECT(end->remote, channel->remote);
		EXPECT(end->peer_core == direct(channel->peer_cores), true);
	}
	end();
}

/* A build with small words takes as many of the machine's other cores as it has room for. */
static void more_cores_than_room(void)
{
	if ((int)CORES_MAX == (int)BOOT_MAX_CPUS)
		return;
	for (unsigned i = 0; i < CORES_MAX + 6; i++)
		more_cores[i] = (struct boot_core){ 40 + i, 50 + i };
	more = CORES_MAX + 6;
	boot(false, 0);
	more = 0;
	EXPECT(kernel.cpu_count, CORES_MAX);
	EXPECT(kernel.core_words, CORE_SET_WORDS);
	EXPECT(core_set_get64(&kernel.cores, 0), (1u << CORES) - 1);
	EXPECT(root()->cpu_count, CORES);
	EXPECT(root()->room, CORES_MAX);
	EXPECT(root()->cpu_number[CORES_MAX - 1], 50 + CORES_MAX - 1);
	EXPECT(root()->first_free_slot, root()->stat_slot + CORES_MAX);
	end();
}

/*
 * Cores whose APIC ids differ in the low bits only are a group, wherever the list has them: here first threads, then
 * second ones, then cores whose ids are far apart. Each group is taken once.
 */
static void groups(void)
{
	enum { GROUPED = 40, FIRST_THREADS = 16, APART = 1000 };
	unsigned taken = 0;
	for (unsigned i = 0; i < GROUPED; i++)
		more_cores[i] = (struct boot_core){ i < 2 * FIRST_THREADS ? 2 * (i % FIRST_THREADS) + i / FIRST_THREADS
		                                                          : APART + (i << GROUP_SHIFT), i };
	more = GROUPED;
	boot(false, 0);
	more = 0;
	for (unsigned i = 0; i < GROUPED; i++) {
		const uint32_t apic = more_cores[i].apic;
		for (unsigned k = 0; k < GROUPED; k++)
			EXPECT(core_group_of(&kernel, i) == core_group_of(&kernel, k),
			       apic >> GROUP_SHIFT == more_cores[k].apic >> GROUP_SHIFT);
		EXPECT(kernel.cpu[i]->own.group == core_group_of(&kernel, i), true);
		EXPECT(kernel.cpu[i]->own.member, 1u << apic % 16);
	}
	struct core_set left = { 0 };
	for (unsigned i = 0; i < GROUPED; i++)
		core_set_add(&left, i);
	FOR_CORES (core, &left, kernel.core_words) {
		uint32_t members = 0;
		for (unsigned i = 0; i < GROUPED; i++)
			if (more_cores[i].apic >> GROUP_SHIFT == more_cores[core].apic >> GROUP_SHIFT)
				members |= 1u << more_cores[i].apic % 16;
		EXPECT(core_group_take(&kernel, &left, core), members);
		taken++;
	}
	EXPECT(taken, (2 * FIRST_THREADS >> GROUP_SHIFT) + GROUPED - 2 * FIRST_THREADS);
	end();
}

static void take(uint64_t paddr, uint64_t size)
{
	for (uint64_t page = 0; page < size; page += PAGE) {
		EXPECT(paddr + page >= info.memory[0].base && paddr + page < info.memory[0].base + info.memory[0].size,
		       true);
		EXPECT(owner[(paddr + page - spare()) / PAGE]++, 0);
	}
}

static void take_tables(uint64_t table, unsigned level)
{
	take(table, PAGE);
	for (unsigned i = 0; level && i < 512; i++) {
		uint64_t entry = ((const uint64_t *)direct(table))[i];
		if (arch_pte_is_table(entry))
			take_tables(arch_pte_address(entry, level), level - 1);
	}
}

/* What the kernel keeps. */
static void take_kernel(void)
{
	take(physical(kernel.stat), CORES * sizeof(*kernel.stat));
	for (unsigned i = 0; i < CORES; i++)
		take(physical(kernel.cpu[i]), sizeof(struct cpu));
	for (unsigned i = 0; i < CHANNELS; i++)
		take(physical(kernel.channel[i].listener), DOORBELL_COUNT * sizeof(struct listener));
	take(physical(cnode), sizeof(struct slot) << info.root_cnode_bits);
	take_tables(physical(vspace->root), LEVEL_ROOT);
	take(physical(vspace) + PAGE, PAGE);
	take(physical(root()), sizeof(struct root_info));
	take(physical(thread->ipc_buffer_address), PAGE);
	take(mapped(ROOT_STACK_TOP - ROOT_STACK, RIGHT_READ | RIGHT_WRITE), ROOT_STACK);
	take(physical(thread), 1u << TCB_BITS);
}

/* The pieces of a kind, from piece *i on, which cover a range in its order. */
static void expect_pieces(unsigned *i, unsigned kind, unsigned channel, const struct boot_range *range)
{
	uint64_t base = range->base;
	for (; base < range->base + range->size; ++*i) {
		EXPECT(root()->untyped[*i].kind, kind);
		EXPECT(root()->untyped[*i].channel, channel);
		EXPECT(root()->untyped[*i].paddr, base);
		EXPECT(cnode[ROOT_SLOT_UNTYPED + *i].cap.flags, CAP_DEVICE);
		base += 1ull << root()->untyped[*i].size_bits;
	}
	EXPECT(base, range->base + range->size);
}

static void memory_from(unsigned skipped)
{
	unsigned i, device = 0;
	boot(true, skipped);
	EXPECT(physical(vspace) & ((1u << VSPACE_BITS) - 1), 0);
	take_kernel();
	for (i = 0; root()->untyped[i].kind == ROOT_UNTYPED_ORDINARY; i++) {
		take(root()->untyped[i].paddr, 1ull << root()->untyped[i].size_bits);
		EXPECT(cnode[ROOT_SLOT_UNTYPED + i].cap.flags, 0);
	}
	for (unsigned page = 0; page < MEMORY_PAGES; page++)
		EXPECT(owner[skipped + page], 1);
	for (; device < DEVICE_RANGES; device++)
		expect_pieces(&i, ROOT_UNTYPED_DEVICE, 0, &info.device[device]);
	expect_pieces(&i, ROOT_UNTYPED_MODULES, 0, &info.modules);
	for (unsigned channel = 0; channel < CHANNELS; channel++)
		expect_pieces(&i, ROOT_UNTYPED_CHANNEL, channel, &info.channel[channel].memory);
	EXPECT(i, root()->untyped_count);
	for (i = 0; i < root()->untyped_count; i++) {
		const struct cap *cap = &cnode[ROOT_SLOT_UNTYPED + i].cap;
		EXPECT(cap->type, OBJECT_UNTYPED);
		EXPECT(cap->rights, RIGHT_ALL);
		EXPECT(cap->object, root()->untyped[i].paddr);
		EXPECT(cap->size_bits, root()->untyped[i].size_bits);
		EXPECT(cap->object & ((1ull << cap->size_bits) - 1), 0);
	}
	end();
}

static void memory(void)
{
	memory_from(0);
	memory_from(1); /* where alignment skips a page, or another one */
}

TESTS(hand_over) = {
	{ "the root task's capabilities, with devices", with_devices, 1 | TEST_ONCE },
	{ "the root task's capabilities, without devices", without_devices, 1 | TEST_ONCE },
	{ "the root task's mappings", mappings, 1 | TEST_ONCE },
	{ "the root task's thread", root_thread, 1 | TEST_ONCE },
	{ "what the root task is told", words, 1 | TEST_ONCE },
	{ "more cores than there is room for", more_cores_than_room, 1 | TEST_ONCE },
	{ "cores in groups", groups, 1 | TEST_ONCE },
	{ "each page is the kernel's or the root task's", memory, 1 | TEST_ONCE },
	{ 0 },
};
