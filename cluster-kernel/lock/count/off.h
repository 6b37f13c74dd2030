/* SPDX-License-Identifier: BSD-2-Clause */
/* The plain image counts nothing: all of this compiles to nothing. */
#pragma once

#include <skerry/stat.h>

static inline uint64_t count_now(void) { return 0; }
static inline void count_entry(struct core_stat *stat) { (void)stat; }
static inline void count_acquired(struct core_stat *stat, uint64_t *acquired, uint64_t wanted, uint64_t spins)
{
	(void)stat, (void)acquired, (void)wanted, (void)spins;
}
static inline void count_released(struct core_stat *stat, uint64_t acquired) { (void)stat, (void)acquired; }
static inline void count_syscall(struct core_stat *stat) { (void)stat; }
static inline void count_interrupt(struct core_stat *stat) { (void)stat; }
static inline void count_fault(struct core_stat *stat) { (void)stat; }
static inline void count_switch(struct core_stat *stat) { (void)stat; }
