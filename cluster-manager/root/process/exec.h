/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MANAGER_EXEC (skerry/process.h): another program in the same process, with its pid, place, address space, CNode,
 * notifications and information page. Of a child the image is an owner's of its own (slots.h) from the fork on, which
 * the next exec gives back; the frames of the first process's first image stay, unmapped, until it ends.
 */
#pragma once

#include "elf_load.h"
#include "grant.h"
#include "map.h"
#include "share.h"
#include "slots.h"

/* The process. */
struct exec_process {
	struct process *process;
	uint32_t owner, image_owner;
	struct shares *shares;
	unsigned place;
};

/* The owner of the program that the process at `place` of a family, by the family's number, has executed. */
static inline uint32_t exec_owner(uint32_t family, uint32_t place)
{
	_Static_assert(OWNERS_IMAGES / PROCESS_MEMBERS >= OWNERS_CHILDREN / (PROCESS_MEMBERS - 1), "one for each");
	return OWNER_IMAGES + family * PROCESS_MEMBERS + place;
}

/* As the process has it: nothing of it is trusted. */
struct exec_order {
	uint64_t file, file_size;   /* in the program's files, in bytes */
	uint64_t stack, stack_size; /* what is to be at the stack's end: address in the heap, of a page; bytes */
};

/* What exec_check() has found good. */
struct exec_plan {
	struct module file;
	int stack_frame;        /* slot of the frame that has the new stack's content */
	uint64_t stack_offset;  /* in that frame */
	bool stack_split;       /* stack_frame is of 4 KiB, and the next ones follow */
};

/*
 * Checks the order, and whether there is memory for the program. Returns 0, or an error, with which nothing has
 * changed: NO_RIGHTS: a first process with a network, volumes or a device; BAD_ARGUMENT: no program, of which *err
 * says why, or an address that is none; NO_MEMORY.
 */
int exec_check(const struct map_application *, const struct exec_process *, const struct exec_order *,
               struct exec_plan *, struct error_message *err);
/* Ends all threads of the process, and begins the program. An error: the process cannot go on, and is to be ended. */
int exec_run(const struct exec_process *, const struct exec_order *, const struct exec_plan *);
