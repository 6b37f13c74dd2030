/* SPDX-License-Identifier: BSD-2-Clause */
/* The debug console: COM1, set up by the loader. */
#include "arch.h"

enum { COM1 = 0x3f8, LINE_STATUS = COM1 + 5, TRANSMIT_EMPTY = 0x20 };

void arch_console_put(char c)
{
	if (in8(LINE_STATUS) == 0xff)
		return; /* there is no serial port */
	if (c == '\n')
		arch_console_put('\r');
	while (!(in8(LINE_STATUS) & TRANSMIT_EMPTY))
		arch_relax();
	out8(COM1, c);
}

uint64_t arch_port_in(uint16_t port, unsigned size)
{
	return size == 1 ? in8(port) : size == 2 ? in16(port) : in32(port);
}

void arch_port_out(uint16_t port, unsigned size, uint64_t value)
{
	if (size == 1)
		out8(port, value);
	else if (size == 2)
		out16(port, value);
	else
		out32(port, value);
}
