/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports whose programs have ended: the switch answers in their place (reset.h). */
#pragma once

#include "forward.h"

/*
 * What a cluster-manager says, or a successor's epoch. A stack that says it itself ends its own port. Of an upper
 * switch nothing is told: the connections through it go on when it has started again. Nor is
 * anything told of a port at which another cluster has given this switch up: the program there runs on.
 */
static inline bool has_ended(const struct forward_port *port)
{
	return !port->upper && (port->ended ||
	                        (port->end.seen && port_changed(&port->end) && !port_is_given_up(&port->end)));
}

/* No upper switch is there. */
static inline bool is_cut_off(const struct forward_port *port) { return port->upper && port->end.seen & 1; }

/* A frame for an ended port. */
void answer_for_ended(struct forward *forward, unsigned port, const void *frame, uint32_t length, uint64_t now);

/*
 * At the beginning of a pass: look for ports that have ended or been opened, and
 * reset the connections of which frames are left in the rings of those that have
 * ended, one port at a time. A reset for which its
 * receiver has no room is tried again in each pass for `patience`, then dropped.
 * Returns whether anything moved. A cluster-manager wakes a switch that sleeps.
 */
bool tell_ended(struct forward *forward, uint64_t now, bool last);
