/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redis's report of an allocation that failed allocates itself. When nothing
 * is left at all it would report that, and so on without an end: the second
 * failure ends the process. In place of Redis's own by --wrap in build-redis.sh.
 */
#include <stddef.h>
#include <stdlib.h>

void __real_zmalloc_set_oom_handler(void (*)(size_t));
void __wrap_zmalloc_set_oom_handler(void (*)(size_t));

static void (*report)(size_t);

static void report_once(size_t size)
{
	static int reporting;

	if (!__atomic_exchange_n(&reporting, 1, __ATOMIC_RELAXED))
		report(size);
	abort();
}

void __wrap_zmalloc_set_oom_handler(void (*handler)(size_t))
{
	report = handler;
	__real_zmalloc_set_oom_handler(report_once);
}
