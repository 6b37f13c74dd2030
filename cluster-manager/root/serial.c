/* SPDX-License-Identifier: BSD-2-Clause */
#include "root.h"
#include "serial.h"

/* Registers and bits of the 16550 */
enum {
	DATA = 0, LINE_STATUS = 5,
	STATUS_ROOM = 0x20, STATUS_IDLE = 0x40,
	FIFO_SIZE = 16,
	PATIENCE = 1000000, /* turns of the waiting loop: a port that is stuck must not stop the cluster */
};

static void put(uint16_t base, uint16_t reg, uint8_t value)
{
	io_port_out(ROOT_SLOT_IO_PORT, base + reg, 1, value);
}

static uint8_t get(uint16_t base, uint16_t reg)
{
	uint32_t value;
	io_port_in(ROOT_SLOT_IO_PORT, base + reg, 1, &value);
	return (uint8_t)value;
}

static void wait_for(uint16_t base, uint8_t status)
{
	for (unsigned i = 0; i < PATIENCE && !(get(base, LINE_STATUS) & status); i++)
		;
}

void serial_write(uint16_t base, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (i % FIFO_SIZE == 0)
			wait_for(base, STATUS_ROOM);
		put(base, DATA, (uint8_t)bytes[i]);
	}
}

void serial_drain(uint16_t base)
{
	wait_for(base, STATUS_IDLE);
}
