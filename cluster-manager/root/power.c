/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"
#include "power.h"
#include "root.h"
#include "serial.h"

/* QEMU's isa-debug-exit ends with status 2 * value + 1. */
enum { DEBUG_EXIT_PORT = 0xf4, DEBUG_EXIT_SUCCESS = 0x10, DEBUG_EXIT_FAILURE = 0x11, EXIT_MS = 500 };

void power_off(uint32_t status)
{
	if (ROOT->results_port)
		serial_drain(ROOT->results_port);
	if (ROOT->console_port)
		serial_drain(ROOT->console_port);
	io_port_out(ROOT_SLOT_IO_PORT, DEBUG_EXIT_PORT, 1, status ? DEBUG_EXIT_FAILURE : DEBUG_EXIT_SUCCESS);
	uint64_t patience = read_tsc() + milliseconds(EXIT_MS); /* the emulator ends a moment later */
	while (read_tsc() < patience)
		;
	console_print("it is now safe to switch off");
}
