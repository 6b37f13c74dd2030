/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine as the firmware and the boot loader describe it. */
#pragma once

#include "ranges.h"

enum { MACHINE_MAX_CPUS = 4096, MACHINE_MAX_NODE_RANGES = 512, MACHINE_MAX_MODULES = 128, MODULE_NAME_MAX = 64 };

struct machine_cpu { /* of the MADT */
	uint32_t apic;
	uint32_t node; /* of the SRAT, when has_node */
	bool enabled;
	bool has_node;
};

struct machine_node_range { /* of the SRAT, with RAM in it */
	struct boot_range range;
	uint32_t node;
};

struct machine_module { /* a file, somewhere in memory */
	char name[MODULE_NAME_MAX];
	const void *data;
	uint64_t size;
};

struct machine {
	struct ranges ram;   /* usable, whole pages */
	struct ranges known; /* everything the firmware's memory map names, of whatever type */
	uint64_t low_ram_end; /* end of the last RAM below 4 GiB, the firmware's own included */

	uint32_t cpu_count;
	struct machine_cpu cpu[MACHINE_MAX_CPUS];
	bool has_srat;
	uint8_t srat_revision;
	uint32_t node_range_count;
	struct machine_node_range node_range[MACHINE_MAX_NODE_RANGES];

	uint32_t module_count;
	struct machine_module module[MACHINE_MAX_MODULES];

	uint32_t ioapic_count;
	struct boot_ioapic ioapic[BOOT_MAX_IOAPICS];
	uint32_t isa_gsi[16], isa_flags[16];

	uint64_t rsdp;         /* 0: none found */
	uint32_t pm_timer;     /* I/O port; 0: none */
	bool pm_timer_32;      /* its counter has 32 bits, not 24 */
	uint32_t pm_status;    /* I/O port of the PM1 status register; 0: none */
	uint32_t pm_enable;    /* the enable register's that belongs to it */
	uint64_t hpet;         /* its registers; 0: none */
	bool has_pic;          /* two 8259 interrupt controllers */
	bool no_rtc, no_vga;
	struct boot_serial spcr; /* the firmware's console */
	uint32_t spcr_baud;    /* 0: as the firmware has set it */
	struct boot_screen screen;
	const char *command_line; /* NULL: none */
	uint64_t lapic_base;
	bool x2apic;           /* CPUID has it */
	bool counted;          /* an emulator counts instructions: they are the time */
	uint64_t address_limit; /* 1 << physical address bits */
};

/* Returns the module of this name, or null. */
const struct machine_module *machine_module(const struct machine *m, const char *name);
/* Returns the core with this local APIC id, or null. */
const struct machine_cpu *machine_cpu(const struct machine *m, uint32_t apic);
