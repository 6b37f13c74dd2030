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

/* A cluster is known to be lost. */
void rescue_lost(uint32_t cluster);
/* At every tick of the timer. */
void rescue_tick(void);
/* Whether a lost cluster is being started again. */
bool rescue_is_coming(uint32_t cluster);
