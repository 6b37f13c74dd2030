/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts lost clusters again, where the map says so (skerry/cluster_control.h):
 * claims, fences, has them loaded, and waits until they have come.
 *
 * Every manager of the machine runs it. The living cluster with the lowest
 * number claims first; the others wait, and go on where the claimer is lost
 * itself or comes to nothing. Steps that were taken already do no harm.
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
