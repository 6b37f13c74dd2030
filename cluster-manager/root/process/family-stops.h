/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of a family that stop and go on, and their alarms. A process stops itself when it takes a signal whose
 * action that is: it knows masks and handlers, and its threads. Its first call of MANAGER_STOP is answered when SIGCONT
 * comes; it is sent no signal meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* MANAGER_ALARM; TSC and cycles. at 0: none; each 0: once. */
struct alarm {
	uint64_t at, each;
};

/* MANAGER_STOP by the process at `place`. Returns 0: it may stop; -SKERRY_NO_RIGHTS: it goes on, as SIGCONT is there or
 * its process group is orphaned; -SKERRY_BAD_ARGUMENT: this signal stops nobody. */
int family_may_stop(uint32_t application, uint32_t place, uint32_t number);
/* It is stopped from now on, which family_may_stop() has allowed. */
void family_stop(uint32_t application, uint32_t place, uint32_t number);
/*
 * A signal is about to be sent to the process at `to`: SIGCONT ends its stop, and takes signals that stop away; these
 * take SIGCONT away. Returns whether the process goes on now.
 */
bool family_clears(uint32_t application, uint32_t to, uint32_t number);
/* The process has stopped, or goes on. Returns the place of its parent, which has SIGCHLD unless it wants none; -1: it
 * has no parent. */
int family_tell(uint32_t application, uint32_t place);

/* Sets the alarm of the process at `place`; *before: what is left of the one before. Returns 0 or -SKERRY_NOT_FOUND. */
int family_alarm(uint32_t application, uint32_t place, struct alarm next, struct alarm *before);
/* Puts SIGALRM into the inboxes of processes whose alarm is due at `now`. Returns a bit for each of their places. */
uint32_t family_alarms(uint32_t application, uint64_t now);
/* Returns when the next alarm of any process is due; 0: never. */
uint64_t family_next_alarm(void);
