/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/port.h>
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "machine.h"

void *interface_memory(void) { return (void *)PROCESS_PORT_VADDR; }
void interface_wake_peer(void) { notification_signal(PROCESS_SLOT_PEER); }

void *cable_memory(unsigned cable) { return (char *)PROCESS_CABLES_VADDR + (uint64_t)cable * CABLE_SIZE; }
void cable_wake_peer(unsigned cable) { notification_signal(PROCESS_SLOT_CABLE_WAKE + cable); }

void *socket_port_memory(void) { return (void *)PROCESS_SOCKETS_VADDR; }
void socket_port_wake_peer(void) { notification_signal(PROCESS_SLOT_SOCKETS); }
