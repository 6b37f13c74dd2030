/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fast path: Call and ReplyRecv between two threads of one core that both
 * are where a client and its server always are. What else can happen is the
 * slow path's (syscall.c); the outcome is the same either way.
 *
 *     the message     no capabilities, words in registers only
 *     the CSpace      one level, of either thread no other is looked at
 *     the receiver    waits already, on this core, of no lower priority than the
 *                     current thread (so none that is ready has a higher one)
 */
#pragma once

#include <stdint.h>

struct cpu;
struct context;

/*
 * The current thread calls through the endpoint capability `cptr`, or answers
 * through `reply_cptr` and receives through `cptr`; cptr and info are where the
 * system call has them. Takes the lock and releases it. Returns the registers
 * to leave through; hardware work is done, nothing is pending.
 *
 * Or null: nothing has happened, the lock is held: kernel_syscall_entered().
 */
const struct context *fastpath_call(uint64_t cptr, uint64_t info, struct cpu *cpu);
const struct context *fastpath_reply_receive(uint64_t cptr, uint64_t info, struct cpu *cpu, uint64_t reply_cptr);
