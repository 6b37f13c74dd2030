/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"

enum { COM1 = 0x3f8, COM2 = 0x2f8, LINE_CONTROL = 3, LINE_STATUS = 5, STATUS_ROOM = 0x20, STATUS_IDLE = 0x40 };
enum { EXIT_PORT = 0xf4 };

bool has_devices(void)
{
	uint32_t value;
	return io_port_in(ROOT_SLOT_IO_PORT, 0x80, 1, &value) == 0;
}

static void port_write(uint16_t port, uint32_t value) { io_port_out(ROOT_SLOT_IO_PORT, port, 1, value); }

static void wait_for(uint16_t base, uint32_t status)
{
	uint32_t value = 0;
	for (unsigned i = 0; i < 100000 && !(value & status); i++)
		io_port_in(ROOT_SLOT_IO_PORT, base + LINE_STATUS, 1, &value);
}

void output_init(void)
{
	if (!has_devices())
		return;
	port_write(COM2 + 1, 0);
	port_write(COM2 + LINE_CONTROL, 0x80); /* divisor 1, then 8N1 */
	port_write(COM2, 1);
	port_write(COM2 + 1, 0);
	port_write(COM2 + LINE_CONTROL, 3);
	port_write(COM2 + 2, 7);
}

void output_console(const struct text *line)
{
	for (size_t i = 0; i < line->length; i++)
		debug_put(ROOT_SLOT_CONTROL, line->data[i]);
}

void output_results(const struct text *line)
{
	for (size_t i = 0; i < line->length; i++) {
		if (i % 16 == 0)
			wait_for(COM2, STATUS_ROOM);
		port_write(COM2, (uint8_t)line->data[i]);
	}
}

_Noreturn void output_exit(unsigned status)
{
	wait_for(COM1, STATUS_IDLE);
	wait_for(COM2, STATUS_IDLE);
	port_write(EXIT_PORT, status);
	for (;;)
		thread_yield();
}
