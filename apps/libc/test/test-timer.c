/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers, signals that interrupt another thread, scheduling policies. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <skerry/manager.h>
#include <skerry/process.h>
#include "posixtest.h"

enum { MS = 1000000 };

static volatile sig_atomic_t ran, value, code;
static volatile pthread_t runner;

static void note(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	ran++;
	value = info->si_value.sival_int;
	code = info->si_code;
	runner = pthread_self();
}

static bool install(int flags)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | flags, .sa_sigaction = note };

	ran = 0;
	sigemptyset(&action.sa_mask);
	return sigaction(SIGUSR1, &action, 0) == 0;
}

static bool make(timer_t *timer, clockid_t clock, int notify)
{
	struct sigevent event = { .sigev_notify = notify, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 77 };

	return timer_create(clock, &event, timer) == 0;
}

static bool arm(timer_t timer, long ns, long interval)
{
	const struct itimerspec when = { { interval / 1000000000, interval % 1000000000 },
	                                 { ns / 1000000000, ns % 1000000000 } };

	return timer_settime(timer, 0, &when, 0) == 0;
}

static struct timespec ms(long n) { return (struct timespec){ n / 1000, n % 1000 * MS }; }

TEST(timer_interrupts_sleep, "a timer's signal ends a sleep, once")
{
	struct timespec left, second = ms(20000);
	const uint64_t began = now_ns();
	timer_t timer;

	CHECK(install(0) && make(&timer, CLOCK_REALTIME, SIGEV_SIGNAL) && arm(timer, 20 * MS, 0));
	CHECK(nanosleep(&second, &left) == -1 && errno == EINTR && ran == 1 && value == 77 && code == SI_TIMER);
	CHECK(now_ns() - began >= 20 * MS && left.tv_sec > 10);
	second = ms(60);
	CHECK(nanosleep(&second, 0) == 0 && ran == 1 && timer_getoverrun(timer) == 0);
	return timer_delete(timer) == 0 && timer_delete(timer) != 0 && signal(SIGUSR1, SIG_DFL) != SIG_ERR;
}

TEST(timer_overrun, "what a timer does while its signal is blocked is its overrun")
{
	sigset_t set, before;
	siginfo_t info;
	timer_t timer;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(install(0) && sigprocmask(SIG_BLOCK, &set, &before) == 0);
	CHECK(make(&timer, CLOCK_MONOTONIC, SIGEV_SIGNAL) && arm(timer, MS, 5 * MS));
	const struct timespec while_blocked = ms(60);
	do { /* once, but where this thread or the timer's has to wait for a processor */
		CHECK(nanosleep(&while_blocked, 0) == 0 && ran == 0);
		CHECK(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_TIMER);
		CHECK(info.si_overrun == timer_getoverrun(timer));
	} while (info.si_overrun < 5);
	CHECK(arm(timer, 0, 0));
	return timer_delete(timer) == 0 && sigprocmask(SIG_SETMASK, &before, 0) == 0;
}

TEST(timer_times, "timers tell what is left, and refuse what is none")
{
	struct itimerspec now, wrong = { .it_value.tv_nsec = 1000000000 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = 65 };
	timer_t timer;

	CHECK(make(&timer, CLOCK_MONOTONIC, SIGEV_NONE) && arm(timer, 100l * 1000 * MS, 7 * MS));
	CHECK(timer_gettime(timer, &now) == 0 && now.it_value.tv_sec >= 90 && now.it_value.tv_sec < 100);
	CHECK(now.it_interval.tv_nsec == 7 * MS && timer_settime(timer, 0, &wrong, 0) == -1 && errno == EINVAL);
	CHECK(timer_settime(timer, TIMER_ABSTIME, &(struct itimerspec){ .it_value.tv_nsec = 1 }, &now) == 0 &&
	      now.it_value.tv_sec >= 90);
	CHECK(timer_gettime(timer, &now) == 0 && timer_delete(timer) == 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == -1 && errno == EINVAL);
	CHECK(timer_create(99, 0, &timer) == -1 && errno == EINVAL);
	return timer_getoverrun((timer_t)30) == -1 && errno == EINVAL;
}

static sem_t told;
static volatile int said;

static void tell(union sigval v)
{
	said = v.sival_int;
	sem_post(&told);
}

TEST(timer_thread, "a timer runs a function in a thread of its own")
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = tell,
	                          .sigev_value.sival_int = 5 };
	timer_t timer;

	sem_init(&told, 0, 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && arm(timer, MS, 2 * MS));
	CHECK(sem_wait(&told) == 0 && said == 5 && sem_wait(&told) == 0);
	return timer_delete(timer) == 0;
}

TEST(timer_of_cpu_time, "a timer by the time that the program has run")
{
	timer_t timer;
	const struct timespec idle = ms(100);

	CHECK(install(SA_RESTART) && make(&timer, CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL) && arm(timer, 30 * MS, 0));
	for (const uint64_t began = now_ns(); !ran && now_ns() - began < 10ull * 1000 * MS;)
		sched_yield();
	CHECK(ran == 1 && nanosleep(&idle, 0) == 0 && ran == 1);
	return timer_delete(timer) == 0;
}

static sem_t ready;
static volatile int outcome;

static void *sleeper(void *unused)
{
	const struct timespec long_time = ms(20000);

	sem_post(&ready);
	outcome = nanosleep(&long_time, 0) == -1 && errno == EINTR;
	return unused;
}

static void *locker(void *mutex)
{
	sem_post(&ready);
	outcome = pthread_mutex_lock(mutex) == 0;
	pthread_mutex_unlock(mutex);
	return mutex;
}

static bool start(pthread_t *thread, void *(*function)(void *), void *argument)
{
	const struct timespec a_while = ms(10);

	outcome = 0;
	sem_init(&ready, 0, 0);
	return pthread_create(thread, 0, function, argument) == 0 && sem_wait(&ready) == 0 &&
	       nanosleep(&a_while, 0) == 0;
}

/* Until handlers have run so often. */
static bool has_run(int times)
{
	const struct timespec a_while = ms(1);

	for (const uint64_t began = now_ns(); ran < times && now_ns() - began < 20ull * 1000 * MS;)
		nanosleep(&a_while, 0);
	return ran == times;
}

TEST(other_thread_sleeps, "pthread_kill() ends another thread's sleep, and its handler runs there")
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	CHECK(install(0) && start(&thread, sleeper, 0) && pthread_kill(thread, SIGUSR1) == 0);
	CHECK(pthread_join(thread, 0) == 0 && outcome && ran == 1 && pthread_equal(runner, thread));
	CHECK(install(0) && pthread_mutex_lock(&mutex) == 0 && start(&thread, locker, &mutex));
	CHECK(pthread_kill(thread, SIGUSR1) == 0 && has_run(1) && !outcome);
	CHECK(pthread_mutex_unlock(&mutex) == 0 && pthread_join(thread, 0) == 0 && outcome);
	return signal(SIGUSR1, SIG_DFL) != SIG_ERR;
}

static volatile double sum;
static volatile bool enough;

/* Without any call. Vector registers, the red zone and flags are as before when a handler has run. */
static void *compute(void *unused)
{
	double a = 1, b = 0;

	sem_post(&ready);
	sched_yield();
	do {
		b += a;
		a = a > 1e6 ? 1 : a + 0.5;
		outcome = b - a > 1e300;
	} while (!enough);
	sum = b;
	return unused;
}

const struct process_info *process_info(void);

/* On the tests' host a thread that computes is interrupted at its next call. */
static bool on_host(void) { return !strcmp(process_info()->name, "host@0"); }

TEST(other_thread_computes, "signals and timers interrupt threads that compute")
{
	pthread_t thread;
	timer_t timer;

	CHECK(install(0) && start(&thread, compute, 0));
	for (int round = 0; round < 20 && !on_host(); round++) {
		const int before = ran;
		CHECK(pthread_kill(thread, SIGUSR1) == 0 && has_run(before + 1) && pthread_equal(runner, thread));
	}
	enough = true;
	CHECK(pthread_join(thread, 0) == 0 && sum > 0 && install(0));
	CHECK(make(&timer, CLOCK_MONOTONIC, SIGEV_SIGNAL) && arm(timer, MS, MS));
	while (ran < 20 && !on_host()) {
	}
	return timer_delete(timer) == 0;
}

TEST(policies, "threads take turns: other policies are known, and not permitted")
{
	struct sched_param param = { .sched_priority = 9 };
	struct timespec slice = { 0 };
	int policy = -1;

	CHECK(sched_get_priority_min(SCHED_FIFO) == 1 && sched_get_priority_max(SCHED_RR) == 99 &&
	      sched_get_priority_max(SCHED_OTHER) == 0 && sched_get_priority_max(77) == -1 && errno == EINVAL);
	CHECK(sched_getscheduler(0) == SCHED_OTHER && sched_getparam(getpid(), &param) == 0 &&
	      param.sched_priority == 0);
	CHECK(sched_setscheduler(0, SCHED_OTHER, &param) == 0 && sched_getscheduler(-1) == -1 && errno == EINVAL);
	param.sched_priority = 5;
	CHECK(sched_setscheduler(0, SCHED_FIFO, &param) == -1 && errno == EPERM);
	CHECK(sched_setscheduler(0, SCHED_OTHER, &param) == -1 && errno == EINVAL && sched_setparam(0, &param) == -1);
	param.sched_priority = 100;
	CHECK(sched_setscheduler(0, SCHED_RR, &param) == -1 && errno == EINVAL);
	CHECK(sched_getparam(54321, &param) == -1 && errno == ESRCH);
	CHECK(sched_rr_get_interval(0, &slice) == 0 && slice.tv_nsec > 0);
	CHECK(pthread_getschedparam(pthread_self(), &policy, &param) == 0 && policy == SCHED_OTHER);
	param.sched_priority = 5;
	return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == EPERM;
}
