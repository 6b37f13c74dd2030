/* SPDX-License-Identifier: BSD-2-Clause */
#include "root.h"
#include "serial.h"

/* Registers and bits of the 16550 */
enum {
	DATA = 0, LINE_STATUS = 5,
	STATUS_ROOM = 0x20, STATUS_IDLE = 0x40,
	TIMEOUT = 1000000, /* turns of the waiting loop: a port that is stuck must not stop the cluster */
};

static uint8_t line_status(uint16_t base)
{
	uint32_t value;
	io_port_in(ROOT_SLOT_IO_PORT, base + LINE_STATUS, 1, &value);
	return (uint8_t)value;
}

bool serial_ready(uint16_t base) { return line_status(base) & STATUS_ROOM; }

void serial_put(uint16_t base, char byte)
{
	io_port_out(ROOT_SLOT_IO_PORT, base + DATA, 1, (uint8_t)byte);
}

void serial_drain(uint16_t base)
{
	for (unsigned i = 0; i < TIMEOUT && !(line_status(base) & STATUS_IDLE); i++)
		;
}
