/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "message.h"

/* Does what the primary orders; false when the order makes no sense. */
bool order_execute(enum message_type type, const void *body, size_t size);

/* The state of an application that every manager knows, whichever cluster it is of. */
enum application_fate { FATE_PENDING, FATE_SERVING, FATE_GONE };
enum application_fate application_fate(uint32_t application);
/*
 * Its programs will restart with it. Each manager concludes this itself: no other cluster could report the loss of the
 * primary.
 */
void order_cluster_lost(uint32_t cluster);
/* Returns whether the order to finish has come. */
bool run_is_over(void);
/* The last barrier that opened: a program that reaches it, or one before it, goes on. */
uint32_t barrier_released(void);
