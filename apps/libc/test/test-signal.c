/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals that a program sends to itself, through the C library: handlers, masks, waiting, and what cannot be sent. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "posixtest.h"

static volatile int ran, last, code, sender;
static char *stack_of_handler;
static sigset_t in_handler, of_context;
static volatile sig_atomic_t pending_value;

static void count(int number)
{
	char here;

	stack_of_handler = &here;
	ran++;
	last = number;
	pthread_sigmask(SIG_BLOCK, 0, &in_handler);
}

static void count_info(int number, siginfo_t *info, void *context)
{
	count(number);
	code = info->si_signo == number ? info->si_code : -1000;
	sender = info->si_pid;
	pending_value = info->si_value.sival_int;
	of_context = ((ucontext_t *)context)->uc_sigmask;
}

static bool install(int number, int flags, int also_blocked)
{
	struct sigaction action = { .sa_flags = flags };

	if (flags & SA_SIGINFO)
		action.sa_sigaction = count_info;
	else
		action.sa_handler = count;
	sigemptyset(&action.sa_mask);
	if (also_blocked)
		sigaddset(&action.sa_mask, also_blocked);
	return sigaction(number, &action, 0) == 0;
}

static sigset_t set_of(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	return set;
}

static bool is_pending(int number)
{
	sigset_t set;

	return sigpending(&set) == 0 && sigismember(&set, number);
}

TEST(handlers_run_at_once, "signals run their handlers at once")
{
	char here;

	ran = 0;
	CHECK(install(SIGUSR1, 0, 0) && raise(SIGUSR1) == 0 && ran == 1 && last == SIGUSR1);
	CHECK(stack_of_handler < &here && &here - stack_of_handler < 16384); /* on the stack of this thread */
	CHECK(kill(getpid(), SIGUSR1) == 0 && ran == 2 && kill(0, SIGUSR1) == 0 && ran == 3);
	CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && ran == 4);
	CHECK(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0 && ran == 5 && killpg(getpgrp(), SIGUSR1) == 0 &&
	      ran == 6);
	CHECK(signal(SIGUSR1, SIG_IGN) == count && raise(SIGUSR1) == 0 && ran == 6 &&
	      signal(SIGUSR1, SIG_DFL) == SIG_IGN);
	return true;
}

TEST(information, "signals tell handlers what they are")
{
	struct sigaction before;

	ran = 0;
	CHECK(install(SIGTERM, SA_SIGINFO, SIGUSR2) && sigaction(SIGTERM, 0, &before) == 0);
	CHECK(before.sa_sigaction == count_info && before.sa_flags & SA_SIGINFO &&
	      sigismember(&before.sa_mask, SIGUSR2));
	CHECK(raise(SIGTERM) == 0 && ran == 1 && code == SI_TKILL && sender == getpid());
	CHECK(sigismember(&in_handler, SIGTERM) && sigismember(&in_handler, SIGUSR2) &&
	      !sigismember(&in_handler, SIGHUP));
	CHECK(kill(getpid(), SIGTERM) == 0 && code == SI_USER && !sigismember(&of_context, SIGTERM));
	CHECK(sigqueue(getpid(), SIGTERM, (union sigval){ .sival_int = 77 }) == 0 && code == SI_QUEUE &&
	      pending_value == 77 && ran == 3);
	pthread_sigmask(SIG_BLOCK, 0, &in_handler);
	CHECK(!sigismember(&in_handler, SIGTERM) && !sigismember(&in_handler, SIGUSR2)); /* as before */
	CHECK(install(SIGTERM, SA_RESETHAND, 0) && raise(SIGTERM) == 0 && sigaction(SIGTERM, 0, &before) == 0 &&
	      before.sa_handler == SIG_DFL);
	CHECK(install(SIGTERM, SA_NODEFER, 0) && raise(SIGTERM) == 0 && !sigismember(&in_handler, SIGTERM));
	return signal(SIGTERM, SIG_DFL) == count;
}

TEST(blocked_until_unblocked, "blocked signals are pending")
{
	sigset_t set = set_of(SIGUSR1), before;

	ran = 0;
	CHECK(install(SIGUSR1, 0, 0) && sigprocmask(SIG_BLOCK, &set, &before) == 0 && !sigismember(&before, SIGUSR1));
	CHECK(raise(SIGUSR1) == 0 && raise(SIGUSR1) == 0 && ran == 0 && is_pending(SIGUSR1) && !is_pending(SIGUSR2));
	/* once, however often it came */
	CHECK(pthread_sigmask(SIG_UNBLOCK, &set, 0) == 0 && ran == 1 && !is_pending(SIGUSR1));
	CHECK(sigprocmask(SIG_BLOCK, &set, 0) == 0 && kill(getpid(), SIGUSR1) == 0 && ran == 1);
	CHECK(signal(SIGUSR1, SIG_IGN) == count && !is_pending(SIGUSR1)); /* to ignore a signal discards it */
	CHECK(install(SIGUSR1, 0, 0) && sigprocmask(SIG_SETMASK, &before, 0) == 0 && ran == 1);
	CHECK(sigprocmask(99, &set, 0) == -1 && errno == EINVAL);
	return signal(SIGUSR1, SIG_DFL) == count;
}

TEST(waiting, "threads wait for signals")
{
	sigset_t set = set_of(SIGUSR1), none, before, now;
	siginfo_t info;
	int number;

	ran = 0;
	sigemptyset(&none);
	CHECK(install(SIGUSR1, 0, 0) && sigprocmask(SIG_BLOCK, &set, &before) == 0 && raise(SIGUSR1) == 0 && ran == 0);
	CHECK(sigsuspend(&none) == -1 && errno == EINTR && ran == 1);
	CHECK(sigprocmask(SIG_BLOCK, 0, &now) == 0 && sigismember(&now, SIGUSR1));
	CHECK(raise(SIGUSR1) == 0 && sigwait(&set, &number) == 0 && number == SIGUSR1 && ran == 1 &&
	      !is_pending(SIGUSR1));
	CHECK(sigtimedwait(&set, &info, &(struct timespec){ .tv_nsec = 1000000 }) == -1 && errno == EAGAIN);
	CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 5 }) == 0 &&
	      sigwaitinfo(&set, &info) == SIGUSR1);
	CHECK(info.si_signo == SIGUSR1 && info.si_code == SI_QUEUE && info.si_value.sival_int == 5);
	return sigprocmask(SIG_SETMASK, &before, 0) == 0 && signal(SIGUSR1, SIG_DFL) == count;
}

static sem_t asleep, done;
static volatile int waited_for, interrupted;

static void *wait_for_two(void *set)
{
	int number = 0;

	sem_post(&asleep);
	if (sigwait(set, &number) == 0)
		waited_for = number;
	sem_post(&asleep);
	interrupted = pause() == -1 && errno == EINTR; /* here SIGUSR2 is not blocked */
	sem_post(&done);
	return set;
}

static void *hold(void *unused)
{
	sem_post(&asleep);
	sem_wait(&done);
	return unused;
}

static void let_it_sleep(void)
{
	sem_wait(&asleep);
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, 0);
}

/* A thread that waits for signals gets them from another one. */
TEST(between_threads, "threads send signals to threads that wait")
{
	sigset_t set = set_of(SIGUSR1), before;
	pthread_t thread;

	ran = 0;
	sem_init(&asleep, 0, 0);
	sem_init(&done, 0, 0);
	CHECK(install(SIGUSR2, 0, 0) && sigprocmask(SIG_BLOCK, &set, &before) == 0);
	CHECK(pthread_create(&thread, 0, wait_for_two, &set) == 0);
	let_it_sleep();
	CHECK(kill(getpid(), SIGUSR1) == 0); /* to the process: whoever waits takes it */
	let_it_sleep();
	CHECK(waited_for == SIGUSR1 && pthread_kill(thread, 0) == 0 && pthread_kill(thread, SIGUSR2) == 0);
	sem_wait(&done);
	CHECK(ran == 1 && last == SIGUSR2 && interrupted);
	CHECK(pthread_join(thread, 0) == 0 && sigprocmask(SIG_SETMASK, &before, 0) == 0);
	return signal(SIGUSR2, SIG_DFL) == count;
}

TEST(what_cannot_be_sent, "signals that cannot be sent or caught")
{
	struct sigaction action = { .sa_handler = count };
	pthread_t thread;

	CHECK(sigaction(SIGKILL, &action, 0) == -1 && errno == EINVAL && sigaction(SIGSTOP, &action, 0) == -1 &&
	      errno == EINVAL);
	CHECK(sigaction(SIGKILL, 0, &action) == 0 && action.sa_handler == SIG_DFL);
	CHECK(kill(77, SIGTERM) == -1 && errno == ESRCH && kill(77, 0) == -1 && errno == ESRCH &&
	      kill(getpid(), 0) == 0);
	CHECK(kill(getpid(), 65) == -1 && errno == EINVAL && kill(getpid(), -1) == -1 && errno == EINVAL);
	CHECK(syscall(SYS_tkill, 99999, SIGTERM) == -1 && errno == ESRCH && syscall(SYS_tgkill, 2, gettid(), 0) == -1 &&
	      errno == ESRCH);
	CHECK(raise(SIGCHLD) == 0 && raise(SIGURG) == 0 && raise(SIGWINCH) == 0 && raise(SIGCONT) == 0);
	sem_init(&asleep, 0, 0);
	sem_init(&done, 0, 0);
	CHECK(install(SIGUSR1, 0, 0) && pthread_create(&thread, 0, hold, 0) == 0);
	let_it_sleep();
	ran = 0;
	CHECK(pthread_kill(thread, SIGCHLD) == 0 && ran == 0);
	CHECK(setuid(getuid()) == 0); /* asks all threads, in musl */
	sem_post(&done);
	return pthread_join(thread, 0) == 0 && signal(SIGUSR1, SIG_DFL) == count;
}

TEST(timers, "timers that would send signals")
{
	struct itimerval value = { .it_value.tv_sec = 1 }, old = value;

	CHECK(setitimer(ITIMER_REAL, &value, 0) == -1 && errno == ENOSYS);
	memset(&value, 0, sizeof(value));
	CHECK(setitimer(ITIMER_REAL, &value, &old) == 0 && old.it_value.tv_sec == 0);
	CHECK(setitimer(7, &value, 0) == -1 && errno == EINVAL && alarm(0) == 0);
	return true;
}

static sigjmp_buf out;

static void jump(int number) { siglongjmp(out, number); }

/* The layer's lock is free in a handler, and afterwards. */
TEST(left_by_a_jump, "handlers that jump away")
{
	sigset_t now;

	for (volatile int round = 0; round < 3; round++) {
		CHECK(signal(SIGUSR1, jump) != SIG_ERR);
		if (sigsetjmp(out, 1) == 0) {
			raise(SIGUSR1);
			return false;
		}
		CHECK(sigprocmask(SIG_BLOCK, 0, &now) == 0 && !sigismember(&now, SIGUSR1) && write(1, "", 0) == 0);
	}
	return signal(SIGUSR1, SIG_DFL) == jump;
}

TEST(alternate_stack, "handlers on an alternate stack")
{
	static char room[16384];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) }, old;

	ran = 0;
	CHECK(sigaltstack(0, &old) == 0 && old.ss_flags == SS_DISABLE);
	CHECK(sigaltstack(&stack, 0) == 0 && sigaltstack(0, &old) == 0 && old.ss_sp == room &&
	      old.ss_size == sizeof(room) && !old.ss_flags);
	CHECK(install(SIGUSR1, SA_ONSTACK, 0) && raise(SIGUSR1) == 0 && ran == 1);
	CHECK(stack_of_handler >= room && stack_of_handler < room + sizeof(room));
	CHECK(install(SIGUSR1, 0, 0) && raise(SIGUSR1) == 0 && ran == 2 &&
	      (stack_of_handler < room || stack_of_handler >= room + sizeof(room)));
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, 0) == 0 && sigaltstack(0, &old) == 0 && old.ss_flags == SS_DISABLE);
	return signal(SIGUSR1, SIG_DFL) == count;
}
