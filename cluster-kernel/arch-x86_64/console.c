/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"
#include "arch.h"
#include "assert.h"
#include "paging.h"
#include "screen.h"
#include "uart.h"

static struct uart uart;
static struct screen screen;

void console_init(const struct boot_info *info)
{
	const struct boot_serial *serial = &info->console;
	uart = uart_at(serial, serial->kind == BOOT_SERIAL_MEMORY ? map_device(serial->base) : 0);
	screen = screen_at(&info->screen, (volatile uint8_t *)KERNEL_SCREEN_BASE);
	screen_clear(&screen);
}

bool arch_console_ready(void) { return uart_ready(&uart); }

void arch_console_put(char c)
{
	uart_put(&uart, c);
	screen_put(&screen, c);
}

uint64_t arch_port_in(uint16_t port, unsigned size)
{
	kernel_assert(size == 1 || size == 2 || size == 4);
	return size == 1 ? in8(port) : size == 2 ? in16(port) : in32(port);
}

void arch_port_out(uint16_t port, unsigned size, uint64_t value)
{
	kernel_assert(size == 1 || size == 2 || size == 4);
	if (size == 1)
		out8(port, value);
	else if (size == 2)
		out16(port, value);
	else
		out32(port, value);
}
