/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scheduling policies. All threads of a program have one priority and take turns, which is SCHED_OTHER. The real-time
 * policies are known, and not permitted (EPERM): as on Linux for a process without CAP_SYS_NICE and RLIMIT_RTPRIO 0.
 * musl's functions of these names always fail, since Linux's calls are about threads. Here, too, a thread is named by
 * its own number, and the first one by that of the process.
 */
#include <errno.h>
#include <sched.h>
#include "layer.h"

long sys_getpid(const long *);

enum { REALTIME_MIN = 1, REALTIME_MAX = 99, SLICE_NS = 5000000 /* of threads that take turns */ };

static bool is_realtime(long policy) { return policy == SCHED_FIFO || policy == SCHED_RR; }

/* Returns whether such a thread exists; 0 is the calling one. */
static long find(long tid)
{
	if (tid < 0)
		return -EINVAL;
	if (!tid)
		return 0;
	layer_lock();
	bool there = false;
	for (const struct thread *t = threads; t < threads + thread_places; t++)
		there |= t->tid == tid;
	layer_unlock();
	return there || tid == sys_getpid(0) ? 0 : -ESRCH;
}

long sys_sched_getscheduler(const long *a)
{
	const long error = find(a[0]);

	return error ? error : SCHED_OTHER;
}

long sys_sched_getparam(const long *a)
{
	const long error = a[1] ? find(a[0]) : -EINVAL;

	if (!error)
		*(struct sched_param *)a[1] = (struct sched_param){ 0 };
	return error;
}

/* Checks a policy and a priority for a thread: 0, for what all have, or an error. */
static long check(long tid, long policy, const struct sched_param *param)
{
	if (!param || tid < 0)
		return -EINVAL;
	const long error = find(tid);
	if (error)
		return error;
	if (is_realtime(policy))
		return param->sched_priority < REALTIME_MIN || param->sched_priority > REALTIME_MAX ? -EINVAL : -EPERM;
	if (policy != SCHED_OTHER || param->sched_priority)
		return -EINVAL;
	return 0;
}

long sys_sched_setscheduler(const long *a)
{
	return check(a[0], a[1] & ~(long)SCHED_RESET_ON_FORK, (const struct sched_param *)a[2]);
}

long sys_sched_setparam(const long *a) { return check(a[0], SCHED_OTHER, (const struct sched_param *)a[1]); }

long sys_sched_get_priority_max(const long *a)
{
	return is_realtime(a[0]) ? REALTIME_MAX : a[0] == SCHED_OTHER ? 0 : -EINVAL;
}

long sys_sched_get_priority_min(const long *a)
{
	return is_realtime(a[0]) ? REALTIME_MIN : a[0] == SCHED_OTHER ? 0 : -EINVAL;
}

long sys_sched_rr_get_interval(const long *a)
{
	const long error = find(a[0]);

	if (!error)
		*(struct timespec *)a[1] = (struct timespec){ .tv_nsec = SLICE_NS };
	return error;
}

static int answer(long result)
{
	if (result >= 0)
		return (int)result;
	errno = (int)-result;
	return -1;
}

int sched_getscheduler(pid_t pid) { return answer(sys_sched_getscheduler((const long[]){ pid })); }

int sched_getparam(pid_t pid, struct sched_param *param)
{
	return answer(sys_sched_getparam((const long[]){ pid, (long)param }));
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	return answer(sys_sched_setscheduler((const long[]){ pid, policy, (long)param }));
}

int sched_setparam(pid_t pid, const struct sched_param *param)
{
	return answer(sys_sched_setparam((const long[]){ pid, (long)param }));
}
