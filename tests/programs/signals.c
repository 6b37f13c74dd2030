/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals between processes: what POSIX says of kill(), SIGCHLD, process groups and interrupted calls, in cases whose
 * answers are printed. Linux prints the same. A sender repeats its signal where it cannot know that the other waits.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STORM = 100, NOBODY = 99999 };

static volatile int caught, code, value, from;
static volatile pid_t sender;

static void number(const char *name, long n) { printf("%s: %ld\n", name, n); }

static const char *error_name(void)
{
	return errno == ECHILD ? "ECHILD" : errno == ESRCH ? "ESRCH" : errno == EPERM ? "EPERM" :
	       errno == EINVAL ? "EINVAL" : errno == EINTR ? "EINTR" : strerror(errno);
}

static void error(const char *name, long result) { printf("%s: %s\n", name, result < 0 ? error_name() : "no error"); }

static void ended(const char *name, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		printf("%s: %s\n", name, error_name());
	else if (WIFEXITED(status))
		printf("%s: exits with %d\n", name, WEXITSTATUS(status));
	else
		printf("%s: ends by signal %d\n", name, WTERMSIG(status));
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)context;
	from = signal;
	code = info->si_code;
	sender = info->si_pid;
	value = signal == SIGCHLD ? info->si_status : info->si_value.sival_int;
	caught++;
}

static void handle(int signal, int flags)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags };

	caught = 0;
	sigaction(signal, &action, 0);
}

static sigset_t set_of(int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	return set;
}

static void block(int how, int signal)
{
	const sigset_t set = set_of(signal);

	sigprocmask(how, &set, 0);
}

static _Noreturn void compute_for_ever(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

/* Returns a child that sends the signal to its parent until it is killed. */
static pid_t repeater(int signal)
{
	const pid_t pid = fork();

	if (pid == 0)
		for (;;) {
			kill(getppid(), signal);
			usleep(5000);
		}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, 0, 0) < 0 && errno == EINTR)
		;
}

/* --- SIGCHLD --- */

static void child_ends(void)
{
	sigset_t none, set = set_of(SIGCHLD);
	siginfo_t info;

	pid_t pid = fork();
	if (pid == 0)
		_exit(3);
	ended("a child of a parent that handles nothing", pid);
	handle(SIGCHLD, SA_NOCLDSTOP);
	block(SIG_BLOCK, SIGCHLD);
	sigemptyset(&none);
	pid = fork();
	if (pid == 0)
		_exit(7);
	error("sigsuspend()", sigsuspend(&none));
	printf("SIGCHLD: %d of %s, code %d, status %d\n", from, sender == pid ? "it" : "another", code, value);
	ended("it", pid);
	pid = fork();
	if (pid == 0)
		compute_for_ever();
	number("kills one that computes", kill(pid, SIGTERM));
	number("sigwaitinfo()", sigwaitinfo(&set, &info));
	printf("of %s, code %d, status %d\n", info.si_pid == pid ? "it" : "another", info.si_code, info.si_status);
	ended("it", pid);
	number("handlers that ran", caught);
	block(SIG_UNBLOCK, SIGCHLD);
}

/* Children of which nobody asks. */
static void no_statuses(const char *name, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(SIGCHLD, &action, 0);
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			_exit(0);
	error(name, wait(0));
	action = (struct sigaction){ .sa_handler = SIG_DFL };
	sigaction(SIGCHLD, &action, 0);
}

/* --- calls that end --- */

static int ends[2];

static void write_later(int signal)
{
	(void)signal;
	if (++caught == 3 && write(ends[1], "x", 1) != 1)
		printf("cannot write\n");
}

static void calls(void)
{
	struct timespec left = { 0 };
	struct pollfd p;
	char c = 0;
	fd_set readable;
	sigset_t none;

	sigemptyset(&none);
	if (pipe(ends))
		return;
	handle(SIGUSR1, 0);
	pid_t pid = repeater(SIGUSR1);
	error("read()", read(ends[0], &c, 1));
	error("nanosleep()", nanosleep(&(struct timespec){ 1000, 0 }, &left));
	number("some is left", left.tv_sec > 900 && left.tv_sec < 1000);
	p = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	error("poll()", poll(&p, 1, -1));
	block(SIG_BLOCK, SIGUSR1);
	error("ppoll()", ppoll(&p, 1, 0, &none));
	FD_ZERO(&readable);
	FD_SET(ends[0], &readable);
	error("pselect()", pselect(ends[0] + 1, &readable, 0, 0, 0, &none));
	block(SIG_UNBLOCK, SIGUSR1);
	error("pause()", pause());
	error("wait()", wait(0));
	signal(SIGUSR1, write_later); /* restarts */
	caught = 0;
	number("a read that goes on", read(ends[0], &c, 1));
	number("the byte", c);
	stop(pid);
	signal(SIGUSR1, SIG_IGN);
	pid = repeater(SIGUSR1);
	error("a sleep that is not interrupted", usleep(50000));
	stop(pid);
	signal(SIGUSR1, SIG_DFL);
	close(ends[0]);
	close(ends[1]);
}

/* A deadline is not begun again by a signal whose handler restarts calls. */
static void deadlines(void)
{
	const struct timeval later = { .tv_sec = 1000 };
	struct timespec until;
	int pair[2];
	char c;
	sem_t nothing;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &later, sizeof(later));
	sem_init(&nothing, 0, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 1000;
	handle(SIGUSR1, SA_RESTART);
	const pid_t pid = repeater(SIGUSR1);
	error("a read with a deadline", read(pair[0], &c, 1));
	error("sem_timedwait()", sem_timedwait(&nothing, &until));
	stop(pid);
	signal(SIGUSR1, SIG_DFL);
	close(pair[0]);
	close(pair[1]);
}

/* --- a process that computes --- */

static double sum_of(unsigned n)
{
	double a = 1, b = 0;

	for (unsigned i = 1; i <= n; i++) {
		a = a * 1.000001 + i;
		b += a / i;
	}
	return b;
}

static sigjmp_buf back;

static void leave(int signal)
{
	volatile double used = sum_of(100);

	(void)used;
	siglongjmp(back, signal);
}

static void computes(void)
{
	const double right = sum_of(20000);
	int wrong = 0;

	handle(SIGUSR1, 0);
	pid_t pid = repeater(SIGUSR1);
	while (caught < STORM)
		wrong += sum_of(20000) != right;
	stop(pid);
	number("sums that signals have changed", wrong);
	number("the sender is known", sender == pid && code == SI_USER);
	signal(SIGUSR2, leave);
	block(SIG_BLOCK, SIGUSR2);
	const pid_t other = repeater(SIGUSR2);
	const int left = sigsetjmp(back, 1);
	if (!left) {
		block(SIG_UNBLOCK, SIGUSR2);
		compute_for_ever();
	}
	signal(SIGUSR2, SIG_IGN);
	stop(other);
	number("leaves a loop by the signal", left == SIGUSR2);
	block(SIG_UNBLOCK, SIGUSR2);
	signal(SIGUSR2, SIG_DFL);
	pid = fork();
	if (pid == 0)
		compute_for_ever();
	kill(pid, SIGUSR2);
	ended("one that does not handle it", pid);
}

/* --- kill(), queues --- */

static void queues(void)
{
	const int real = SIGRTMIN + 1;
	sigset_t set = set_of(real);
	siginfo_t info;

	error("kills nobody", kill(NOBODY, SIGTERM));
	error("kills a group that is not there", kill(-NOBODY, SIGTERM));
	error("a signal that is none", kill(getpid(), 65));
	block(SIG_BLOCK, real);
	block(SIG_BLOCK, SIGUSR1);
	handle(SIGUSR1, 0);
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 1; i <= 3; i++)
			sigqueue(getppid(), real, (union sigval){ .sival_int = i * 10 });
		kill(getppid(), SIGUSR1);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	ended("a sender", pid);
	for (int i = 1; i <= 3; i++) {
		const int got = sigwaitinfo(&set, &info);
		printf("signal %d, code %d, value %d\n", got - SIGRTMIN, info.si_code, info.si_value.sival_int);
	}
	number("before it is unblocked", caught);
	block(SIG_UNBLOCK, SIGUSR1);
	number("after it is unblocked", caught);
	block(SIG_UNBLOCK, real);
}

static void *wait_in_thread(void *argument)
{
	const sigset_t set = set_of(SIGUSR2);

	sigwait(&set, argument);
	return 0;
}

static void threads(void)
{
	pthread_t thread;
	int got = 0;

	block(SIG_BLOCK, SIGUSR2);
	pthread_create(&thread, 0, wait_in_thread, &got);
	const pid_t pid = repeater(SIGUSR2);
	pthread_join(thread, 0);
	stop(pid);
	number("a thread that waits for it", got == SIGUSR2);
	struct timespec none = { 0, 0 };
	const sigset_t set = set_of(SIGUSR2);
	while (sigtimedwait(&set, 0, &none) > 0)
		;
	block(SIG_UNBLOCK, SIGUSR2);
}

static volatile pid_t forked;

static void fork_in_handler(int signal)
{
	(void)signal;
	forked = fork();
}

static void *raise_in_thread(void *argument)
{
	sigset_t blocked;

	raise(SIGUSR1);
	if (forked == 0) {
		pthread_sigmask(SIG_BLOCK, 0, &blocked);
		if (sigismember(&blocked, SIGUSR1) || write(ends[1], "x", 1) != 1)
			_exit(1);
		compute_for_ever();
	}
	return argument;
}

/* The child has one thread, which was not the first one, and goes on behind its handler. */
static void handler_forks(void)
{
	pthread_t thread;
	char c;

	if (pipe(ends))
		return;
	signal(SIGUSR1, fork_in_handler);
	pthread_create(&thread, 0, raise_in_thread, 0);
	pthread_join(thread, 0);
	close(ends[1]);
	number("it computes", read(ends[0], &c, 1));
	kill(forked, SIGUSR2);
	ended("a child of a handler", forked);
	signal(SIGUSR1, SIG_DFL);
	close(ends[0]);
}

/* --- groups and sessions --- */

static int session(void)
{
	const pid_t before = getsid(0), group = getpgrp(), mine = setsid();

	number("its group and session are its parent's", before == getsid(getppid()) && group == getpgid(getppid()));
	number("setsid()", mine == getpid() && getsid(0) == mine && getpgrp() == mine);
	error("setsid() again", setsid());
	error("a leader's setpgid()", setpgid(0, 0));
	error("a group of another session", setpgid(0, before));
	return 0;
}

static void groups(void)
{
	pid_t a, b;

	error("setpgid() of nobody", setpgid(NOBODY, 0));
	error("setpgid() to a group that is not there", setpgid(0, NOBODY));
	error("setpgid() to a negative one", setpgid(0, -1));
	error("getpgid() of nobody", getpgid(NOBODY));
	a = fork();
	if (a == 0)
		_exit(session());
	ended("a session", a);
	a = fork();
	if (a == 0)
		compute_for_ever();
	b = fork();
	if (b == 0)
		for (;;)
			pause();
	error("a group for one", setpgid(a, a));
	error("the other one joins", setpgid(b, a));
	error("waitid() for the own group", waitid(P_PGID, (id_t)getpgrp(), 0, WEXITED | WNOHANG));
	number("both are in it", getpgid(a) == a && getpgid(b) == a && getpgrp() != a);
	error("nobody of the own group has ended", waitpid(0, 0, WNOHANG));
	number("nobody of theirs", waitpid(-a, 0, WNOHANG));
	number("kills the group", kill(-a, SIGTERM));
	for (int i = 0, status; i < 2; i++) {
		const pid_t pid = waitpid(-a, &status, 0);
		number("one of the group ends by", pid == a || pid == b ? WTERMSIG(status) : -1);
	}
	error("the group is gone", kill(-a, 0));
	a = fork();
	if (a == 0) { /* it and its child are alone in a group */
		handle(SIGUSR1, 0);
		if (setpgid(0, 0))
			_exit(1);
		b = fork();
		if (b == 0)
			for (;;)
				pause();
		signal(SIGUSR2, SIG_IGN);
		kill(0, SIGUSR2);
		ended("a child in its group", b);
		kill(0, SIGUSR1);
		_exit(caught == 1 ? 5 : 6);
	}
	ended("one that signals its own group", a);
	a = fork();
	if (a == 0)
		compute_for_ever();
	setpgid(a, a);
	number("kills a group that cannot handle it", kill(-a, SIGKILL));
	ended("its process", a);
	signal(SIGCHLD, SIG_IGN);
	a = fork();
	if (a == 0)
		compute_for_ever();
	number("kills one whose status nobody wants", kill(a, SIGKILL));
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	child_ends();
	no_statuses("SIGCHLD is ignored", SIG_IGN, 0);
	no_statuses("SA_NOCLDWAIT", SIG_DFL, SA_NOCLDWAIT);
	calls();
	deadlines();
	computes();
	queues();
	threads();
	handler_forks();
	groups();
	return 0;
}
