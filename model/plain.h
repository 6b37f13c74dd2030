/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is not atomic: data races, and taking back what an execution wrote. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { NOBODY = -1 };

void plain_start(void);
/*
 * An access by a thread; a failure if another's is not ordered with it, one of
 * the two a write and one not atomic. `code`: where, for people.
 */
void plain_access(int thread, uint64_t address, uint64_t size, bool write, bool atomic,
                  const void *code);
/* See explore_hardware(). */
bool plain_is_hardware(uint64_t address);
void plain_no_hardware(void);
/* Before memory changes, while executions run: plain_undo() brings it back. */
void plain_record(uint64_t address, uint64_t size);
void plain_undo(void);
