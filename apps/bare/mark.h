/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* A no-op that an emulator can see: `nopl` whose displacement's upper half says that it is one of these. */
#define MARK(number) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, " #number ", 0x00, 0x4b, 0x53" ::: "memory")
