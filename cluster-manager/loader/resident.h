/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of the loader that stays, for clusters that are started again. */
#pragma once

#define RESIDENT_CORE_SIZE 32
#define RESIDENT_APIC      0
#define RESIDENT_STACK_TOP 16

#ifndef __ASSEMBLER__
#include "loader.h"

struct resident_core {
	uint32_t apic, cpu; /* cpu: its place in the map */
	uint64_t reserved;
	uint64_t stack_top;
	uint64_t reserved2;
};
extern struct resident_core resident_core[];
extern uint32_t resident_core_count;

/* Takes the modules of clusters that are started again out of a cluster's memory: they are loaded from once more. */
void resident_keep_modules(struct ranges *ram, const struct cluster_map *map, const struct machine *m);
/* Returns whether the map wants the cluster started again, and it can be; says why where it cannot. Caller has called
 * apic_init(). */
bool resident_wanted(const struct cluster *c, const struct cluster_map *map, const struct machine *m);
/* Bytes of its memory that are taken for that, in whole pages. */
uint64_t resident_size(const struct cluster *c);
/* Where the words are by which clusters are started again, in whole pages. */
uint64_t resident_control(uint64_t *size);
/* Where the words are by which cores move, in whole pages. */
uint64_t resident_core_control(uint64_t *size);
/* The cores that the cluster has. */
struct boot_cores resident_cores(const struct cluster *c);
/* After all is placed, before anything is loaded. `start_vector`: of the trampoline's page. */
void resident_place(struct cluster *clusters, uint32_t count, const struct machine *m, uint32_t start_vector);
/* Where the trampoline takes a core to, and the NMI handler of its kernel the boot processor. */
void resident_entry(void);
void resident_park(void);
/* To be called in the direct map, from where it is a core enters a kernel that runs. */
_Noreturn void resident_join(uint64_t cr3, uint64_t entry, uint64_t boot_info, uint32_t index);
/* A handler that does nothing. */
void resident_interrupt(void);
_Noreturn void resident_main(const struct resident_core *core);
#endif
