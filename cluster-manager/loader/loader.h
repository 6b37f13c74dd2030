/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loader's parts, in the order in which main.c uses them. It runs on one
 * core with interrupts off, all RAM mapped at its physical address.
 */
#pragma once

#include <skerry/cpu_needs.h>
#include <skerry/executable.h>
#include <skerry/require.h>
#include <skerry/span.h>
#include "map.h"
#include "options.h"

#define LOW_MEMORY_END 0x100000ul /* never given away */
enum { PAGE_SIZE = 4096, LARGE_PAGE_SIZE = 2 << 20 };

/* console.c: lines, each after "skerry loader: " */
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Prints one line and stops: exit status 99 under QEMU's isa-debug-exit, a halt elsewhere. Where kernels run already,
 * their lines may be torn by this one, and only this core stops.
 */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* cpu_check.c */
/* Dies of a CPU that lacks what kernels need (skerry/cpu_needs.h), with all that is missing. `tcg`: QEMU emulates
 * it. */
void cpu_check(cpuid_reader *read, bool tcg);
/* Dies where kernels would have no timer. */
void cpu_check_timer(cpuid_reader *read, uint64_t lapic_hz);

/* memory.c */
/* Maps physical addresses where they are; 0 .. 4 GiB are there from the start. False: out of reach. */
bool identity_map(uint64_t base, uint64_t size);
/* From now on identity_map() goes as far as the CPU's physical addresses, 1 << bits; before, not beyond 4 GiB. */
void memory_reach(uint64_t limit);
/* One entry of a firmware memory map; usable entries first become RAM when all are known. */
void memory_note(struct machine *m, uint64_t base, uint64_t size, bool usable, bool is_ram);
/* Makes the usable entries RAM, less all that others reserve. Caller has noted all entries. */
void memory_settle(struct machine *m);
void memory_forget(void); /* all that was noted, for tests that begin anew */
/* RAM that must not be overwritten before the clusters start. */
extern struct ranges memory_busy;

/* multiboot2.c, pvh.c: fill memory, modules and the RSDP from what started us */
void multiboot2_read(struct machine *m, const void *info);
/* Dies where `info` is not what a PVH boot gives. */
void pvh_read(struct machine *m, const void *info);
/* One file of the archive after the other, each a module; dies of a broken one. */
void archive_read(struct machine *m, const char *archive, uint64_t size);
/* Adds a module; its bytes stay where they are. Dies where there are too many. */
void module_add(struct machine *m, const char *name, uint64_t name_size, const void *data, uint64_t size);

/* apic.c */
void apic_init(const struct machine *m); /* x2APIC on this core when the machine has it */
uint32_t apic_id(void);
enum { APIC_ICR_INIT = 0x4500, APIC_ICR_STARTUP = 0x4600 };
/* Sends an interrupt command to a core, and waits until it has left. Caller has called apic_init(). */
void apic_send(uint32_t apic, uint32_t command);
void apic_timer_start(void); /* counts down from 2^32 - 1, divider 1, no interrupt */
uint32_t apic_timer_count(void);
bool apic_is_boot_processor(void);
void io_apics_mask(const struct machine *m);
/* Ends what is on its way to this core, which no INIT has reset. Caller has called exceptions_stay(). */
void apic_drain(void);

/* clock.c */
struct clock {
	uint64_t tsc_hz, lapic_hz, epoch, epoch_tsc;
};
/* Fills machine_clock from the counter `wanted`, or from the best there is. Dies where the machine has none. Caller has
 * called apic_init(). */
void clock_calibrate(const struct machine *m, enum clock_source chosen);
extern struct clock machine_clock;
/* Waits, spinning. Caller has called clock_calibrate(). */
void delay(uint64_t microseconds);
/* The TSC advances by the same amount for the same code, to the cycle: an emulator counts instructions. */
bool clock_counts_instructions(void);
/* QEMU's emulator? */
bool is_tcg(void);
/* The same, or a virtual machine within one, which has the emulated processor's name. */
bool is_emulated(void);

/* tables.c: a cluster's kernel page table */
struct tables {
	uint64_t base, used, limit; /* pool of pages; the first is the PML4. In pages but for `base` */
};
enum { MAP_WRITE = 1 << 1, MAP_COMBINE = 1 << 2, MAP_EXECUTE = 1 << 30 }; /* COMBINE: PAT entry 4 */
/* Pages. `cores`: that the kernel has stacks for. `areas`: each of less than 2 MiB, mapped alone in the direct map.
 * `screen`: its size in bytes. */
uint64_t tables_bound(const struct ranges *direct, uint64_t image_size, uint32_t cores, uint32_t areas,
                      uint64_t screen);
/* Makes an empty page table in a pool of `pages` pages at `base`. */
void tables_init(struct tables *t, uint64_t base, uint64_t pages);
/* Maps `size` bytes, in 2 MiB pages where both addresses allow. Dies where the pool is used up: tables_bound() says how
 * large it must be. */
void tables_map(struct tables *t, uint64_t vaddr, uint64_t paddr, uint64_t size, uint32_t rights);

/* Makes the tables above the 2 MiB entries, and maps nothing. */
void tables_reach(struct tables *t, uint64_t vaddr, uint64_t size);
/* Unmaps what is mapped in one entry of 2 MiB. */
void tables_forget(struct tables *t, uint64_t vaddr);

/* cluster.c: where everything of a cluster lies */
struct cluster {
	const struct map_cluster *map;
	/* all that the cluster owns, in its direct map; the kernel image is not, once it is placed */
	struct ranges ram;
	struct ranges free; /* what of it nothing was put into, and has not moved to another cluster when it starts */
	struct ranges home; /* `free` at boot */
	struct elf_image kernel, root;
	struct tables tables;
	struct boot_info *info;
	uint64_t info_size;        /* with the lists of cores behind it, in whole pages */
	uint32_t room;             /* cores that the kernel has room for */
	struct boot_core *cores;   /* these */
	uint32_t list[BOOT_MAX_CLUSTERS]; /* where that of each cluster of the map begins, in cores behind boot_info */
	struct boot_range segments;
	uint64_t entry;
	uint64_t stacks[BOOT_MAX_CPUS]; /* memory of each core's stacks, their mapped pages one after another */
	uint64_t resident; /* what starting it again needs: boot_info as placed, stacks (resident.c); 0: it is not */
};
enum { CLUSTER_NOT_LISTED = -1 };
/* Returns the address of the list of another cluster's cores behind boot_info; it is a peer, or of this machine. */
static inline uint64_t cluster_cores(const struct cluster *c, const struct cluster_map *map,
                                     const struct map_cluster *of)
{
	const uint32_t first = c->list[of - map->cluster];

	require(first != (uint32_t)CLUSTER_NOT_LISTED);
	return (uint64_t)((struct boot_core *)(c->info + 1) + first);
}
/* Returns whether a page of a core's stacks is mapped: each stack has one below it that is not. */
static inline bool stacks_page_is_mapped(uint32_t page)
{
	return page < KERNEL_STACK_PAGES ? page > 0 : (page - KERNEL_STACK_PAGES) % KERNEL_FAULT_STACK_PAGES > 0;
}
/* Places the clusters on this machine. Returns how many there are. */
uint32_t clusters_place(struct cluster *clusters, const struct cluster_map *map, const struct machine *m);

/* moves.c: memory that moves from cluster to cluster while they run (skerry/memory_control.h) */
/* Takes room for its words. Caller has taken all but page tables. */
void moves_place(struct cluster *clusters, uint32_t count, const struct machine *m);
/* Pages of a cluster's page table that are for it. */
uint64_t moves_tables_bound(const struct cluster *c, const struct machine *m);
/* Called after all is placed: marks free memory as movable in boot_info. */
void moves_begin(struct cluster *clusters, uint32_t count);
/* Before a cluster's next life is loaded: it has the memory that it has now. What it did not have at boot is parked for
 * it. */
void moves_again(struct cluster *c);
/* In the cluster's page table: the words, room for what may come, and nothing of what has left. */
void moves_map(struct cluster *c, const struct machine *m);

/* ivshmem.c: channels whose other end is in another machine */
extern struct ranges ivshmem_ranges; /* of the channels of all this machine's clusters, the kernels' parts included */
struct boot_range ivshmem_memory(const struct map_channel *channel, uint32_t device);
/* All peers have been met when it returns: no byte of an earlier run or life will be delivered. Caller has called
 * resident_place(). */
void ivshmem_meet(const struct cluster *clusters, uint32_t count);

/* image.c: fills what clusters_place has placed */
uint64_t screen_size(const struct boot_info *info); /* bytes, whole pages; 0: none */
/* No peer listens, nothing was rung. `cores`: that the receiver has room for. */
void doorbells_clear(uint64_t area, uint32_t cores);
void cluster_load(struct cluster *c, const struct cluster_map *map, const struct machine *m);

/* smp.c: starts every core; this one last */
uint64_t trampoline_page(const struct machine *m); /* where they start; the same at each call */
_Noreturn void enter_kernel(uint64_t cr3, uint64_t entry, uint64_t boot_info, uint32_t index); /* boot_tables.S */
_Noreturn void clusters_start(struct cluster *clusters, uint32_t count, const struct cluster_map *map,
                              const struct machine *m);
