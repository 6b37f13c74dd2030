/* SPDX-License-Identifier: BSD-2-Clause */
/* The primary: what has been published of the life of each application. Reports that repeat it change nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "listeners.h"

/* An application is ordered to start, and its stack process, or the program of a stack process, with it: their next
 * reports are news. */
void published_new_life(uint32_t application);
/* Notes that it has started. Returns false if that is noted already. */
bool published_start(uint32_t application);
/* Notes that it listens. Returns false if there is nothing to publish (listeners.h). */
bool published_listener(uint32_t application, struct listener listener);
