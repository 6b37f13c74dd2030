/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/* What the manager's elf_load() says of a file that it loads into nothing, or NULL. What it would map is checked. */
const char *root_elf_refusal(const void *file, size_t size);
