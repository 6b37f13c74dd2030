/* SPDX-License-Identifier: BSD-2-Clause */
/* What there is at the start of a random run. */
#pragma once

#include "operation.h"

/* On a fresh machine: threads on all cores, and an object of each kind or more, in the slots of operation.h. */
void players_make(struct hosted *machine);
/* Where a thread's IPC buffer is mapped; of one made later, some page of these. */
uint64_t players_buffer(const struct hosted *machine, const struct thread *thread);
