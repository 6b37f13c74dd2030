/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the run, which a primary that was lost and has started again
 * knows nothing of: every other manager tells it what became of its programs.
 *
 * The messages are a snapshot, and reports that come before it and after it are
 * taken as always: those before are of programs that the primary does not yet
 * know to run, and have no effect; the snapshot has what they said.
 */
#pragma once

/* A later life of the primary has come. */
void recount(void);
