/* SPDX-License-Identifier: BSD-2-Clause */
#include "check.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skerry/doorbell.h>
#include <skerry/root_info.h>
#include "vspace.h"

/* Of CNodes larger than this only the first slots are looked at, and those that the tree leads to. */
#ifndef CHECK_SLOTS
#define CHECK_SLOTS 512
#endif
enum { SCAN_MAX = CHECK_SLOTS };

void check_failed(const char *file, int line, const char *sentence, uint64_t a, uint64_t b)
{
	fprintf(stderr, "%s:%d: kernel_check: %s (%#llx, %#llx)\n", file, line, sentence, (unsigned long long)a,
	        (unsigned long long)b);
	abort();
}

/* A set of slots, kept from one check to the next so as not to be allocated each time. */
static _Thread_local struct {
	const struct slot **slot, **table;
	size_t count, room;
} set;

/* Neighbours in a CNode are neighbours here: a processor's caches take them by lines. */
enum { NEIGHBOUR_BITS = 4 };

static size_t place_of(const struct slot *slot)
{
	uint64_t at = (uint64_t)slot >> SLOT_BITS, block = at >> NEIGHBOUR_BITS;
	size_t i = ((block * 0x9e3779b97f4a7c15ull >> 32 << NEIGHBOUR_BITS) +
	            (at & ((1 << NEIGHBOUR_BITS) - 1))) & (set.room - 1);
	while (set.table[i] && set.table[i] != slot)
		i = (i + 1) & (set.room - 1);
	return i;
}

static void grow(void)
{
	set.room = set.room ? 2 * set.room : 4096;
	free(set.table);
	set.slot = realloc(set.slot, set.room / 2 * sizeof(*set.slot));
	set.table = calloc(set.room, sizeof(*set.table));
	if (!set.slot || !set.table)
		abort();
	for (size_t i = 0; i < set.count; i++)
		set.table[place_of(set.slot[i])] = set.slot[i];
}

static void add(const struct slot *slot)
{
	if (!slot)
		return;
	if (slot_empty(slot)) {
		CHECK(!slot->open.previous && !slot->open.next && !slot->close.previous && !slot->close.next,
		      "an empty slot is in the derivation tree", slot, slot->open.next);
		return;
	}
	if (set.count >= set.room / 2)
		grow();
	size_t place = place_of(slot);
	if (set.table[place])
		return;
	set.table[place] = slot;
	set.slot[set.count++] = slot;
}

static void add_thread(const struct thread *thread)
{
	for (unsigned i = 0; thread && i < THREAD_SLOTS; i++) {
		const struct slot *slot = &thread->slot[i];
		CHECK(slot_empty(slot) || (slot->cap.flags & CAP_THREAD),
		      "a thread's capability does not know that it is one",
		      slot, slot->cap.type);
		add(slot);
	}
}

static void add_cnode(const struct slot *slots, unsigned bits)
{
	for (uint64_t i = 1; i < 1ull << bits && i < SCAN_MAX; i++) {
		CHECK(!(slots[i].cap.flags & CAP_THREAD), "a capability thinks that it is a thread's", &slots[i],
		      slots[i].cap.type);
		add(&slots[i]);
	}
}

static void add_link(const struct link *link)
{
	if (link)
		add(link_slot(link));
}

static void add_contents(const struct cap *cap)
{
	if (cap->type == OBJECT_CNODE || cap->type == CAP_ZOMBIE)
		add_cnode((const struct slot *)cap->object, cap->size_bits);
	if (cap->type == OBJECT_TCB)
		add_thread((const struct thread *)cap->object);
}

static void find_slots(struct world *world)
{
	if (set.table)
		memset(set.table, 0, set.room * sizeof(*set.table));
	set.count = 0;
	add_cnode(world->machine->root_cnode, ROOT_CNODE_BITS);
	for (unsigned c = 0; c < world->kernel->cpu_count; c++)
		add_thread(world->kernel->cpu[c]->shared.current);
	for (unsigned i = 0; i < KERNEL_IRQS; i++)
		add(&world->kernel->irq[i].notification);
	for (unsigned c = 0; c < world->kernel->channel_count; c++)
		for (unsigned i = 0; i < DOORBELL_COUNT; i++)
			add(&world->kernel->channel[c].listener[i].notification);
	for (const struct slot *grave = world->kernel->reap_list; grave; grave = grave->cap.next)
		add(grave);
	for (size_t i = 0; i < set.count; i++) {
		const struct slot *slot = set.slot[i];
		add_link(slot->open.previous);
		add_link(slot->open.next);
		add_link(slot->close.previous);
		add_link(slot->close.next);
		add_contents(&slot->cap);
	}
	world->slot = set.slot;
	world->slots = set.count;
}

/* A core that is here has flushed all that the direct map has lost; one that is not has nothing that others would wait
 * for. */
static void check_presence(const struct world *world)
{
	const struct kernel *kernel = world->kernel;
	uint64_t cleaners = 0;
	for (unsigned c = 0; c < kernel->cpu_count; c++) {
		const struct hosted_core *core = &world->machine->core[c];
		const struct cpu *cpu = kernel->cpu[c];
		if (kernel_has_core(kernel, c)) {
			CHECK(core->direct_seen == world->machine->direct_losses,
			      "a core's TLB may hold memory of another kernel", c, core->direct_seen);
			cleaners += cpu->own.cleanup_at != 0;
			continue;
		}
		CHECK(!kernel->placed[c] && !kernel->homes[c],
		      "a thread or an object is at home on a core that is not here", c, kernel->homes[c]);
		CHECK(cpu->shared.current == &cpu->shared.idle && !cpu->own.loaded_vspace,
		      "a core that is not here runs something", c, 0);
		CHECK(!cpu->own.cleanup_at && !cpu->own.housekeeping_at, "work is left on a core that is not here", c,
		      cpu->own.cleanup_at);
		for (unsigned i = 0; i < KERNEL_VSPACES; i++)
			CHECK(!cpu->own.tlb_valid[i] &&
			      (!kernel->vspace[i] || !vspace_is_active(cpu, kernel->vspace[i])),
			      "an address space counts on a core that is not here", i, c);
	}
	CHECK(!kernel->reap_list || cleaners, "CNodes are to be emptied, and no core will do it", kernel->reap_list, 0);
}

void kernel_check(const struct hosted *machine)
{
	struct world world = { .machine = machine, .kernel = &machine->kernel };
	for (unsigned c = 0; c < machine->config.cores; c++)
		CHECK(!machine->core[c].inside, "a core is in the kernel", c, 0);
	find_slots(&world);
	check_caps(&world);
	check_threads(&world);
	check_vspaces(&world);
	check_presence(&world);
	check_statistics(&world);
	free(world.found);
}
