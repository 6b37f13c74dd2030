/* SPDX-License-Identifier: BSD-2-Clause */
/* channel.c for a test: without a kernel, and with a clock that the test sets. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <skerry/machine_handshake.h>
#include "channel.h"
#include "channel-memory.h"
#include "console.h"
#include "mailbox.h"
#include "root.h"
#include "slots.h"
#include "test-check.h"
#include "timer.h"
#include "vspace.h"

static uint64_t now = 1000000;
static uint64_t test_clock(void) { return now; }
static int no_kernel(void) { return 0; }

#define read_tsc test_clock
#define notification_signal(slot) ((void)(slot))
#define cnode_mint(ipc, cnode, slot, source, source_slot, rights, badge) no_kernel()
#define channel_listen(ipc, channel, doorbell, core, notification) ((void)(notification), no_kernel())
#include "channel.c"

void *own_memory(uint64_t size) { return calloc(1, size); }
int slots_take(uint32_t count) { return (int)count; }
