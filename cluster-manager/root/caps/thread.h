/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of the manager beside its main one. They have no IPC buffer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Starts one on core 0 at `entry`, which never returns, with a stack that ends at `stack_top` (16-byte aligned). Its
 * TCB; panics when it cannot. */
int thread_make(const char *name, void (*entry)(void), char *stack_top, unsigned priority);
