/* SPDX-License-Identifier: BSD-2-Clause */
/* The console: kernels and managers print there, and managers pass on the lines of programs. */
#pragma once

/*
 * Begin what a manager or a kernel says for itself; the seal of such a line (skerry/seal.h) is its end. It may stand
 * within another writer's line, which then goes on behind it. No program can write marks or seals, as managers replace
 * control
 * characters: readers on the host believe nothing else (deploy/machine/console_lines.py).
 */
#define CONSOLE_MANAGER '\x01' /* ASCII's SOH */
#define CONSOLE_KERNEL '\x02'  /* STX */
