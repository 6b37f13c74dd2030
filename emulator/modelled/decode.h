/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes an instruction's bytes (64-bit mode) into the properties that the modelled machine prices. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "prices.h"

enum {
	IS_LOCKED = 1,        /* has a LOCK prefix, or is XCHG with memory */
	IS_DRAIN = 2,         /* waits until all stores are visible */
	IS_FLUSH = 4,         /* changes the address space */
	IS_PAUSE = 8,
	IS_KERNEL_ENTRY = 16, /* SWAPGS: the kernel's first instruction and one of its last */
	IS_KERNEL_EXIT = 32,  /* SYSRET, IRET */
	IS_MARK = 64,         /* a no-op of the guest's that marks a moment (skerry/mark.h) */
	IS_CLOCK = 128,       /* reads the time-stamp counter */
	/* changes what is at an address, without IS_FLUSH: INVLPG, INVPCID, a move to CR0 or CR4 */
	IS_REMAP = 256,
	IS_SAVE = 512,        /* XSAVE */
	IS_RESTORE = 1024,    /* XRSTOR */
	IS_IN = 2048,         /* reads a port */
};

enum { NO_REGISTER = 16 };

/* Where in memory: the registers' numbers as instructions have them, or NO_REGISTER. */
struct operand {
	bool known; /* it is relative to these two registers, and neither to a segment nor to the instruction */
	unsigned base, index, scale; /* scale: log2 */
	int32_t displacement;
};

struct decoded {
	unsigned is;
	uint64_t price; /* UNIT; base CPI included */
	unsigned mark;  /* IS_MARK: its number */
	struct operand operand; /* IS_SAVE, IS_RESTORE */
};

struct decoded decode(const struct prices *price, const uint8_t *bytes, size_t size, bool kernel);
