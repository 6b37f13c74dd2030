/* SPDX-License-Identifier: BSD-2-Clause */
/* MANAGER_PROTECT: the rights of single pages of a program's heap and stack. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "grant.h"
#include "message.h"

/*
 * Changes the rights of pages from the address on, up to `size` bytes of them. Returns how many bytes are done, or an
 * error where none are. The program has its shield.
 */
int64_t protect(struct process *p, uint64_t address, uint64_t size, unsigned rights);

/* Makes and maps what has the address, which was promised, unless it is there. False: the program may not do that
 * there. */
bool protect_touch(struct process *p, uint64_t address, unsigned needed, int *error);

/* Returns the kind of memory at an address that a thread has touched in vain. */
enum report_place protect_place(const struct process *p, uint64_t address, uint64_t stack_pointer);
