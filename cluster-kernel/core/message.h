/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages: moving them between threads, reading the arguments of invocations. */
#pragma once

#include "arch_context.h"
#include "thread.h"

/* Where a thread's system call finds its arguments and leaves its results. */
static inline void thread_result(struct thread *thread, uint64_t error) { context_set_result(&thread->context, error); }

/* No capabilities, no words in memory, no bits that have no meaning. */
/*@ assigns \nothing;
  @ ensures bits: \result <==> info % 128 <= MESSAGE_REGISTERS && info / 128 % 32 == 0; */
static inline bool message_is_short(uint64_t info) { return (info & 0xfff) <= MESSAGE_REGISTERS; }

/* Gives `to` the sender's message: words, capabilities if `grant`, info, badge, result 0. */
void message_transfer(const struct thread *from, struct thread *to, uint64_t info, uint64_t badge, bool grant);

/* Word `index` of the current invocation; the caller has checked the length. */
uint64_t message_word(const struct thread *thread, unsigned index);
/* Sets a word of an invocation's answer. */
void message_set_word(struct thread *thread, unsigned index, uint64_t value);

/* The slot that the IPC buffer's capability pointer `index` names, null if none is given. */
struct slot *message_cap(struct cpu *cpu, uint64_t info, unsigned index);
/* The same, if it holds a capability of this type. */
struct slot *message_cap_of(struct cpu *cpu, uint64_t info, unsigned index, unsigned type);
