/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network ports (skerry/port.h): each application with an address, and each NIC
 * driver, has one to its switch, and so has each lower switch to its upper one.
 * In the switch's own cluster a port is ordinary memory and two notifications;
 * to another cluster it lies in the channel's memory and doorbells wake its
 * ends.
 */
#pragma once

#include <stdint.h>
#include <skerry/port.h>
#include <skerry/process.h>
#include "grant.h"

/* Bits of a stack's or driver's PROCESS_SLOT_WAKE; a switch has bit (port % 64) for each port. */
enum { PORT_BADGE = 1, INTERRUPT_BADGE = 2 };

void ports_init(void);

/*
 * Gives a program its port, or a switch all its ports, and PROCESS_SLOT_WAKE to everybody. For each life of a program
 * anew, of which each but the first comes after ports_close().
 */
int ports_attach(uint32_t application, struct process *p, struct process_info *info);
/*
 * A program of this cluster has ended: its threads are stopped on all cores, and its VSpace still exists. Takes its
 * ends of ports away and closes them. Its switch drops what comes for it, and resets its connections, or, if it was a
 * switch, the upper one does.
 */
void ports_close(uint32_t application);
/* The same of a program of any cluster, which is not to start again; does nothing to one that runs here. */
void ports_ended(uint32_t application);
/* The notification that PROCESS_SLOT_WAKE of a program of this cluster names. */
int ports_wake(uint32_t application);
/* The same of the process that has the port of an application with an address: its stack, where that is a process of
 * its own. */
int ports_wake_of_holder(uint32_t application);
/* Gives a program the bell word of that process, as bell_give() does (bells.h). */
int ports_bell_of_holder(uint32_t application, struct process *, unsigned page);
/*
 * The application whose port or cables this program has: itself, or the one whose stack it is; MAP_NONE: its stack is a
 * process of its own.
 */
int ports_owner(uint32_t application);
/* Closes a side of a port or cable, whose epochs are in the page of this slot. */
void port_end_close(int epochs, enum port_direction side);
