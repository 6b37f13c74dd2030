/* SPDX-License-Identifier: BSD-2-Clause */
#include "uart.h"
#include <skerry/x86.h>

enum { DATA = 0, INTERRUPT_ENABLE = 1, FIFO_CONTROL = 2, LINE_CONTROL = 3, MODEM_CONTROL = 4, LINE_STATUS = 5,
       SCRATCH = 7 };
enum { LINE_8N1 = 3, LINE_DIVISOR = 0x80, FIFO_ON_AND_EMPTY = 7, MODEM_READY = 3, STATUS_ROOM = 0x20,
       STATUS_IDLE = 0x40, STATUS_ABSENT = 0xff };
enum { PATIENCE = 1000000, DIVISOR_BASE = 115200 };

static uint32_t in(uint16_t port, unsigned width)
{
	return width == 1 ? in8(port) : width == 2 ? in16(port) : in32(port);
}

static void out(uint16_t port, unsigned width, uint32_t v)
{
	if (width == 1)
		out8(port, (uint8_t)v);
	else if (width == 2)
		out16(port, (uint16_t)v);
	else
		out32(port, v);
}

static uint8_t uart_read(const struct uart *u, unsigned reg)
{
	volatile uint8_t *at = (volatile uint8_t *)u->registers + reg * u->stride;

	if (u->kind == BOOT_SERIAL_PORT)
		return (uint8_t)in((uint16_t)(u->port + reg * u->stride), u->width);
	return u->width == 1 ? *at : (uint8_t)(u->width == 2 ? *(volatile uint16_t *)at : *(volatile uint32_t *)at);
}

static void uart_write(const struct uart *u, unsigned reg, uint8_t value)
{
	volatile uint8_t *at = (volatile uint8_t *)u->registers + reg * u->stride;

	if (u->kind == BOOT_SERIAL_PORT)
		out((uint16_t)(u->port + reg * u->stride), u->width, value);
	else if (u->width == 1)
		*at = value;
	else if (u->width == 2)
		*(volatile uint16_t *)at = value;
	else
		*(volatile uint32_t *)at = value;
}

struct uart uart_at(const struct boot_serial *serial, volatile void *registers)
{
	return (struct uart){ .kind = serial->kind, .stride = serial->stride, .width = serial->width,
			      .port = (uint16_t)serial->base, .registers = registers };
}

bool uart_answers(const struct uart *u)
{
	if (u->kind == BOOT_SERIAL_NONE)
		return false;
	uart_write(u, SCRATCH, 0x5a);
	if (uart_read(u, SCRATCH) != 0x5a)
		return false;
	uart_write(u, SCRATCH, 0xa5);
	return uart_read(u, SCRATCH) == 0xa5;
}

void uart_init(const struct uart *u, uint32_t baud)
{
	if (u->kind == BOOT_SERIAL_NONE)
		return;
	uart_write(u, INTERRUPT_ENABLE, 0);
	if (baud != 0) {
		uart_write(u, LINE_CONTROL, LINE_DIVISOR | LINE_8N1);
		uart_write(u, DATA, (uint8_t)(DIVISOR_BASE / baud));
		uart_write(u, INTERRUPT_ENABLE, (uint8_t)(DIVISOR_BASE / baud >> 8));
	}
	uart_write(u, LINE_CONTROL, LINE_8N1);
	uart_write(u, FIFO_CONTROL, FIFO_ON_AND_EMPTY);
	uart_write(u, MODEM_CONTROL, MODEM_READY);
}

static bool wait_for(const struct uart *u, uint8_t status, uint32_t timeout)
{
	for (uint32_t i = 0; i < timeout; i++) {
		uint8_t now = uart_read(u, LINE_STATUS);

		if (now == STATUS_ABSENT)
			return false;
		if (now & status)
			return true;
		cpu_pause();
	}
	return false;
}

void uart_put(struct uart *u, char c)
{
	if (u->kind == BOOT_SERIAL_NONE)
		return;
	if (c == '\n')
		uart_put(u, '\r');
	u->stuck = !wait_for(u, STATUS_ROOM, u->stuck ? 1 : PATIENCE);
	if (!u->stuck)
		uart_write(u, DATA, (uint8_t)c);
}

bool uart_ready(struct uart *u)
{
	bool room = u->kind == BOOT_SERIAL_NONE || (uart_read(u, LINE_STATUS) & STATUS_ROOM);

	u->refused = room ? 0 : u->refused + 1;
	if (u->refused >= PATIENCE)
		u->stuck = true;
	return room || u->stuck;
}

void uart_drain(const struct uart *u)
{
	if (u->kind != BOOT_SERIAL_NONE && !u->stuck)
		wait_for(u, STATUS_IDLE, PATIENCE);
}
