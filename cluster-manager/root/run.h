/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run, as the primary drives it: who is started when, when a barrier
 * opens, when all is over. Other clusters only execute orders and report.
 */
#pragma once

#include <stdbool.h>
#include "report.h"

void run_start(void);
/* Deadlines; at every wake-up of the service loop. */
void run_tick(void);
/* A report came, over a channel or from here; false when it cannot be believed. */
bool run_report(uint32_t cluster, enum message_type type, const void *body, size_t size);
/* Ends the run in order, and then the machine, whatever the map says of that. */
void run_power_button(void);
void run_cluster_lost(uint32_t cluster, const char *why);

/* Name of the kernel image a cluster runs, "?" until it has reported. */
const char *run_cluster_kernel(uint32_t cluster);
/* The place among all cpus of the map of a cluster's core. */
uint32_t run_cpu_number(uint32_t cluster, uint32_t core);
