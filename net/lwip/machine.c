/* SPDX-License-Identifier: BSD-2-Clause */
/* What the stack needs of the machine below it; host tests have their own. */
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "interface.h"

void *interface_memory(void) { return (void *)PROCESS_PORT_VADDR; }

void interface_wake_peer(void) { notification_signal(PROCESS_SLOT_PEER); }
