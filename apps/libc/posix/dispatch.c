/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where every system call of musl arrives (musl/syscall_arch.h), from the
 * first one on, which comes before thread-local storage exists.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include "birth.h"
#include "family.h"
#include "layer.h"
#include "platform.h"
#include "signals.h"
#include "syscalls.h"

typedef long syscall_handler(const long *args);

#define PROTOTYPE(name) syscall_handler sys_##name;
UNLOCKED_CALLS(PROTOTYPE)
LOCKED_CALLS(PROTOTYPE)
#ifdef LAYER_FAMILY
FAMILY_CALLS(PROTOTYPE)
#endif

static const struct {
	syscall_handler *handler;
	bool locked;
} table[CALLS_MAX] = {
#define UNLOCKED_ENTRY(name) [SYS_##name] = { sys_##name, false },
#define LOCKED_ENTRY(name) [SYS_##name] = { sys_##name, true },
	UNLOCKED_CALLS(UNLOCKED_ENTRY)
	LOCKED_CALLS(LOCKED_ENTRY)
#ifdef LAYER_FAMILY
	FAMILY_CALLS(UNLOCKED_ENTRY)
#endif
};

/* As on a terminal: what a program has written before it dies stands on the console. */
static void end_lines_at_once(void) { setvbuf(stdout, NULL, _IOLBF, 0); }

static void layer_start(void)
{
	end_lines_at_once();
	platform_start();
	clock_start();
	memory_start();
	malloc_start();
	user_start(platform_info());
#ifdef LAYER_FAMILY
	family_depth++; /* signals of other processes wait until the first call has ended */
	const bool inherited = birth_begin();
	family_depth--;
	if (inherited)
		return;
#endif
	for (int fd = 0; fd < 3; fd++)
		descriptor_open(console_file(fd ? 1 /* O_WRONLY */ : 0), fd);
}

static bool started;

static inline long call(long number, const long *args)
{
	if ((unsigned long)number >= CALLS_MAX || !table[number].handler)
		return call_not_provided((unsigned long)number);
	if (!table[number].locked)
		return table[number].handler(args);
	layer_lock();
	long result = table[number].handler(args);
#ifdef LAYER_FAMILY
	descriptor_made(number, args, result);
#endif
	event_settle();
	layer_unlock();
#ifdef LAYER_FAMILY
	if (result == -EPIPE)
		written(result, (int)(number == SYS_sendto ? args[3] : number == SYS_sendmsg ? args[2] : 0));
#endif
	return result;
}

long skerry_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	const long args[6] = { a, b, c, d, e, f };

	if (__builtin_expect(!calls_plain, 0)) {
		if (!started) { /* one thread is all there is by now */
			started = true;
			layer_start();
			calls_plain = true;
		} else {
			return signal_call(number, args, call);
		}
	}
#ifdef LAYER_FAMILY
	return signal_call(number, args, call);
#else
	return call(number, args);
#endif
}
