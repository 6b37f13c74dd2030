/* SPDX-License-Identifier: BSD-2-Clause */
/* The debug console: the serial port and the screen that the loader found. */
#pragma once

#include <skerry/boot.h>

/* After paging_init; before, the kernel is silent. */
void console_init(const struct boot_info *info);
