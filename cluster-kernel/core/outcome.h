/* SPDX-License-Identifier: BSD-2-Clause */
/* What a system call can come to besides an error of errors.h. None of these is seen by the thread. */
#pragma once

#include <stdint.h>

#define KERNEL_AGAIN     (~0ull)       /* the work budget is spent (work.h): the thread makes the call again */
#define KERNEL_WAITS     (~0ull - 1)   /* the thread waits: its waker gives it its result, maybe has already */
#define KERNEL_AWAY      (~0ull - 3)   /* nothing was done: only other cores may touch the object; cpu->own.home makes the call (visit.h) */
#define KERNEL_EXCLUSIVE (~0ull - 2)   /* nothing was done, for that needs the kernel for itself (lock.h) */
