/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>
#include "modules.h"

struct elf_image {
	uint64_t entry;
	uint64_t headers; /* address of the program headers in the program, 0 when no segment holds them */
	uint16_t header_size, header_count;
};

/*
 * Loads a static ELF64 executable, position-independent or not, and maps its
 * segments. What is read-only is shared by all programs of one module. 0, or an
 * error with *wrong saying what is wrong with the file.
 */
int elf_load(const struct module *module, int vspace, struct elf_image *image, const char **wrong);
