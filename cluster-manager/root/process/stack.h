/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>
#include "elf_load.h"
#include "grant.h"
#include "map.h"

/*
 * Promises a program its stack, maps the topmost step of it and puts its arguments, environment and auxiliary vector
 * there as the System V ABI has it. *stack_pointer is where the first thread starts,
 * info->cwd the address of the path of its working directory, or 0, info->volumes that of the paths of its volumes.
 */
int stack_make(const struct map_application *a, const struct elf_image *image, struct process *p,
               const uint64_t random[2],
	       uint64_t *stack_pointer, struct process_info *info);
