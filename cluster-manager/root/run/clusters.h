/* SPDX-License-Identifier: BSD-2-Clause */
/* The primary's knowledge of clusters. */
#pragma once

#include <stdint.h>

/* A cluster's place in the map, or -1. */
int cluster_place(uint32_t cluster);
/* Name of the kernel image that a cluster runs, "?" until it has reported. */
const char *cluster_kernel(uint32_t cluster);
/* `name` has BOOT_NAME_SIZE bytes and need not be terminated. */
void cluster_kernel_set(uint32_t place, const char *name);
/* The place among all cpus of the map of a cluster's core. */
uint32_t cluster_cpu(uint32_t cluster, uint32_t core);
