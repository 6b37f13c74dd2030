/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "machine.h"

void *interface_memory(void) { return (void *)PROCESS_PORT_VADDR; }
void interface_wake_peer(void) { notification_signal(PROCESS_SLOT_PEER); }

void *socket_port_memory(void) { return (void *)PROCESS_SOCKETS_VADDR; }
void socket_port_wake_peer(void) { notification_signal(PROCESS_SLOT_SOCKETS); }
