/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Turns of the managers of a machine on its console, a line each: lines leave whole where several managers write, as
 * they do while the first cluster is lost. Lamport's bakery (1974): a manager draws a ticket above all that others
 * show, shows it in its ledger, and the lowest ticket writes. No manager waits for a cluster that is lost, nor longer
 * than CONSOLE_TURN_MS for one that is not.
 *
 * Called by one thread.
 */
#pragma once

#include <stdbool.h>

enum { CONSOLE_TURN_MS = 500 };

/* Returns whether it is this cluster's turn, which lasts until console_turn_end(), and no kernel prints its report. */
bool console_turn_take(void);
void console_turn_end(void);
