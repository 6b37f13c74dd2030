/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/* Returns the error of the manager's elf_load() for a file that is loaded into nothing, or NULL. Checks mappings. */
const char *root_elf_refusal(const void *file, size_t size);
