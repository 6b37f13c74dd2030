/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/* What the manager's image_make() says of a file for which there is no memory, or NULL. What it would map is checked. */
const char *root_elf_refusal(const void *file, size_t size);
