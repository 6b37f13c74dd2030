/* SPDX-License-Identifier: BSD-2-Clause */
/* The console: lines of all programs of all clusters, each with its writer's name in front. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { CONSOLE_LINE_MAX = 512 };

/* A line of the manager's own, without its end. One that is not the primary's is mailed, for the service loop to
 * send. */
void console_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a whole line to this cluster's console port. `application` may be ABOUT_MANAGER, then of `cluster`'s
 * manager. */
void console_line(uint32_t cluster, uint32_t application, const char *line, size_t length);
