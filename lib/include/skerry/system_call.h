/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the stubs that only the processor can do. The kernel's tests have this header once more, for the hosted
 * port: apps/ktest/hosted/.
 */
#pragma once

#include <stdint.h>
#include <skerry/message.h>
#include <skerry/syscall.h>
#include <skerry/tsc.h>

/* The one SYSCALL instruction. `m` may not be null; `reply` is 0 where there is none. */
static inline int system_call(enum skerry_syscall number, uint64_t cap, uint64_t reply, struct message *m)
{
	uint64_t result = number;
	uint64_t info = m->info;
	uint64_t word0 = m->word[0];
	register uint64_t word1 __asm__("r10") = m->word[1];
	register uint64_t word2 __asm__("r8") = m->word[2];
	register uint64_t word3 __asm__("r9") = m->word[3];
	register uint64_t reply_cap __asm__("r12") = reply;

	__asm__ volatile("syscall"
			 : "+a"(result), "+D"(cap), "+S"(info), "+d"(word0), "+r"(word1), "+r"(word2), "+r"(word3)
			 : "r"(reply_cap)
			 : "rcx", "r11", "memory");
	m->info = info;
	m->badge = cap;
	m->word[0] = word0;
	m->word[1] = word1;
	m->word[2] = word2;
	m->word[3] = word3;
	return -(int)result;
}
