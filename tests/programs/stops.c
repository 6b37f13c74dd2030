/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that stop and go on, and alarms: cases whose answers are printed. Linux prints the same where the program
 * leads a session of its own, so that its process group is orphaned.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int caught, code, value;

static void number(const char *name, long n) { printf("%s: %ld\n", name, n); }

static void error(const char *name, long result)
{
	printf("%s: %s\n", name, result >= 0 ? "no error" : errno == EINTR ? "EINTR" : errno == EINVAL ? "EINVAL" :
	       errno == ECHILD ? "ECHILD" : strerror(errno));
}

static void changed(const char *name, pid_t pid, int options)
{
	int status = 0;
	const pid_t got = waitpid(pid, &status, options);

	if (got == 0)
		printf("%s: nothing\n", name);
	else if (got != pid)
		printf("%s: %s\n", name, errno == ECHILD ? "ECHILD" : strerror(errno));
	else if (WIFSTOPPED(status))
		printf("%s: stopped by %d\n", name, WSTOPSIG(status));
	else if (WIFCONTINUED(status))
		printf("%s: goes on\n", name);
	else if (WIFEXITED(status))
		printf("%s: exits with %d\n", name, WEXITSTATUS(status));
	else
		printf("%s: ends by signal %d\n", name, WTERMSIG(status));
}

static void on_signal(int signal, siginfo_t *info, void *context)
{
	(void)context;
	code = info->si_code;
	value = signal == SIGCHLD ? info->si_status : signal;
	caught++;
}

static void handle(int signal, int flags)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags };

	caught = 0;
	sigaction(signal, &action, 0);
}

static void block(int how, int signal)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	sigprocmask(how, &set, 0);
}

static _Noreturn void compute_for_ever(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void wait_handler(void)
{
	while (!caught)
		usleep(1000);
}

/* --- stops --- */

static void stops(void)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0)
		compute_for_ever();
	changed("one that runs", pid, WUNTRACED | WNOHANG);
	number("SIGSTOP", kill(pid, SIGSTOP));
	changed("it", pid, WUNTRACED);
	changed("it, again", pid, WUNTRACED | WNOHANG);
	changed("it, whether it goes on", pid, WCONTINUED | WNOHANG);
	number("SIGSTOP of one that is stopped", kill(pid, SIGSTOP));
	number("SIGCONT", kill(pid, SIGCONT));
	changed("it", pid, WCONTINUED);
	changed("it, again", pid, WCONTINUED | WUNTRACED | WNOHANG);
	kill(pid, SIGSTOP);
	memset(&info, 0, sizeof(info));
	error("waitid() for stops alone", waitid(P_PID, (id_t)pid, &info, WSTOPPED));
	number("its code", info.si_code);
	number("its signal", info.si_status);
	kill(pid, SIGCONT);
	error("waitid() for those that go on", waitid(P_ALL, 0, &info, WCONTINUED));
	number("its code", info.si_code);
	number("its signal", info.si_status);
	kill(pid, SIGSTOP);
	changed("it", pid, WUNTRACED);
	kill(pid, SIGKILL);
	error("waitid() for stops, of one that ends", waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG));
	changed("killed while it is stopped", pid, WUNTRACED);
}

static void told(void)
{
	pid_t pid;

	handle(SIGCHLD, 0);
	pid = fork();
	if (pid == 0)
		compute_for_ever();
	kill(pid, SIGSTOP);
	wait_handler();
	number("SIGCHLD of a stop: code", code);
	number("status", value);
	caught = 0;
	kill(pid, SIGCONT);
	wait_handler();
	number("SIGCHLD of one that goes on: code", code);
	number("status", value);
	handle(SIGCHLD, SA_NOCLDSTOP);
	kill(pid, SIGSTOP);
	changed("it", pid, WUNTRACED);
	kill(pid, SIGCONT);
	changed("it", pid, WCONTINUED);
	number("SA_NOCLDSTOP", caught);
	kill(pid, SIGKILL);
	changed("it", pid, 0);
	number("its end", caught);
	signal(SIGCHLD, SIG_DFL);
}

static void by_itself(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		raise(SIGSTOP);
		kill(getpid(), SIGSTOP);
		_exit(3);
	}
	for (int i = 0; i < 2; i++) {
		changed("one that stops itself", pid, WUNTRACED);
		kill(pid, SIGCONT);
	}
	changed("it", pid, 0);
	pid = fork();
	if (pid == 0) { /* its group has no parent in another group of the session */
		raise(SIGTSTP);
		_exit(4);
	}
	changed("SIGTSTP in an orphaned group", pid, WUNTRACED);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		raise(SIGTSTP);
		raise(SIGTTIN);
		raise(SIGTTOU);
		_exit(5);
	}
	for (int i = 0; i < 3; i++) {
		changed("in another group", pid, WUNTRACED);
		kill(-pid, SIGCONT);
	}
	changed("it", pid, 0);
	pid = fork();
	if (pid == 0) {
		handle(SIGTSTP, 0);
		setpgid(0, 0);
		raise(SIGTSTP);
		_exit(caught);
	}
	changed("one that handles SIGTSTP", pid, WUNTRACED);
	pid = fork();
	if (pid == 0) {
		sigset_t pending;

		setpgid(0, 0);
		block(SIG_BLOCK, SIGTSTP);
		raise(SIGTSTP);
		kill(getpid(), SIGCONT);
		sigpending(&pending);
		const int there = sigismember(&pending, SIGTSTP);
		raise(SIGTSTP);
		block(SIG_UNBLOCK, SIGTSTP);
		_exit(there);
	}
	changed("one that has blocked it", pid, WUNTRACED);
	kill(pid, SIGCONT);
	changed("SIGCONT takes a stop away", pid, 0);
}

/* --- what stops with it --- */

static int ends[2];

static int arrives(int ms)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };

	return poll(&p, 1, ms);
}

static void write_byte(int signal)
{
	if (write(ends[1], &(char){ (char)signal }, 1) != 1)
		_exit(9);
}

static void *write_often(void *unused)
{
	for (;;) {
		write_byte(1);
		usleep(1000);
	}
	return unused;
}

static void waits(void)
{
	char c[256];
	pthread_t thread;

	if (pipe(ends))
		return;
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGUSR1, write_byte);
		write_byte(0);
		for (;;)
			pause();
	}
	number("it is there", read(ends[0], c, 1));
	kill(pid, SIGSTOP);
	changed("one that waits", pid, WUNTRACED);
	kill(pid, SIGUSR1);
	number("a signal for it arrives", arrives(100));
	kill(pid, SIGCONT);
	number("when it goes on", arrives(-1));
	number("it", read(ends[0], c, 1));
	kill(pid, SIGKILL);
	changed("it", pid, 0);
	pid = fork();
	if (pid == 0) {
		const struct timespec time = { 0, 200000000 };
		_exit(nanosleep(&time, 0) == 0 && read(ends[0], c, 1) == 1 ? 6 : 7);
	}
	usleep(50000);
	kill(pid, SIGSTOP);
	changed("one that sleeps", pid, WUNTRACED);
	kill(pid, SIGCONT);
	changed("it", pid, WCONTINUED);
	usleep(300000);
	kill(pid, SIGSTOP); /* in read() */
	changed("one that reads", pid, WUNTRACED);
	kill(pid, SIGCONT);
	write_byte(1);
	changed("neither call has failed", pid, 0);
	pid = fork();
	if (pid == 0) {
		pthread_create(&thread, 0, write_often, 0);
		compute_for_ever();
	}
	number("one with a thread writes", arrives(-1));
	kill(pid, SIGSTOP);
	changed("it", pid, WUNTRACED);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	while (read(ends[0], c, sizeof(c)) > 0)
		;
	number("its thread writes while it is stopped", arrives(100));
	kill(pid, SIGCONT);
	number("when it goes on", arrives(-1));
	kill(pid, SIGKILL);
	changed("it", pid, 0);
	close(ends[0]);
	close(ends[1]);
}

static void groups(void)
{
	pid_t a = fork(), b;

	if (a == 0)
		compute_for_ever();
	b = fork();
	if (b == 0)
		for (;;)
			pause();
	setpgid(a, a);
	setpgid(b, a);
	number("stops a group", kill(-a, SIGTSTP));
	changed("one", a, WUNTRACED);
	changed("the other one", b, WUNTRACED);
	number("lets it go on", kill(-a, SIGCONT));
	changed("one", a, WCONTINUED);
	changed("the other one", b, WCONTINUED);
	kill(-a, SIGKILL);
	changed("one", a, 0);
	changed("the other one", b, 0);
}

/* --- alarms --- */

static void set(long ms, long each)
{
	const struct itimerval timer = { .it_value = { ms / 1000, ms % 1000 * 1000 },
	                                 .it_interval = { each / 1000, each % 1000 * 1000 } };

	setitimer(ITIMER_REAL, &timer, 0);
}

static void alarms(void)
{
	struct itimerval timer = { .it_value.tv_usec = 1000000 };
	struct timespec start, end;
	sigset_t none;

	sigemptyset(&none);
	number("no alarm", alarm(100));
	const unsigned left = alarm(0);
	number("one", left > 90 && left <= 100);
	number("none again", alarm(0));
	error("a timer of 1,000,000 us", setitimer(ITIMER_REAL, &timer, 0));
	handle(SIGALRM, 0);
	block(SIG_BLOCK, SIGALRM);
	clock_gettime(CLOCK_MONOTONIC, &start);
	alarm(1);
	error("sigsuspend()", sigsuspend(&none));
	block(SIG_UNBLOCK, SIGALRM);
	clock_gettime(CLOCK_MONOTONIC, &end);
	number("it lasts a second", end.tv_sec * 1000 + end.tv_nsec / 1000000 >=
	       start.tv_sec * 1000 + start.tv_nsec / 1000000 + 1000);
	number("signals", caught);
}

static void intervals(void)
{
	struct itimerval timer;
	char c;
	int status;

	if (pipe(ends))
		return;
	set(20, 20);
	error("pause()", pause());
	error("read()", read(ends[0], &c, 1));
	error("nanosleep()", nanosleep(&(struct timespec){ 100, 0 }, 0));
	set(20, 20);
	for (caught = 0; caught < 5;) /* computes */
		;
	getitimer(ITIMER_REAL, &timer);
	number("its interval", timer.it_interval.tv_usec);
	number("what is left", !timer.it_value.tv_sec && timer.it_value.tv_usec > 0 && timer.it_value.tv_usec <= 20000);
	pid_t pid = fork();
	if (pid == 0)
		_exit(alarm(0) == 0 && getitimer(ITIMER_REAL, &timer) == 0 && timer.it_interval.tv_usec == 0 ? 8 : 1);
	while (waitpid(pid, &status, 0) < 0)
		;
	number("a child has none", WEXITSTATUS(status));
	set(0, 0);
	usleep(60000);
	caught = 0;
	usleep(60000);
	number("signals of one that is over", caught);
	close(ends[0]);
	close(ends[1]);
}

static void alarms_of_others(void)
{
	signal(SIGALRM, SIG_DFL);
	pid_t pid = fork();
	if (pid == 0) {
		set(20, 0);
		compute_for_ever();
	}
	changed("one that does not handle it", pid, 0);
	pid = fork();
	if (pid == 0) {
		block(SIG_BLOCK, SIGALRM);
		set(50, 0);
		raise(SIGSTOP);
		block(SIG_UNBLOCK, SIGALRM);
		compute_for_ever();
	}
	changed("one that is stopped", pid, WUNTRACED);
	usleep(100000);
	changed("behind its alarm", pid, WNOHANG);
	kill(pid, SIGCONT);
	changed("when it goes on", pid, 0);
}

int main(void)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	stops();
	told();
	by_itself();
	waits();
	groups();
	alarms();
	intervals();
	alarms_of_others();
	return 0;
}
