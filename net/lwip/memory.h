/* SPDX-License-Identifier: BSD-2-Clause */
/* lwIP's memory: arch/cc.h has what lwIP calls. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Fills the reserve. False without memory. Before lwip_init(). */
bool net_memory_start(void);

/* Returns whether one block of this size is there, for the next net_allocate() if nothing else comes before. */
bool net_memory_has(size_t size);

/* Returns whether layer_allocate() would give this: beyond lwIP's memory. */
bool net_memory_layer_has(size_t size);

/* Counts all later allocations as data to send: in net_memory_sent() until they are freed. They leave the reserve
 * alone. */
void net_memory_sending(bool on);

/* Memory of blocks that hold data to send. */
size_t net_memory_sent(void);
