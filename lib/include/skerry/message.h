/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>
#include <skerry/syscall.h>

/* The part of a system call that travels in registers. `badge` is an answer only. */
struct message {
	uint64_t info;
	uint64_t badge;
	uint64_t word[MESSAGE_REGISTERS];
};
