/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and ends of this cluster's programs: a program and its stack process live and end together. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "message.h"

/* The primary's order. False: it makes no sense. What became of it is reported. */
bool life_start(uint32_t application);
/* A program has ended, or must end: all that it had is given back. */
void life_end(uint32_t application);
/* How it ended, and with what value (struct report_life). After life_end(). */
void life_ended(uint32_t application, enum life_state how, uint32_t value);
/* It has come to a barrier. */
void life_arrived(uint32_t application, uint32_t barrier);
/* Returns what became of it. */
struct report_life life_of(uint32_t application);
/*
 * A program serves, at TCP port `port` of `address` (0: of all its addresses) if `port` is not 0. Reported once in its
 * life, and once for each of its first listeners. One that listens on its own loopback interface alone does not serve.
 */
void life_serving(uint32_t application, uint16_t port, uint32_t address);
