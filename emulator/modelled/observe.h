/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Observers of the guest's memory accesses. They are there only if an option asks for one; else an access costs what it
 * cost without them. What they observe changes no clock; but transactions cost time, and so does a hold that is planted
 * (prices.def), which needs `locks`.
 *
 *     lines=FILE    which lines move between cores, and which instructions move them (lines.h)
 *     locks=FILE    which core had to wait for which lock, how long it was held (locks.h); with
 *     protocol=ticket|clh|mcs, tail=ADDRESS    of the kernels, all of one regime, and
 *     entry=SYSCALL:INTERRUPT    addresses of entry_syscall and entry_interrupt (arch-x86_64/entry.S)
 *     transactions=KERNEL:KERNEL:...    rtm+model runs (transactions.h), each core in the kernel of this number
 *     core_local=ADDRESS:STRIDE    the kernel's core_local[] (arch-x86_64/core_local.h), to learn where each struct cpu
 *     is
 *
 * Between the marks 1 and 2 of the guest (skerry/mark.h) they count; at mark 2 each writes a line of JSON to its file.
 */
#pragma once

#include <stdio.h>
#include "access.h"

/* Takes the option if it is one of these. */
bool observe_option(const char *option);
/* Returns whether there are any: each access must be reported then. */
bool observe_any(void);
/* Returns NULL, or why what these prices plant could not be charged. */
const char *observe_check(const struct prices *prices);
/* Before the guest runs. */
void observe_begin(struct memory *memory);
/* Sets, for the instruction of the next call, how much the begin of its block has charged for those behind it. */
void observe_paid_ahead(uint64_t price);
/* Watches by `usual`, with its data, the instruction's accesses; and the observers around it, if there are some. */
void observe_accesses(struct qemu_plugin_insn *instruction, const struct watch *usual, void *data, bool kernel);
void observe_mark(unsigned number);
/* Takes the mark, if it is one of a transaction. */
bool observe_transaction(struct qemu_plugin_insn *instruction, unsigned mark);
/* The core waits for another, which it cannot do in a transaction: that would be for ever. */
void observe_pause(unsigned core);
/* Writes members of the JSON of a mark. */
void observe_print(FILE *out);
