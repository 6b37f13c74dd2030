/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting the cores. They are woken one after another and wait at a gate, so
 * that a core that does not come up is refused before any kernel runs; then
 * all enter their kernels, this core last.
 */
#include <stddef.h>
#include <string.h>

#include "console.h"
#include "cpu.h"
#include "exceptions.h"
#include "loader.h"
#include "resident.h"
#include "trampoline.h"

/* The 10 ms of the MP specification are for processors older than x86-64. */
enum { INIT_WAIT_US = 100, STARTUP_WAIT_US = 1000, CORE_TIMEOUT_US = 5000000 };

extern const char trampoline_start[], trampoline_long[], trampoline_end[];
extern const char boot_gdt[];

struct trampoline {
	uint32_t far_offset;
	uint16_t far_selector, pad;
	uint16_t gdt_limit;
	uint32_t gdt_base;
	uint16_t pad2;
	uint32_t loader_cr3, x2apic;
	uint64_t boot_info, cr3, entry;
	uint32_t index;
	volatile uint32_t arrived, go;
	uint64_t resident; /* where cores go that come later; 0: they are being started */
} __attribute__((packed));

#define AT(field) (TRAMPOLINE_FIELDS + offsetof(struct trampoline, field))
_Static_assert(AT(far_offset) == TRAMPOLINE_FAR_POINTER && AT(gdt_limit) == TRAMPOLINE_GDT_POINTER &&
	       AT(loader_cr3) == TRAMPOLINE_LOADER_CR3 && AT(x2apic) == TRAMPOLINE_X2APIC &&
	       AT(boot_info) == TRAMPOLINE_BOOT_INFO && AT(cr3) == TRAMPOLINE_CR3 &&
	       AT(entry) == TRAMPOLINE_ENTRY && AT(index) == TRAMPOLINE_INDEX &&
	       AT(arrived) == TRAMPOLINE_ARRIVED && AT(go) == TRAMPOLINE_GO && AT(resident) == TRAMPOLINE_RESIDENT,
	       "as trampoline.S sees it");

/* A page of usable RAM below 1 MiB; the first holds the BIOS's data. */
uint64_t trampoline_page(const struct machine *m)
{
	struct ranges low = { 0 };
	uint64_t page;

	for (uint32_t i = 0; i < m->ram.count; i++)
		ranges_add(&low, m->ram.at[i].base, m->ram.at[i].size);
	ranges_remove(&low, 0, PAGE_SIZE);
	ranges_remove(&low, 0xa0000, UINT64_MAX - 0xa0000);
	if (!ranges_find(&low, &memory_busy, PAGE_SIZE, PAGE_SIZE, &page))
		panic("no usable page below 640 KiB to start cores in");
	return page;
}

static struct trampoline *trampoline_place(const struct machine *m)
{
	uint64_t page = trampoline_page(m);
	struct trampoline *t = (void *)(page + TRAMPOLINE_FIELDS);
	require(page % PAGE_SIZE == 0 && page < LOW_MEMORY_END);

	if (trampoline_end - trampoline_start > TRAMPOLINE_FIELDS)
		panic("the trampoline has outgrown its page");
	memset((void *)page, 0, PAGE_SIZE);
	memcpy((void *)page, trampoline_start, (size_t)(trampoline_end - trampoline_start));
	t->far_offset = (uint32_t)page + (uint32_t)(trampoline_long - trampoline_start);
	t->far_selector = 8;
	t->gdt_limit = 23;
	t->gdt_base = (uint32_t)(uint64_t)boot_gdt;
	t->loader_cr3 = (uint32_t)read_cr3();
	t->x2apic = m->x2apic;
	return t;
}

static bool wait_for(struct trampoline *t, uint64_t microseconds)
{
	require(machine_clock.tsc_hz);
	uint64_t start = read_tsc_in_order(), cycles = machine_clock.tsc_hz / 1000000 * microseconds;

	while (!t->arrived) {
		if (read_tsc_in_order() - start > cycles)
			return false;
		cpu_pause();
	}
	return true;
}

static void start_core(struct trampoline *t, const struct cluster *c, uint32_t index, uint32_t apic,
		       const char *name)
{
	uint32_t vector = (uint32_t)((uint64_t)t >> 12);

	require(vector && vector < 0x100 && c->tables.base % PAGE_SIZE == 0);
	t->boot_info = KERNEL_DIRECT_BASE + (uint64_t)c->info;
	t->cr3 = c->tables.base;
	t->entry = c->entry;
	t->index = index;
	t->arrived = 0;
	apic_send(apic, APIC_ICR_STARTUP | vector);
	if (wait_for(t, STARTUP_WAIT_US))
		return;
	/* the second one, as Intel's manual has it; a running core ignores it */
	apic_send(apic, APIC_ICR_STARTUP | vector);
	if (!wait_for(t, CORE_TIMEOUT_US))
		panic("%s: %s (local APIC id %u) does not start", c->map->name, name, apic);
}

void clusters_start(struct cluster *clusters, uint32_t count, const struct cluster_map *map, const struct machine *m)
{
	struct trampoline *t = trampoline_place(m);
	uint32_t self = apic_id(), self_index = 0, others = 0;
	struct cluster *own = NULL;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < clusters[i].map->cpu_count; j++) {
			uint32_t apic = map->cpu[clusters[i].map->cpu[j]].apic;

			if (apic == self) {
				own = &clusters[i];
				self_index = j;
				continue;
			}
			apic_send(apic, APIC_ICR_INIT);
			others++;
		}
	}
	if (others > 0)
		delay(INIT_WAIT_US); /* once for all */
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < clusters[i].map->cpu_count; j++) {
			const struct map_cpu *cpu = &map->cpu[clusters[i].map->cpu[j]];

			if (cpu->apic != self)
				start_core(t, &clusters[i], j, cpu->apic, cpu->name);
		}
	}
	print("%u core%s up, leaving", others + (own != NULL), others + (own != NULL) == 1 ? "" : "s");
	console_leave();
	t->resident = (uint64_t)resident_entry; /* all have read the rest */
	exceptions_stay();
	t->go = 1;
	if (own != NULL)
		enter_kernel(own->tables.base, own->entry, KERNEL_DIRECT_BASE + (uint64_t)own->info, self_index);
	cpu_stop();
}
