/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads of the host's time-stamp counter in QEMU's threads are trapped: QEMU gives the guest its own host's counter,
 * read where it is needed. `counter` answers in its place, for the calling thread; if it returns false the host's own
 * is read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* For the calling thread and all that it starts. Returns whether the host can. */
bool trap_counter(bool (*counter)(uint64_t *value));
