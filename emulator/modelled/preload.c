/* SPDX-License-Identifier: BSD-2-Clause */
/* Put in front of the C library in QEMU's process (LD_PRELOAD): preload.h. Until a plugin takes it nothing changes. */
#define _GNU_SOURCE
#include "preload.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static _Atomic(const struct hooks *) hooks;
static struct originals original;
static int (*host_clock)(clockid_t id, struct timespec *time);

/* Returns the version of a function that today's programs are linked with. */
static void *find_symbol(const char *name, const char *version)
{
	void *symbol = dlvsym(RTLD_NEXT, name, version);
	return symbol ? symbol : dlsym(RTLD_NEXT, name);
}

static __attribute__((constructor)) void find_originals(void)
{
	if (original.poll)
		return;
	original.write = (ssize_t(*)(int, const void *, size_t))find_symbol("write", "GLIBC_2.2.5");
	original.cond_wait = (cond_wait_fn)find_symbol("pthread_cond_wait", "GLIBC_2.3.2");
	original.cond_signal = (int (*)(pthread_cond_t *))find_symbol("pthread_cond_signal", "GLIBC_2.3.2");
	original.cond_broadcast = (int (*)(pthread_cond_t *))find_symbol("pthread_cond_broadcast", "GLIBC_2.3.2");
	original.poll = (poll_fn)find_symbol("ppoll", "GLIBC_2.4");
	host_clock = (int (*)(clockid_t, struct timespec *))find_symbol("clock_gettime", "GLIBC_2.17");
	if (!host_clock || !original.write || !original.cond_wait || !original.cond_signal ||
	    !original.cond_broadcast || !original.poll)
		abort();
}

EXPORT const struct originals *skerry_preload_take(const struct hooks *taken);
const struct originals *skerry_preload_take(const struct hooks *taken)
{
	find_originals();
	hooks = taken;
	return &original;
}

/* The C library's reads the host's time-stamp counter, which may be trapped here (trap.c): ask the kernel. */
EXPORT int clock_gettime(clockid_t id, struct timespec *time)
{
	const struct hooks *h = hooks;
	if (id == CLOCK_MONOTONIC && h && h->monotonic(time))
		return 0;
	return (int)syscall(SYS_clock_gettime, id, time);
}

/*
 * QEMU asks each time that it empties a TLB, and needs no more than the milliseconds that the coarse clock has. The C
 * library reads that one without a system call and without the time-stamp counter.
 */
EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	struct timespec now;
	if (!hooks)
		return (int)syscall(SYS_gettimeofday, time, zone);
	int status = host_clock(CLOCK_REALTIME_COARSE, &now);
	time->tv_sec = now.tv_sec;
	time->tv_usec = now.tv_nsec / 1000;
	return status;
}

EXPORT int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	const struct hooks *h = hooks;
	find_originals();
	return h ? h->poll(files, count, timeout, mask) : original.poll(files, count, timeout, mask);
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex)
{
	const struct hooks *h = hooks;
	find_originals();
	return h ? h->cond_wait(cond, mutex) : original.cond_wait(cond, mutex);
}

EXPORT int pthread_cond_signal(pthread_cond_t *cond)
{
	const struct hooks *h = hooks;
	find_originals();
	if (h)
		h->cond_wake(cond);
	return original.cond_signal(cond);
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *cond)
{
	const struct hooks *h = hooks;
	find_originals();
	if (h)
		h->cond_wake(cond);
	return original.cond_broadcast(cond);
}

/* QEMU keeps the guest's memory from copies of the process, which a snapshot is. */
EXPORT int madvise(void *from, size_t size, int advice)
{
	return advice == MADV_DONTFORK ? 0 : (int)syscall(SYS_madvise, from, size, advice);
}

EXPORT ssize_t write(int file, const void *bytes, size_t size)
{
	const struct hooks *h = hooks;
	find_originals();
	if (h)
		h->write(file, size);
	return original.write(file, bytes, size);
}
