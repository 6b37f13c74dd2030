/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's memory: arch/cc.h has what lwIP calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Fills the reserve. False without memory. Before lwip_init(). */
bool net_memory_start(void);

/* Whether one block of this size is there, for the next net_allocate() if nothing else comes before. */
bool net_memory_has(size_t size);

/* Whether layer_allocate() would give this: beyond lwIP's memory. */
bool net_memory_layer_has(size_t size);

/* What is allocated from now on is data to send: it counts in net_memory_sent() until it is freed, and leaves the
 * reserve alone. */
void net_memory_sending(bool on);

/* Memory of blocks that hold data to send. */
size_t net_memory_sent(void);
