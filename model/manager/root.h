/* SPDX-License-Identifier: BSD-2-Clause */
/* In front of cluster-manager/root/base/root.h: what channel.c takes from it, for more than one manager in a
 * process. */
#pragma once

#include <skerry/root_info.h>
#include "bells.h"

/* Of the manager whose thread this is. */
const struct root_info *root_of_self(void);
#define ROOT root_of_self()
#define IPC  ((struct ipc_buffer *)0)

_Noreturn void manager_panic(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline uint64_t milliseconds(uint64_t ms) { return ms; }
