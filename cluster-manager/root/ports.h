/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network ports (net/port.h): each application with an address, and each NIC
 * driver, has one to the switch. In the switch's own cluster a port is ordinary
 * memory and two notifications; to another cluster it lies in the channel's
 * memory and doorbells wake its ends.
 */
#pragma once

#include <stdint.h>
#include <skerry/process.h>
#include "process.h"

/* Bits of a stack's or driver's PROCESS_SLOT_WAKE; the switch has bit (port % 64) for each port. */
enum { PORT_BADGE = 1, INTERRUPT_BADGE = 2 };

void ports_init(void);

/* Gives a program its port, or the switch all ports, and PROCESS_SLOT_WAKE to everybody. */
int ports_attach(uint32_t application, struct process *p, struct process_info *info);
/* The notification that PROCESS_SLOT_WAKE of a program of this cluster names. */
int ports_wake(uint32_t application);
