/* SPDX-License-Identifier: BSD-2-Clause */
/* The 16550 serial ports of the cluster that owns the devices, set up by the loader: ROOT->console_port, results_port. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void serial_write(uint16_t base, const char *bytes, size_t length);
/* Until the last bit has left. */
void serial_drain(uint16_t base);
