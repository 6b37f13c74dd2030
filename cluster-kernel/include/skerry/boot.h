/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the loader hands to each cluster's kernel.
 *
 * Every core of the cluster enters the kernel image at its ELF entry point in
 * 64-bit long mode, paging on, interrupts off, direction flag clear, no stack:
 *
 *     RDI = struct boot_info * (an address in the direct map)
 *     RSI = index of this core within the cluster, 0 .. cpu_count-1; it is
 *           in `cores`, or it joins a kernel that runs (core_control.h)
 *
 * CR3 holds the cluster's kernel page table, built by the loader in the
 * cluster's own memory:
 *
 *     0 .. 4 GiB              identity, 2 MiB pages, writable, executable; only
 *                             there for the jump, the kernel clears PML4[0..255]
 *     KERNEL_DIRECT_BASE + p  physical memory p, writable, no-execute: every
 *                             range of `memory`, `modules`, `tables`, and the
 *                             doorbell areas; nothing of other clusters. The
 *                             loader's page at `park` is executable, not writable.
 *                             Where `memory_control` is, there are page directories
 *                             for all RAM that may come to the cluster
 *     KERNEL_SCREEN_BASE ..   the screen, see struct boot_screen
 *     KERNEL_IMAGE_BASE ..    the kernel image, each ELF segment with its own
 *                             rights (W^X), 4 KiB pages; mapped nowhere else
 *     KERNEL_STACKS_BASE + i * KERNEL_STACKS_STRIDE
 *                             stacks of core i, of all that `cpu_count` says:
 *                             writable, no-execute, in memory of the core's own
 *                             node where the cluster has some; mapped nowhere
 *                             else. The lowest page of each stack is not mapped
 *
 * EFER.NXE, EFER.SCE and CR0.WP are set; everything else (GDT, IDT, CR4, PAT,
 * local APIC) the kernel sets itself. The cores may enter in any order and
 * core 0 need not be first.
 *
 * All addresses are physical unless they say otherwise, all sizes are bytes.
 */
#pragma once

#include <stdint.h>

#define BOOT_INFO_MAGIC    0x595252454b53000dull
#define KERNEL_IMAGE_BASE  0xffffffff80000000ull
#define KERNEL_STACKS_BASE 0xffffffffa0000000ull
#define KERNEL_DIRECT_BASE 0xffff800000000000ull
#define KERNEL_SCREEN_BASE 0xffffff0000000000ull

enum {
	BOOT_MAX_CPUS = 1024, /* of a cluster */
	BOOT_MAX_CLUSTERS = 64,
	BOOT_MAX_RANGES = 32,
	BOOT_MAX_SEGMENTS = 8,
	BOOT_MAX_MODULES = 32,
	BOOT_MAX_CHANNELS = 64,
	BOOT_MAX_IOAPICS = 64,
	BOOT_MAX_DEVICE_APIC = 254, /* the largest local APIC id that I/O APICs and MSIs can name */
	BOOT_NAME_SIZE = 32,
};
#define BOOT_NO_CORE UINT32_MAX

/* A set of a cluster's cores, by index in the cluster: core i is bit i % 64 of word i / 64. */
enum { BOOT_CORE_WORDS = (BOOT_MAX_CPUS + 63) >> 6 };
struct boot_cores {
	uint64_t word[BOOT_CORE_WORDS];
};
static inline int boot_cores_has(const struct boot_cores *cores, uint32_t core)
{
	return core < BOOT_MAX_CPUS && cores->word[core / 64] >> core % 64 & 1;
}
static inline void boot_cores_add(struct boot_cores *cores, uint32_t core)
{
	cores->word[core / 64] |= 1ull << core % 64;
}
static inline uint32_t boot_cores_count(const struct boot_cores *cores)
{
	uint32_t count = 0;
	for (uint32_t core = 0; core < BOOT_MAX_CPUS; core++)
		count += (uint32_t)boot_cores_has(cores, core);
	return count;
}

/* Stacks of a core, in pages with the one that is not mapped: one for all entries, and above it one for each of NMI,
 * double fault and machine check. */
enum {
	KERNEL_STACK_PAGES = 4,
	KERNEL_FAULT_STACK_PAGES = 2,
	KERNEL_FAULT_STACKS = 3,
	KERNEL_STACKS_PAGES = KERNEL_STACK_PAGES + KERNEL_FAULT_STACKS * KERNEL_FAULT_STACK_PAGES,
	KERNEL_STACKS_STRIDE = 64 << 10,
};
_Static_assert(KERNEL_STACKS_PAGES * 4096 <= KERNEL_STACKS_STRIDE, "the stacks of a core fit");

/* A core of the map. Lists of them are behind boot_info, in the same pages. */
struct boot_core {
	uint32_t apic;   /* its local APIC id */
	uint32_t number; /* its place among all cpus of the map */
};

struct boot_range {
	uint64_t base; /* multiple of 4 KiB */
	uint64_t size; /* multiple of 4 KiB */
};

/* A loaded piece of the root task: `size` bytes (whole pages, zero-filled by the loader). */
struct boot_segment {
	uint64_t vaddr;
	uint64_t paddr;
	uint64_t size;
	uint32_t rights; /* BOOT_READ | BOOT_WRITE | BOOT_EXECUTE */
	uint32_t reserved;
};
enum { BOOT_READ = 1, BOOT_WRITE = 2, BOOT_EXECUTE = 4 };

/* A file for user level, inside `modules`, 4 KiB aligned. */
struct boot_module {
	char name[BOOT_NAME_SIZE];
	uint64_t offset; /* from modules.base */
	uint64_t size;   /* exact, not rounded */
};

/*
 * One channel that ends in this cluster. `memory` is shared with the peer and
 * belongs to user level. Each doorbell area (doorbell.h) belongs to the two
 * kernels: `ring` is written by this kernel, `rx` by the peer's.
 *
 * `remote`: the peer is in another machine. Memory and doorbell areas are
 * those of a device that both machines have; no interrupts pass, the receiver
 * polls.
 */
struct boot_channel {
	uint32_t id; /* as in the cluster map */
	uint32_t peer;
	uint32_t side; /* 0 for the first end named in the map, 1 for the second */
	uint32_t remote;
	struct boot_range memory; /* 2 MiB aligned */
	uint64_t ring;
	uint64_t rx;
	uint64_t peer_cores; /* struct boot_core[peer_cpu_count]: those that this kernel may interrupt */
	uint32_t peer_cpu_count;
	uint32_t reserved2;
};

/* A cluster of this machine and its ledger (ledger.h), two pages of that cluster's memory. */
struct boot_ledger {
	uint32_t cluster;
	uint32_t reserved;
	uint64_t base;
};

/* Another cluster of this machine that this one may fence and start again (cluster_control.h). */
struct boot_controlled {
	uint32_t cluster;
	uint32_t cpu_count; /* that its kernel has room for */
	uint32_t boot_core; /* its core that is the machine's boot processor; BOOT_NO_CORE: none */
	uint32_t reserved;
	uint64_t cores;     /* struct boot_core[cpu_count]: its core i */
};

struct boot_ioapic {
	uint64_t base;
	uint32_t id;
	uint32_t gsi_base;
};

/* A 16550 UART that the loader has set up. */
struct boot_serial {
	uint64_t base;   /* I/O port, or physical address */
	uint32_t kind;   /* enum boot_serial_kind */
	uint16_t stride; /* bytes from one register to the next: 1, 2 or 4 */
	uint16_t width;  /* bytes of an access: 1, 2 or 4 */
};
enum boot_serial_kind { BOOT_SERIAL_NONE, BOOT_SERIAL_PORT, BOOT_SERIAL_MEMORY };

/*
 * The screen as the boot loader left it: EGA text of two bytes a cell, or a
 * linear frame buffer. The cluster's kernel writes to `rows` lines of text
 * from `first_row` on. The loader maps it at KERNEL_SCREEN_BASE, writable,
 * no-execute, PAT entry 4 (which the kernel makes write-combining).
 */
struct boot_screen {
	uint64_t base;          /* physical */
	uint32_t kind;          /* enum boot_screen_kind */
	uint32_t pitch;         /* bytes of a line of pixels, or of cells */
	uint32_t width, height; /* in pixels or in cells */
	uint32_t pixel_size;    /* bytes of a pixel: 2, 3 or 4 */
	uint32_t first_row, rows;
	uint32_t reserved;
};
enum boot_screen_kind { BOOT_SCREEN_NONE, BOOT_SCREEN_TEXT, BOOT_SCREEN_PIXELS };

struct boot_info {
	uint64_t magic;
	uint32_t size; /* sizeof(struct boot_info) */
	uint32_t cluster;
	uint32_t cluster_count;
	uint32_t x2apic; /* the loader left every core in x2APIC mode */
	uint64_t tsc_hz;
	uint64_t lapic_hz; /* local APIC timer, divider 1; 0 when unknown */
	uint64_t rsdp;     /* 0 when unknown */
	uint64_t epoch;    /* seconds since 1970 when TSC read epoch_tsc; 0 when unknown */
	uint64_t epoch_tsc;

	/* that the kernel has room for: the map's, then others of the machine that may join */
	uint32_t cpu_count;
	uint32_t memory_count;
	uint64_t core_list;               /* struct boot_core[cpu_count]: core i */
	struct boot_cores cores;          /* that enter now */
	struct boot_range memory[BOOT_MAX_RANGES]; /* free RAM, becomes untyped */
	uint32_t device_count;
	uint32_t root_cnode_bits; /* radix of the root task's CNode, ROOT_CNODE_BITS .. ROOT_CNODE_BITS_MAX */
	struct boot_range device[BOOT_MAX_RANGES]; /* MMIO, becomes device untyped; cluster 0 only */
	struct boot_range image;   /* the kernel image */
	struct boot_range tables;  /* the kernel page table; its first page is the PML4 */
	struct boot_range modules; /* 2 MiB aligned, size a multiple of 2 MiB */

	uint32_t segment_count;
	uint32_t module_count;
	struct boot_segment segment[BOOT_MAX_SEGMENTS];
	uint64_t root_entry;
	struct boot_module module[BOOT_MAX_MODULES]; /* "map" is struct cluster_map */

	uint32_t channel_count;
	uint32_t ioapic_count; /* cluster 0 only */
	struct boot_channel channel[BOOT_MAX_CHANNELS];
	struct boot_ioapic ioapic[BOOT_MAX_IOAPICS];
	char kernel_name[BOOT_NAME_SIZE]; /* the image's name in the map, "clh+stat" */
	/* ACPI interrupt overrides: ISA interrupt i arrives at this GSI. flags as in the MADT. */
	uint32_t isa_gsi[16];
	uint32_t isa_flags[16];
	struct boot_serial console; /* for the kernel's own words, and user level's where it has no other */
	struct boot_serial results; /* cluster 0 only: for user level's results, where there is a second one */
	struct boot_screen screen;
	uint16_t power_status; /* I/O ports of ACPI's PM1 status and enable registers, for the power button; 0: none */
	uint16_t power_enable;
	uint32_t own_count; /* cores that the map gives it: the first of cpu_count */
	uint32_t ledger_count; /* clusters of this machine; 0: there are no ledgers */
	uint32_t beat_ms;      /* between beats of a core; 0: it does not beat */
	uint32_t patience_ms;  /* of silence after which others count a cluster of this machine as lost */
	uint32_t reserved;
	struct boot_ledger ledger[BOOT_MAX_CLUSTERS]; /* its own is the first */
	/* struct cluster_control[BOOT_MAX_CLUSTERS], by cluster number; 0: none is started again */
	uint64_t control;
	uint32_t life;           /* this cluster's: 1 at boot, one more each time it was loaded again */
	uint32_t start_vector;   /* of the start-up interrupt that takes a core to the loader */
	uint32_t controlled_count;
	uint32_t boot_core;      /* its core that is the machine's boot processor; BOOT_NO_CORE: none */
	/* struct core_control of each core, by place in the map; 0: none moves, nor is a cluster started again */
	uint64_t core_control;
	/* of the loader: where a core of this cluster goes that another cluster fences by NMI, or that leaves; 0: none
	 * does */
	uint64_t park;
	/* struct memory_control; its homes are behind `memory_size` bytes; 0: no memory moves */
	uint64_t memory_control;
	uint64_t memory_size;
	struct boot_controlled controlled[BOOT_MAX_CLUSTERS];
};

/* In the kernel image, right in front of its entry point: the boot_info that it takes. */
struct boot_contract {
	uint64_t magic; /* BOOT_INFO_MAGIC */
	uint64_t size;  /* sizeof(struct boot_info) */
};
