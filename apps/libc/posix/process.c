/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about the process. One program, one user, one core: what asks gets a true answer, what sets is accepted where
 * nothing could differ.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <skerry/process.h>
#include "layer.h"
#include "platform.h"
#include "skerry_version.h"

#define ANSWER(name, value) \
	long sys_##name(const long *a) { (void)a; return value; }

#ifndef LAYER_FAMILY /* else family.c */
ANSWER(getppid, 0)
ANSWER(getpgid, 1)
ANSWER(getsid, 1)
ANSWER(setsid, 1)
#endif
ANSWER(umask, 022)
ANSWER(getpriority, 20) /* nice 0, as the kernel encodes it */
ANSWER(setpriority, 0)
#ifndef LAYER_CORES /* else cores.c, as what is about cores below */
ANSWER(membarrier, 0) /* all threads share a core: it has seen its own stores */
#endif

long sys_sched_yield(const long *a)
{
	(void)a;
	platform_yield();
	return 0;
}

#ifndef LAYER_CORES

/* The process sees the one core it runs on, as number 0. */
long sys_sched_getaffinity(const long *a)
{
	if (a[1] < 8)
		return -EINVAL;
	memset((void *)a[2], 0, (size_t)a[1]);
	*(uint8_t *)a[2] = 1;
	return 8;
}

long sys_sched_setaffinity(const long *a) { return a[1] > 0 && *(uint8_t *)a[2] & 1 ? 0 : -EINVAL; }

long sys_getcpu(const long *a)
{
	if (a[0])
		*(unsigned *)a[0] = 0;
	if (a[1])
		*(unsigned *)a[1] = 0;
	return 0;
}

#endif

long sys_uname(const long *a)
{
	struct utsname *u = (struct utsname *)a[0];

	memset(u, 0, sizeof(*u));
	strcpy(u->sysname, "Skerry");
	strcpy(u->release, SKERRY_VERSION);
	strcpy(u->version, "multikernel");
	strcpy(u->machine, "x86_64");
	strncpy(u->nodename, platform_info()->name, sizeof(u->nodename) - 1);
	return 0;
}

long sys_sysinfo(const long *a)
{
	struct sysinfo *s = (struct sysinfo *)a[0];
	size_t total, used;

	heap_usage(&total, &used);
	memset(s, 0, sizeof(*s));
	s->uptime = clock_nanoseconds() / 1000000000;
	s->totalram = total;
	s->freeram = total - used;
	s->procs = 1;
	s->mem_unit = PAGE;
	return 0;
}

long sys_prlimit64(const long *a)
{
	struct rlimit *old = (struct rlimit *)a[3];

	if (a[1] < 0 || a[1] >= RLIM_NLIMITS)
		return -EINVAL;
	if (old) {
		rlim_t limit = a[1] == RLIMIT_NOFILE ? (rlim_t)descriptor_count_max()
		               : a[1] == RLIMIT_STACK ? PROCESS_STACK_SIZE
		               : a[1] == RLIMIT_CORE ? 0 : RLIM_INFINITY;
		*old = (struct rlimit){ limit, limit };
	}
	const struct rlimit *new = (const struct rlimit *)a[2];
	return new && a[1] == RLIMIT_NOFILE && new->rlim_cur > (rlim_t)descriptor_count_max() ? -EPERM : 0;
}

long sys_getrlimit(const long *a) { return sys_prlimit64((const long[]){ 0, a[0], 0, a[1] }); }
long sys_setrlimit(const long *a) { return sys_prlimit64((const long[]){ 0, a[0], a[1], 0 }); }

long sys_prctl(const long *a)
{
	return a[0] == PR_SET_NAME ? 0 : -EINVAL;
}
