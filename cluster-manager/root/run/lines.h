/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts together the lines that programs of this cluster write. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Passes on each line that these bytes end. */
void line_write(uint32_t application, const char *bytes, size_t length);
/* The program ended: passes on its last line, even if unfinished. */
void line_flush(uint32_t application);
