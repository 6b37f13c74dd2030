/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that is being built, and the capabilities it is given. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/process.h>
#include "promise.h"

/* The part of a program that is being built that ports and devices need. */
struct process {
	int cnode, vspace, tcb;
	int own_memory;        /* the untyped whose child is the program's own */
	bool started;
	uint64_t memory;       /* bytes it was given, with what it is promised */
	uint64_t cwd, volumes; /* of its information page */
	struct promise stack, heap;
	struct promise_table touched;
	struct memory_reserve tables; /* page tables of the heap's steps that may be split, as many as may be */
	int table;                    /* slot of the first */
	uint32_t table_count;
	struct shield *shield;        /* null: all pages have the rights that they had at first */
	struct elf_mapping *image;    /* null where nobody asks: ELF_MAX_SEGMENTS of them (elf_load.h) */
	bool executed;                /* the image is another program's than that which its family began with */
};

/* Puts a copy of a root capability into a slot of the program's CNode. */
int process_give(const struct process *p, unsigned slot, int root_slot);
int process_give_badged(const struct process *p, unsigned slot, int root_slot, unsigned rights, uint64_t badge);
