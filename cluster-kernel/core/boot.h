/* SPDX-License-Identifier: BSD-2-Clause */
/* From struct boot_info to a kernel with its root task ready to run. */
#pragma once

#include <stdint.h>

struct boot_info;
struct cpu;
struct kernel;

/* Builds the kernel's state. Runs on core 0, before any other core touches the kernel. */
void boot_kernel(struct kernel *kernel, const struct boot_info *info);
/* Makes the root task ready on core 0. */
void boot_root_task(struct kernel *kernel);
