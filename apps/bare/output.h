/* SPDX-License-Identifier: BSD-2-Clause */
/* Results: a line for people on COM1, a JSON line on COM2. */
#pragma once

#include <stdint.h>
#include <skerry/format.h>

enum { LINE_SIZE = 400 };
#define LINE TEXT((char[LINE_SIZE]){ 0 }) /* a line of text, in the block where it stands */

void output_init(void);
void output_console(const struct text *line);
/* Straight to COM2; the cluster with devices only. */
void output_results(const struct text *line);
enum { EXIT_GOOD = 0x10, EXIT_BAD = 0x11 };
/* Ends the machine by QEMU's isa-debug-exit. */
_Noreturn void output_exit(unsigned status);
