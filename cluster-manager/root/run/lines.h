/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs of this cluster write, put together to lines. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Passes on each line that these bytes end. */
void line_write(uint32_t application, const char *bytes, size_t length);
/* The program ended: passes on its last line, even if unfinished. */
void line_flush(uint32_t application);
