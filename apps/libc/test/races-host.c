/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The platform of the layer's form for several cores under ThreadSanitizer: threads are the C library's, so that the
 * sanitizer knows when they begin and end; notifications are those of platform-host.c. There are pipes, eventfds and
 * epoll; no network, no signals and no other files.
 */
#include "races.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include "platform.h"
#include "signals.h"

/* Waits in race_thread() until the layer starts a thread in its place; then it is that one. */
struct parked {
	pthread_t host;
	_Atomic(uintptr_t) tls;
	_Atomic bool goes;
	void (*entry)(void *, void *);
	void *argument[2];
};

static void *wait_to_go(void *argument)
{
	struct parked *parked = argument;
	uintptr_t tls;

	__asm__("mov %%fs:0, %0" : "=r"(tls));
	atomic_store(&parked->tls, tls);
	while (!atomic_load(&parked->goes))
		sched_yield();
	parked->entry(parked->argument[0], parked->argument[1]);
	return 0;
}

pthread_t race_thread(int (*function)(void *), void *argument, int *tid)
{
	struct parked *parked = calloc(1, sizeof(*parked)); /* never freed: its thread may read it at any time */
	const int flags = CLONE_VM | CLONE_THREAD | CLONE_SETTLS | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;

	require(parked && !pthread_create(&parked->host, 0, wait_to_go, parked));
	while (!atomic_load(&parked->tls))
		sched_yield();
	/* where there is a stack, the host's thread is passed on */
	require(layer_clone(function, parked, flags, argument, tid, (void *)atomic_load(&parked->tls), tid) > 0);
	return parked->host;
}

/* thread.c's, which asks the platform to set the register: it has this value. */
int layer_set_thread_area(void *tls);
int platform_set_tls(uintptr_t tls) { return (void)tls, 0; }
void race_begin(uintptr_t tls) { require(!layer_set_thread_area((void *)tls)); }

/* In place of platform-host.c's, which make Linux threads that ThreadSanitizer does not know. */
int platform_thread_start(unsigned index, uintptr_t stack, uintptr_t tls, void (*entry)(void *, void *),
                          void *argument, void *argument2)
{
	struct parked *parked = (struct parked *)stack;

	(void)index, (void)tls;
	parked->entry = entry;
	parked->argument[0] = argument;
	parked->argument[1] = argument2;
	atomic_store(&parked->goes, true);
	return 0;
}

_Noreturn void platform_thread_end(unsigned index)
{
	thread_leave(index);
	pthread_exit(0);
}

uint64_t clock_cycles(void) { return __builtin_ia32_rdtsc(); }
uint64_t deadline_after(uint64_t nanoseconds)
{
	const unsigned __int128 cycles = (unsigned __int128)nanoseconds * platform_info()->tsc_hz / 1000000000;

	return clock_cycles() + (uint64_t)cycles + 1;
}
uint64_t deadline_after_milliseconds(uint64_t milliseconds) { return deadline_after(milliseconds * 1000000); }
uint64_t deadline_after_timespec(const struct timespec *time)
{
	return time ? deadline_after((uint64_t)timespec_nanoseconds(time)) : 0;
}
int64_t timespec_nanoseconds(const struct timespec *time) { return time->tv_sec * 1000000000 + time->tv_nsec; }
bool timespec_valid(const struct timespec *time)
{
	return time->tv_sec >= 0 && (unsigned long)time->tv_nsec < 1000000000;
}

/* Parts of the layer that no call of races.c reaches. */
long sys_getuid(const long *);
void console_log(const char *format, ...) { (void)format; }
void interrupts_look(void) { abort(); }
long interrupts_start(void) { abort(); }
long sys_getuid(const long *a) { return (void)a, 0; }
void cores_choose(const struct thread *thread, const struct thread *parent) { (void)thread, (void)parent; }
struct file *console_file(uint32_t flags) { (void)flags; abort(); }
long ramfs_map(struct file *file, size_t offset, size_t size) { (void)file, (void)offset, (void)size; abort(); }
bool ramfs_map_overlaps(uintptr_t address, size_t size) { (void)address, (void)size; return false; }
long ramfs_unmap(uintptr_t address, size_t size) { (void)address, (void)size; abort(); }
long socket_ioctl(struct file *file, unsigned long request, void *argument)
{
	(void)file, (void)request, (void)argument;
	return -ENOTTY;
}

/* Waits by a clock: races.c has none. */
uint64_t clock_nanoseconds(void) { abort(); }
int64_t clock_realtime_offset(void);
int64_t clock_realtime_offset(void) { abort(); }

long call_not_provided(unsigned long number) { return (void)number, -ENOSYS; }
