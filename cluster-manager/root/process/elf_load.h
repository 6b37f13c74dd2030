/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/executable.h>
#include "modules.h"

/* A segment as it is mapped: `count` frames of 4 KiB from the slot `first` on. */
struct elf_mapping {
	uint64_t address;
	int first;
	uint32_t count;
	unsigned rights;
	bool shared; /* the frames stay when this program goes: others may have copies of the capabilities */
};

/*
 * Maps the segments of a program (skerry/executable.h) into an address space. What is read-only is shared by all
 * programs of one file. `module` may be a file of a program's, too. 0, or an error; with SKERRY_BAD_ARGUMENT `err` says
 * what is wrong with the file, of which nothing is loaded then. `mapped`: null, or
 * one for each of image->count segments.
 */
int elf_load(const struct module *module, const char *name, int vspace, struct elf_image *image,
             struct elf_mapping *mapped, struct error_message *err);

/* Before an owner's address space goes: what it shares with others is mapped there no longer. */
void elf_unload(uint32_t owner);

/* Returns how many read-only segments are kept for the next programs of their files. */
uint32_t elf_kept(void);
/* Gives back those that a failed start has added: `kept` is what elf_kept() returned before it, and no program uses
 * them. */
void elf_forget(uint32_t kept);

/*
 * Makes page tables for addresses of an image, but for those that an earlier call with the same *made, first 0, has
 * made. An owner that has them gives them back before its frames, all of which are unmapped by that, in one round of
 * interrupts. The table above them is the caller's. Returns 0 or an error.
 */
int elf_tables(int vspace, uint64_t begin, uint64_t end, uint64_t *made);
