/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/bell.h>
#include <skerry/port.h>
#include <skerry/process.h>
#include <skerry/stubs.h>
#include <skerry/posix.h>
#include "held_signal.h"
#include "machine.h"

static struct held_signal held;

static const uint64_t PAST = 1; /* a deadline */

/*
 * While a signal is held, the caller is about to sleep. A peer that rang after another one has woken this process
 * leaves a signal pending, which would end that sleep at once: an entry into the kernel for nothing. It is taken here.
 */
static void wake_slot(uint64_t slot)
{
	const uint64_t now = held_signal_add(&held, slot);

	if (!now)
		return;
	if (held.holding)
		held.took_wake |= !notification_signal_wait(now, PROCESS_SLOT_WAKE, PAST, 0);
	else
		notification_signal(now);
}

void net_hold_signal(void) { held_signal_begin(&held); }
bool net_took_wake(void) { return held_signal_took_wake(&held); }
uint64_t net_held_signal(void) { return held_signal_take(&held); }

struct bell *own_bell(void) { return bell_at(PROCESS_BELL_OWN); }

void *interface_memory(void) { return (void *)PROCESS_PORT_VADDR; }
void interface_wake_peer(void) { wake_slot(PROCESS_SLOT_PEER); }
const struct bell *interface_bell(void)
{
	return process_info()->network.remote ? 0 : bell_at(PROCESS_BELL_PORT);
}

void *cable_memory(unsigned cable) { return (char *)PROCESS_CABLES_VADDR + (uint64_t)cable * CABLE_SIZE; }
void cable_wake_peer(unsigned cable) { wake_slot(PROCESS_SLOT_CABLE_WAKE + cable); }
const struct bell *cable_bell(unsigned cable) { return bell_at(PROCESS_BELL_PORTS + cable); }

void *socket_port_memory(void) { return (void *)PROCESS_SOCKETS_VADDR; }
void socket_port_wake_peer(void) { wake_slot(PROCESS_SLOT_SOCKETS); }
