/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that sockets require of the machine below them; host tests have their own. */
#pragma once

struct bell;

/* This program's bell word (bell.h). */
struct bell *own_bell(void);

/* The network port's shared memory (port.h), how to wake its far end, and whether that sleeps; null: it is in another
 * cluster. */
void *interface_memory(void);
void interface_wake_peer(void);
const struct bell *interface_bell(void);

/* The same of a cable, by its place in process_info.port. */
void *cable_memory(unsigned cable);
void cable_wake_peer(unsigned cable);
const struct bell *cable_bell(unsigned cable);

/* The same of the socket port (socket_port.h). */
void *socket_port_memory(void);
void socket_port_wake_peer(void);
