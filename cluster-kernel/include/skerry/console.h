/* SPDX-License-Identifier: BSD-2-Clause */
/* The console: kernels and managers print there, and managers pass on the lines of programs. */
#pragma once

/*
 * Begin what a manager or a kernel says for itself, up to the end of its line. It may stand within another writer's line,
 * which then goes on behind it. No program can write them, as managers replace control characters: readers on the host
 * believe nothing else (deploy/machine/console_lines.py). They differ because programs can have a kernel print at a moment when
 * their manager prints what they wrote, whereas their lines and their manager's come from one thread.
 */
#define CONSOLE_MANAGER '\x01' /* ASCII's SOH */
#define CONSOLE_KERNEL '\x02'  /* STX */
