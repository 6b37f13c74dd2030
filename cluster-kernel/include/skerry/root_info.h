/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel tells the first task of its cluster.
 *
 * The root task starts on core 0 of the cluster, priority 255, at its ELF
 * entry point with RDI = ROOT_INFO_VADDR, RSI = ROOT_IPC_BUFFER_VADDR and RSP
 * = ROOT_STACK_TOP (64 KiB of stack, mapped). Its segments are mapped with
 * their own rights. All of the lower half except ROOT_RESERVED_BASE and above,
 * and its own image, is free for it.
 */
#pragma once

#include <stdint.h>
#include <skerry/boot.h>

#define ROOT_INFO_MAGIC       0x544f4f5259524b53ull
#define ROOT_RESERVED_BASE    0x00007f0000000000ull
#define ROOT_INFO_VADDR       0x00007f0000000000ull /* 64 KiB, read-only */
#define ROOT_IPC_BUFFER_VADDR 0x00007f0000100000ull
#define ROOT_LEDGER_VADDR     0x00007f0000400000ull /* struct ledger[ledger_count], read-only but for the own
                                                        manager's page */
#define ROOT_STAT_VADDR       0x00007f0000800000ull /* struct core_stat[room], read-only */
#define ROOT_STACK_TOP        0x00007f0001000000ull
#define ROOT_MEMORY_VADDR     0x00007f0010000000ull /* struct memory_control and the homes behind it, read-only,
                                                        where memory moves */

/* Slots of the root CNode; its radix is root_info.cnode_bits */
enum {
	ROOT_CNODE_BITS = 16,     /* the least */
	ROOT_CNODE_BITS_MAX = 24, /* 1 GiB */
	ROOT_SLOT_NULL = 0,
	ROOT_SLOT_TCB,
	ROOT_SLOT_CNODE,
	ROOT_SLOT_VSPACE,
	ROOT_SLOT_IRQ_CONTROL,   /* cluster 0 only, else empty */
	ROOT_SLOT_IO_PORT,       /* all ports; cluster 0 only, else empty */
	ROOT_SLOT_IPC_BUFFER,    /* frame */
	ROOT_SLOT_CLUSTER_CONTROL, /* where this cluster may start others again, else empty */
	ROOT_SLOT_CONTROL,       /* settings of the cluster's kernel */
	ROOT_SLOT_CHANNEL = 16,  /* one OBJECT_CHANNEL per channel, in the order of root_info.channel */
	/* in the order of root_info.untyped; then from root_info.stat_slot on a frame of 4 KiB for each core that the
	 * kernel has room for, read-only: its struct core_stat */
	ROOT_SLOT_UNTYPED = 192,
};

/*
 * ORDINARY memory is zeroed before user level sees it. Other kinds keep their
 * content and only frames can be made of them; their pieces come in ascending
 * address order and together cover their range exactly.
 */
enum root_untyped_kind {
	ROOT_UNTYPED_ORDINARY,
	ROOT_UNTYPED_DEVICE,  /* MMIO */
	ROOT_UNTYPED_MODULES, /* root_info.modules; pieces of at least 2 MiB */
	ROOT_UNTYPED_CHANNEL, /* root_info.channel[`channel`].memory; at least 2 MiB */
};

struct root_untyped {
	uint64_t paddr;
	uint8_t size_bits;
	uint8_t kind;
	uint16_t channel; /* index, for ROOT_UNTYPED_CHANNEL */
	uint32_t reserved;
};

struct root_channel {
	uint32_t id, peer, side;
	uint32_t remote; /* the peer is in another machine */
	struct boot_range memory;
};

enum { ROOT_MAX_UNTYPED = 1024 };

struct root_info {
	uint64_t magic;
	uint32_t size;
	uint32_t cluster;
	uint32_t cluster_count;
	uint32_t cpu_count; /* that the map gives it; others may have joined it, and some of these have left */
	uint32_t cpu_number[BOOT_MAX_CPUS]; /* its place among all cpus of the map */
	uint64_t tsc_hz;
	uint64_t epoch;     /* seconds since 1970 at TSC epoch_tsc; 0 when unknown */
	uint64_t epoch_tsc;
	uint64_t rsdp;
	uint32_t first_free_slot; /* of the root CNode; all from here on are empty */
	uint32_t untyped_count;
	uint32_t module_count;
	uint32_t channel_count;
	uint32_t cnode_bits;
	uint32_t room;      /* cores that the kernel has room for */
	uint32_t stat_slot; /* of core 0's struct core_stat */
	uint32_t reserved;
	struct boot_range modules;
	struct boot_module module[BOOT_MAX_MODULES];
	struct root_channel channel[BOOT_MAX_CHANNELS];
	struct root_untyped untyped[ROOT_MAX_UNTYPED];
	char kernel_name[BOOT_NAME_SIZE];
	uint32_t isa_gsi[16];
	uint32_t isa_flags[16];
	uint16_t console_port; /* 16550, set up; 0: none that has I/O ports, SYS_DEBUG_PUT has to do */
	uint16_t results_port; /* the same; 0: none, results go where the console goes */
	uint16_t power_status; /* as in boot_info */
	uint16_t power_enable;
	uint32_t ledger_count; /* its own is the first; 0: there are none */
	uint32_t patience_ms;  /* as in boot_info */
	struct boot_ledger ledger[BOOT_MAX_CLUSTERS];
	uint32_t life;         /* as in boot_info */
	uint32_t controlled_count; /* clusters that this one may start again */
	uint32_t controlled[BOOT_MAX_CLUSTERS];
	uint64_t core_control; /* as in boot_info */
	uint64_t memory_control, memory_size;
};

_Static_assert(sizeof(struct root_info) <= 65536, "fits the pages reserved for it");
_Static_assert(ROOT_SLOT_CHANNEL + BOOT_MAX_CHANNELS <= ROOT_SLOT_UNTYPED, "a slot for each");
_Static_assert(ROOT_STAT_VADDR + BOOT_MAX_CPUS * 4096ull <= ROOT_STACK_TOP - 0x10000, "records end below the stack");
