/* SPDX-License-Identifier: BSD-2-Clause */
/* On which core of the cluster a program runs: the map's, or one that the cluster has gained since
 * (skerry/core_control.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/process.h>

struct gained_core {
	uint32_t index, cpu; /* in the cluster, in the map */
};

/* A core that the map does not give the cluster has joined it, or is to leave it. */
void core_gained(uint32_t index, uint32_t cpu);
void core_given_up(uint32_t index);
/*
 * Returns where a program of this cluster that starts now runs. It is the map's core, unless another program runs there
 * and a gained core runs none.
 */
struct gained_core core_choose(uint32_t application);
/* A program of this cluster starts there, its first thread on core `index`, or has ended. */
void core_use(uint32_t application, uint32_t index);
void core_ended(uint32_t application);
/* Returns where the first thread runs of a program that was last started, and has not ended: index in the cluster. */
uint32_t core_of(uint32_t application);
/* The same with its place in the map. */
struct gained_core core_now(uint32_t application);
/*
 * Stores the cores on which the threads of a program of this cluster may be that starts on `first`, and returns how
 * many they are. A program of one core has `first`, one of several those of the map.
 */
uint32_t cores_list(uint32_t application, struct gained_core first, struct process_core cores[PROCESS_CORES]);
/* Returns whether the map has programs of this cluster run on that core, or one that has started does. */
bool core_has_programs(uint32_t index);
