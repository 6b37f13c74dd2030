/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Restarts lost clusters, if the map says so (skerry/cluster_control.h): claims and fences them, has them loaded, and
 * waits until they run.
 *
 * Every manager of the machine runs it. The living cluster with the lowest number claims first. The others wait, and
 * take over if the claimer is lost itself or does not finish. Repeating a step is harmless.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Begins the restart of a cluster that is known to be lost. */
void cluster_restart_lost(uint32_t cluster);
/* Polls the restarts in progress. Called at every tick of the timer. */
void cluster_restart_tick(void);
/* Returns whether a lost cluster is being started again. */
bool cluster_restart_is_pending(uint32_t cluster);
