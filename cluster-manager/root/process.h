/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of this cluster; each is known by its application's index in the map. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/process.h>

/* What ports and devices need of a program that is being built. */
struct process {
	int cnode, vspace, tcb;
	int own_memory;        /* the untyped whose child is the program's own */
	bool started;
	uint64_t memory;       /* bytes it was given */
};

/* 0 or an error, which has been printed. */
int process_start(uint32_t application);
/* Its threads stop for good. */
void process_kill(uint32_t application);

bool process_started(uint32_t application);
int process_tcb(uint32_t application);
uint64_t process_memory(uint32_t application);

/* Puts a copy of a root capability into a slot of the program's CNode. */
int process_give(const struct process *p, unsigned slot, int root_slot);
int process_give_badged(const struct process *p, unsigned slot, int root_slot, unsigned rights, uint64_t badge);
