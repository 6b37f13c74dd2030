/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rebuilds the state of the run in a primary that was lost and has restarted: every other manager reports the state of
 * its programs.
 *
 * The messages are a snapshot, and reports that come before it and after it are
 * taken as always: those before are of programs that the primary does not yet
 * know to run, and have no effect; the snapshot has what they said.
 */
#pragma once

/* Reports the state of this cluster's programs to a later life of the primary. */
void state_recovery_report(void);
