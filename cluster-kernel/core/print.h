/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own output, on the debug console. */
#pragma once

/* %s string, %u unsigned decimal (32 bit), %p 64-bit hexadecimal, %% */
void print(const char *format, ...);
