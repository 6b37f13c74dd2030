/* SPDX-License-Identifier: BSD-2-Clause */
/* The files that the loader brought along, mapped read-only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct module {
	const void *data;
	size_t size;
	int index;
};

/* Maps all modules at MODULES_VADDR; panics where that fails. Called once, before the others. */
void modules_init(void);
/* Returns the module of this name; its index is -1 where there is none. */
struct module module_find(const char *name);
/* Maps a module that begins at a multiple of 2 MiB into a program, read-only; programs share its frames. Returns 0 or
 * an error. */
int module_map(const struct module *module, int vspace, uint64_t address);
