/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A moment that an emulator's plugin sees (emulator/): a no-op, `nopl` whose displacement says that it is one.
 * Number 0 says that what follows leads to what is measured, so that its caches are to be modelled. A manager makes it
 * when it starts a program, the marks 1 and 2 when the barriers of these numbers open, and 9 when the run is over.
 */
#pragma once

#define MARK(number) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, " #number ", 0x00, 0x4b, 0x53" ::: "memory")
