/* SPDX-License-Identifier: BSD-2-Clause */
/* A moment that an emulator's plugin sees (deploy/lockstep): a no-op, `nopl` whose displacement says that it is one. */
#pragma once

#define MARK(number) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, " #number ", 0x00, 0x4b, 0x53" ::: "memory")
