/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/* What a child process that does `mistake`, as core 0 of the machine, writes to standard error; abort() must end it. */
void last_words(void (*mistake)(void), char *text, size_t size);
