/* SPDX-License-Identifier: BSD-2-Clause */
/* The 16550 serial ports of the cluster that owns the devices, set up by the loader: ROOT->console_port,
 * results_port. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SERIAL_FIFO = 16 };

/* Returns whether the port takes SERIAL_FIFO bytes now. */
bool serial_ready(uint16_t base);
/* Writes a byte without waiting. Caller has found the port ready, and writes no more than SERIAL_FIFO bytes until it
 * asks again. */
void serial_put(uint16_t base, char byte);
/* Waits until the last bit has left. */
void serial_drain(uint16_t base);
