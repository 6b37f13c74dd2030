/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of a child's memory that are copied when it is forked: all that is mapped by frames of 4 KiB. The steps of
 * 2 MiB of the heap are shared (share.h). Each function returns 0 or an error, with what it has taken left to
 * owner_now(), and calls sign_pass() as it goes.
 */
#pragma once

#include <stdint.h>
#include "elf_load.h"
#include "grant.h"

/*
 * Maps the program: copies of the parent's segments where they can be written, or end with the parent, else the same
 * frames. What it takes is of `image_owner` (exec.h).
 */
int inherit_image(struct process *p, const struct process *parent, uint32_t image_owner);
/* Makes the table of what is touched (skerry/process.h), with the content of the parent's. */
int inherit_touched(struct process *p, const struct process *parent, uint64_t heap);
/* Promises a stack, and copies what the parent has touched of its own. */
int inherit_stack(struct process *p, const struct process *parent);
/* Promises a heap, all page tables for its steps, and the memory of tables for those that may be split. */
int inherit_heap(struct process *p, uint64_t heap);
/* Copies the rights of the parent's pages, and its split steps of the heap. `page`: for the child's rights. */
int inherit_rights(struct process *p, const struct process *parent, struct shield *page);
/* Copies a step of 2 MiB, and maps it with these rights. */
int inherit_step(struct process *p, const struct process *parent, uint32_t step, unsigned rights);
