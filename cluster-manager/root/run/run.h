/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run, as the primary drives it: when an application is started, when a
 * barrier opens, when all is over. Other clusters only execute orders and report.
 * The decisions are those of run-machine.h; this performs its actions.
 */
#pragma once

#include "message.h"
#include "run-machine.h"

/* Begins the run: applications that wait for nothing are ordered to start. The primary calls it once, with its channels
 * open. */
void run_start(void);
/*
 * The same in a later life of the primary: the others report the state of the run, then its own programs are started.
 */
void run_resume(void);
/* Handles another cluster's report about a program, for which it may speak. */
void run_life(const struct report_life *life);
/* The cluster has sent its last report. */
void run_recovered(uint32_t cluster, const struct report_recovery *recovery);
/* Checks the deadline; at every wake-up of the service loop. */
void run_tick(void);

/* Performs what follows from an event. Never called in the middle of another. */
void run_happened(enum run_event_kind kind, uint32_t subject, uint32_t value);
/* Returns run_believes() of the run as it is: whether such an event can be true. */
bool run_may_happen(enum run_event_kind kind, uint32_t subject);
/* Publishes that a cluster is lost, and performs what follows from it. */
void run_cluster_lost(uint32_t cluster, const char *text);
/* A cluster has reported that it has started, for the first time or again. */
void run_cluster_booted(uint32_t cluster);
/* Publishes that a lost cluster is fenced: its former life has executed its last instruction. */
void run_cluster_fenced(uint32_t cluster);
/* A lost cluster was fenced and loaded again by this one, which took so long. */
void run_cluster_loaded(uint32_t cluster, uint32_t fence_ms, uint32_t load_ms);
/* A lost cluster stays down; `stuck`: it cannot be fenced, or not be loaded. */
void run_cluster_down(uint32_t cluster, bool stuck, const char *text);

/* Returns what the run knows of an application; `application` is an index in the map. */
const struct run_application *run_application(uint32_t application);
