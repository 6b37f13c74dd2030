/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "interface.h"

void interface_wake_peer(void) { notification_signal(PROCESS_SLOT_PEER); }
