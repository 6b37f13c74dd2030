/* SPDX-License-Identifier: BSD-2-Clause */
/* In place of the processor's (lib/include/skerry/system_call.h): programs are fibers of a hosted machine. */
#pragma once

#include <stdint.h>
#include <skerry/message.h>
#include <skerry/syscall.h>

int system_call(enum skerry_syscall number, uint64_t cap, uint64_t reply, struct message *m);
/* The machine's clock. Others may run before it is read. */
uint64_t read_tsc(void);
