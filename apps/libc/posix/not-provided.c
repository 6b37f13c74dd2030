/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer to system calls that the layer does not have. */
#include <errno.h>
#include <sys/syscall.h>
#include "layer.h"
#include "syscalls.h"

static const char *const call_names[CALLS_MAX] = {
#include "syscall-names.h"
};

/* A stub that answers 0 would hide real gaps: each call we lack is named once. */
long call_not_provided(unsigned long number)
{
	static bool reported[CALLS_MAX];

	if (number >= CALLS_MAX)
		console_log("posix: no system call has the number %lu", number);
	else if (!reported[number]) {
		reported[number] = true;
		console_log("posix: system call %s (%lu) is not provided",
		            call_names[number] ? call_names[number] : "?", number);
	}
	return -ENOSYS;
}
