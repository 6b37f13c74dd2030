/* SPDX-License-Identifier: BSD-2-Clause */
/* The two 16550 serial ports of the cluster that owns the devices. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERIAL_CONSOLE = 0x3f8, SERIAL_RESULTS = 0x2f8 };

/* 115200 8N1, FIFOs on. Says whether there is such a port. */
bool serial_init(uint16_t base);
void serial_write(uint16_t base, const char *bytes, size_t length);
/* Until the last bit has left. */
void serial_drain(uint16_t base);
