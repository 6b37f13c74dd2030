/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that lwIP requires of the system below it (arch/cc.h, lwip/sys.h): milliseconds, random numbers, and
 * the end where an assertion fails. */
#include <lwip/sys.h>
#include <skerry/posix.h>

u32_t sys_now(void) { return (u32_t)clock_milliseconds(); }

uint32_t net_random(void)
{
	uint32_t number;

	random_bytes(&number, sizeof(number));
	return number;
}

_Noreturn void net_assertion(const char *text, const char *file, int line)
{
	console_log("lwIP: %s (%s:%d)\n", text, file, line);
	__builtin_trap();
}
