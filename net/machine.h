/* SPDX-License-Identifier: BSD-2-Clause */
/* What sockets need of the machine below them; host tests have their own. */
#pragma once

/* The network port's shared memory (port.h), and how to wake its far end. */
void *interface_memory(void);
void interface_wake_peer(void);

/* The same of a cable, by its place in process_info.port. */
void *cable_memory(unsigned cable);
void cable_wake_peer(unsigned cable);

/* The same of the socket port (socket_port.h). */
void *socket_port_memory(void);
void socket_port_wake_peer(void);
