/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own output, on the debug console. */
#pragma once

/*
 * Begins a line, as the kernel's own: CONSOLE_KERNEL of skerry/console.h. No line has an end within it.
 * %s string, %u unsigned decimal (32 bit), %p 64-bit hexadecimal, %%
 */
void print(const char *format, ...);

/* Goes on with the line. */
void print_more(const char *format, ...);
