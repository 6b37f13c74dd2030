/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own output, on the debug console. */
#pragma once

#include <skerry/seal.h>

/*
 * Writes a line, as the kernel's own: CONSOLE_KERNEL of skerry/console.h in front, its seal and its end behind.
 * %s string, %u unsigned decimal (32 bit), %p 64-bit hexadecimal, %%. No end of a line within it.
 */
void print(const char *format, ...);

/* The same in pieces. */
struct print_line {
	struct seal seal;
};
void print_begin(struct print_line *line, const char *format, ...);
void print_more(struct print_line *line, const char *format, ...);
void print_end(struct print_line *line);
