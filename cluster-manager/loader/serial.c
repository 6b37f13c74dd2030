/* SPDX-License-Identifier: BSD-2-Clause */
#include "cpu.h"
#include "loader.h"

enum { COM1 = 0x3f8, LINE_STATUS = 5, TRANSMIT_EMPTY = 0x20, DEBUG_EXIT = 0xf4, DEBUG_EXIT_REFUSED = 0x31 };

void serial_init(void)
{
	out8(COM1 + 1, 0);    /* no interrupts */
	out8(COM1 + 3, 0x80); /* divisor 1: 115200 */
	out8(COM1 + 0, 1);
	out8(COM1 + 1, 0);
	out8(COM1 + 3, 3); /* 8n1 */
	out8(COM1 + 2, 7); /* FIFOs on, empty */
	out8(COM1 + 4, 3);
}

static void put(char c)
{
	/* a machine without the port reads all ones and so never waits; a stuck one not for long */
	for (uint32_t i = 0; i < 1000000 && !(in8(COM1 + LINE_STATUS) & TRANSMIT_EMPTY); i++)
		pause();
	out8(COM1, (uint8_t)c);
}

static void put_line(const char *prefix, const char *format, va_list args)
{
	char line[256];

	text_format(line, sizeof line, format, args);
	for (const char *p = "skerry loader: "; *p != '\0'; p++)
		put(*p);
	for (; *prefix != '\0'; prefix++)
		put(*prefix);
	for (const char *p = line; *p != '\0'; p++)
		put(*p);
	put('\r');
	put('\n');
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line("", format, args);
	va_end(args);
}

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line("refused: ", format, args);
	va_end(args);
	while (!(in8(COM1 + LINE_STATUS) & 0x40)) /* all of it sent */
		pause();
	out8(DEBUG_EXIT, DEBUG_EXIT_REFUSED);
	for (;;)
		__asm__ volatile("cli; hlt");
}
