/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap of a process that is forked. */
#pragma once

#include "share.h"

/*
 * Shares or copies each step of the heap that the parent, at place `from`, has, but for split ones; steps that follow
 * each other are shared together. Returns 0 or an error; share_end() undoes what was shared.
 */
int fork_heap(struct shares *s, const struct process *parent, unsigned from, unsigned to);
