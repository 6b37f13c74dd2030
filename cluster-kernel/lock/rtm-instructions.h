/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Restricted transactional memory (Intel SDM volume 1, chapter 16: Programming
 * with Intel TSX), for ports that have such a processor, or may find one.
 */
#pragma once

#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RTM_TRIALS = 100 };

/*
 * XBEGIN. True: the transaction runs. When it aborts, memory and registers are as they were here and this returns once
 * more, false, with the processor's word why in *status.
 */
static inline __attribute__((always_inline)) bool rtm_xbegin(uint32_t *status)
{
	asm goto("xbegin 1f\n\t"
	         ".pushsection .text.unlikely, \"ax\", @progbits\n"
	         "1:\tmovl %%eax, (%0)\n\t"
	         "jmp %l[aborted]\n\t"
	         ".popsection"
	         : : "r"(status) : "rax", "memory" : aborted);
	return true;
aborted:
	return false;
}

static inline __attribute__((always_inline)) void rtm_xend(void) { asm volatile("xend" ::: "memory"); }

/* `code`: a constant, 0 to 255. Outside a transaction it does nothing. */
#define rtm_xabort(code) asm volatile("xabort %0" ::"i"(code) : "memory")

/*
 * Returns null if transactions commit on this processor, else the reason why not. XBEGIN may be undefined where CPUID
 * does not report RTM.
 */
static inline const char *rtm_unusable(void)
{
	uint32_t eax, ebx, ecx, edx, status;
	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx >> 11 & 1))
		return "this processor has no RTM";
	if (edx >> 11 & 1)
		return "this processor aborts every transaction (RTM_ALWAYS_ABORT)";
	for (unsigned i = 0; i < RTM_TRIALS; i++)
		if (rtm_xbegin(&status)) {
			rtm_xend();
			return NULL;
		}
	return "this processor has RTM, but no trial transaction was committed";
}
