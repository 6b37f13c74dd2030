/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/executable.h>
#include "modules.h"

/*
 * Maps the segments of a program (skerry/executable.h) into an address space. What is read-only is shared by all programs
 * of one module. 0, or an error; with SKERRY_BAD_ARGUMENT `err` says what is wrong with the file, of which nothing is
 * loaded then.
 */
int elf_load(const struct module *module, const char *name, int vspace, struct elf_image *image, struct error_message *err);

/* Before an owner's address space goes: what it shares with others is mapped there no longer. */
void elf_unload(uint32_t owner);

/* How many read-only segments are kept for other programs. What a start has kept beyond a former count is given back, where it failed. */
uint32_t elf_kept(void);
void elf_forget(uint32_t kept);

/* The address of its program headers in the program, 0 where no segment holds them. */
uint64_t elf_headers(const struct elf_image *image);
