/* SPDX-License-Identifier: BSD-2-Clause */
/* The "+stat" image: what struct core_stat (skerry/stat.h) says. Only the core itself writes its record. */
#pragma once

#include <skerry/stat.h>
#include "arch.h"

static inline uint64_t count_now(void) { return arch_time(); }
static inline void count_entry(struct core_stat *stat) { stat->entries++; }

static inline void count_acquired(struct core_stat *stat, uint64_t *acquired, uint64_t wanted, uint64_t spins)
{
	uint64_t wait = (*acquired = arch_time()) - wanted;
	count_entry(stat);
	stat->lock_grabs++;
	stat->lock_conflicts += spins != 0;
	stat->lock_spins += spins;
	stat->lock_wait += wait;
	if (wait > stat->lock_wait_max)
		stat->lock_wait_max = wait;
}

static inline void count_released(struct core_stat *stat, uint64_t acquired)
{
	uint64_t hold = arch_time() - acquired;
	stat->lock_hold += hold;
	if (hold > stat->lock_hold_max)
		stat->lock_hold_max = hold;
}

static inline void count_syscall(struct core_stat *stat) { stat->syscalls++; }
static inline void count_interrupt(struct core_stat *stat) { stat->interrupts++; }
static inline void count_fault(struct core_stat *stat) { stat->faults++; }
static inline void count_switch(struct core_stat *stat) { stat->switches++; }
