/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers in place of ports whose programs have ended (reset.h). */
#pragma once

#include "forward.h"

/*
 * Returns whether the program at the port has ended: its cluster-manager or itself has closed its epoch, or a successor
 * has another. False for an upper switch, whose connections go on when it has started again, and for a port at which
 * another cluster has given this switch up: the program there runs on.
 */
static inline bool has_ended(const struct forward_port *port)
{
	return !port->upper && (port->ended ||
	                        (port->end.seen && port_changed(&port->end) && !port_is_given_up(&port->end)));
}

/* Returns whether the upper switch of this port has ended. */
static inline bool is_cut_off(const struct forward_port *port) { return port->upper && port->end.seen & 1; }

/* Answers a frame for an ended port with a reset. */
void answer_for_ended(struct forward *forward, unsigned port, const void *frame, uint32_t length, uint64_t now);

/*
 * Called at the beginning of a pass. Polls for ports that have ended or been opened,
 * and resets the connections that have frames in the rings of an ended port, one port
 * at a time. A reset without room at its receiver is tried again in each pass for
 * `timeout`, then dropped. Returns whether a frame moved. A cluster-manager wakes a
 * switch that sleeps.
 */
bool reset_queue_serve(struct forward *forward, uint64_t now, bool last);
