/* SPDX-License-Identifier: BSD-2-Clause */
/* The console: lines of all programs of all clusters, each with its writer's name in front. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void console_init(void);

/* A line of the manager's own, without its end. */
void console_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a program of this cluster writes; lines are put together here. */
void console_write(uint32_t application, const char *bytes, size_t length);
/* The program ended: its last line, even if unfinished. */
void console_flush(uint32_t application);

/* As they are. */
void console_bytes(const char *bytes, size_t length);

/* The primary: a whole line. `application` may be ABOUT_MANAGER, then of `cluster`'s manager. */
void console_line(uint32_t cluster, uint32_t application, const char *line, size_t length);
