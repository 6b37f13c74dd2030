/* SPDX-License-Identifier: BSD-2-Clause */
/* Internal results of a system call, beside the errors of errors.h. No thread ever sees one. */
#pragma once

#include <stdint.h>

#define KERNEL_AGAIN     (~0ull)       /* the work budget is spent (work.h): the thread makes the call again */
#define KERNEL_WAITS     (~0ull - 1)   /* the thread waits: its waker gives it its result, maybe has already */
/* nothing was done: only other cores may touch the object; core cpu->own.home will make the call (visit.h) */
#define KERNEL_AWAY      (~0ull - 3)
#define KERNEL_EXCLUSIVE (~0ull - 2)   /* nothing was done: the call needs an exclusive entry (lock.h) */
