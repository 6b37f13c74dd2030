/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What POSIX says of fork(), wait() and exit(), in cases whose answers are printed: Linux prints the same. No case asks
 * who is faster.
 *
 *     fork            the cases
 *     fork full N     forks until that fails, says why, and ends all; N times, as often each time; then the cases
 *     fork room M     forks three times until that fails; then once with M MiB of heap in use, which both
 *                     processes change
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, MANY = 40, LARGE = 6 << 20 };

static int data = 1, bss;
static char *heap;
static pid_t first;

/* Runs the function in a child, waits, and returns the child's status. */
static int status_of(int (*function)(void))
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(function());
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		printf("no child: %s\n", strerror(errno));
	return status;
}

static void ended(const char *name, int status)
{
	if (WIFEXITED(status))
		printf("%s: exits with %d\n", name, WEXITSTATUS(status));
	else
		printf("%s: ends by signal %d\n", name, WTERMSIG(status));
}

static void number(const char *name, long value) { printf("%s: %ld\n", name, value); }

/* C libraries have different words for errors. */
static const char *error_name(void)
{
	return errno == ECHILD ? "ECHILD" : errno == ESRCH ? "ESRCH" : errno == EAGAIN ? "EAGAIN" :
	       errno == ENOMEM ? "ENOMEM" : errno == EINVAL ? "EINVAL" : strerror(errno);
}

static void error(const char *name, long result) { printf("%s: %s\n", name, result < 0 ? error_name() : "no error"); }

/* --- ends --- */

static int seven(void) { return 7; }
static int beyond(void) { exit(300); }
static int write_nowhere(void) { *(volatile int *)PAGE = 1; return 0; }
static int divide(void)
{
	int quotient = 1, rest = 0;
	__asm__ volatile("idivl %2" : "+a"(quotient), "+d"(rest) : "r"(0));
	return quotient;
}
static int illegal(void) { __asm__ volatile("ud2"); return 0; }
static int give_up(void) { abort(); }
static int terminate(void) { raise(SIGTERM); return 0; }
static int kill_self(void) { kill(getpid(), SIGKILL); return 0; }
static int leave_main(void) { exit(EXIT_SUCCESS); }

static void ends(void)
{
	ended("returns 7", status_of(seven));
	ended("exit(300)", status_of(beyond));
	ended("writes where nothing is", status_of(write_nowhere));
	ended("divides by zero", status_of(divide));
	ended("executes ud2", status_of(illegal));
	ended("abort()", status_of(give_up));
	ended("raises SIGTERM", status_of(terminate));
	ended("kills itself", status_of(kill_self));
	ended("exit(EXIT_SUCCESS)", status_of(leave_main));
}

/* --- memory --- */

static int sees_as_it_was(void) { return data == 2 && bss == 3 && heap[LARGE / 2] == 4 ? 1 : 0; }

static int changes_all(void)
{
	int there = data == 2 && bss == 3 && heap[0] == 5;
	data = bss = 100;
	memset(heap, 100, LARGE);
	return there;
}

static int uses_new_memory(void)
{
	char *more = malloc(LARGE);
	uint64_t sum = 0;

	if (!more)
		return 1;
	for (int i = 0; i < LARGE; i += PAGE)
		more[i] = 1;
	for (int i = 0; i < LARGE; i += PAGE)
		sum += (unsigned char)more[i] + (unsigned char)heap[i];
	free(more);
	free(heap);
	return sum == LARGE / PAGE * 6 ? 0 : 2;
}

static void memory(void)
{
	int local = 6, status;
	pid_t pid;

	heap = malloc(LARGE);
	memset(heap, 4, LARGE);
	data = 2;
	bss = 3;
	ended("a child sees data, bss and heap", status_of(sees_as_it_was));
	memset(heap, 5, LARGE);
	ended("a child changes them", status_of(changes_all));
	printf("the parent's: %d %d %d %d\n", data, bss, heap[0], heap[LARGE - 1]);
	pid = fork();
	if (pid == 0)
		_exit(local == 6 && heap[PAGE] == 5 && heap[LARGE - 1] == 5 ? 0 : 1);
	local = 60; /* before the child looks, or after */
	memset(heap, 50, LARGE);
	waitpid(pid, &status, 0);
	ended("a child sees what the parent has changed since", status);
	memset(heap, 5, LARGE);
	ended("a child allocates and frees", status_of(uses_new_memory));
	number("the parent's stack", local);
}

static char *guarded;

static int touch_guarded(void) { return guarded[0]; }
static int write_readable(void) { guarded[PAGE] = 1; return 0; }
static int read_readable(void) { return guarded[PAGE]; }
static int open_guarded(void)
{
	mprotect(guarded, 3 * PAGE, PROT_READ | PROT_WRITE);
	guarded[0] = guarded[PAGE] = 1;
	return guarded[0] + guarded[PAGE] + guarded[2 * PAGE];
}

static void protection(void)
{
	guarded = mmap(0, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(guarded, 8, 3 * PAGE);
	mprotect(guarded, PAGE, PROT_NONE);
	mprotect(guarded + PAGE, PAGE, PROT_READ);
	ended("a page without rights", status_of(touch_guarded));
	ended("a page that can be read is written", status_of(write_readable));
	ended("a page that can be read", status_of(read_readable));
	ended("a child changes rights", status_of(open_guarded));
	ended("which the parent's page has not", status_of(touch_guarded));
	munmap(guarded, 3 * PAGE);
}

/* --- pids and waits --- */

static int parent_is_first(void) { return getppid() == first && getpid() != first ? 1 : 0; }

static int grandchild(void)
{
	int status;
	const pid_t mine = getpid(), pid = fork();

	if (pid == 0)
		_exit(getppid() == mine ? 11 : 12);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) + 1 : 0;
}

static int leaves_child(void)
{
	if (fork() == 0)
		_exit(0);
	return 0;
}

static _Noreturn void sleep_for_ever(void)
{
	for (;;)
		pause();
}

/* It is the first to look for a path. */
static int folder(void)
{
	char path[PAGE];

	return getcwd(path, sizeof(path)) ? (int)(strlen(path) % 200) : 255;
}

/* A child that has ended is there until its parent has waited for it. */
static void waits_late(void)
{
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	usleep(100000);
	number("asks whether one that has ended is there", kill(pid, 0));
	number("kills one that has ended", kill(pid, SIGKILL));
	number("waits for it", waitpid(pid, 0, 0) == pid);
	error("asks again", kill(pid, 0));
}

static void waits(void)
{
	siginfo_t info = { 0 };
	int status;
	pid_t pid;

	error("waits without a child", wait(0));
	error("waits for nobody's child", waitpid(99999, 0, WNOHANG));
	ended("a child knows its parent", status_of(parent_is_first));
	ended("a child has a child", status_of(grandchild));
	pid = fork();
	if (pid == 0)
		sleep_for_ever();
	number("does not wait", waitpid(pid, &status, WNOHANG));
	number("asks whether it is there", kill(pid, 0));
	number("kills it", kill(pid, SIGKILL));
	number("waits for any", wait(&status) == pid);
	ended("it", status);
	error("it is gone", kill(pid, 0));
	error("waits for it again", waitpid(pid, &status, 0));
	pid = fork();
	if (pid == 0)
		_exit(21);
	number("waitid()", waitid(P_PID, (id_t)pid, &info, WEXITED));
	printf("tells of %s, code %d, status %d\n", info.si_pid == pid ? "it" : "another", info.si_code,
	       info.si_status);
	error("waitid() of process 0", waitid(P_PID, 0, &info, WEXITED));
	waits_late();
	ended("leaves a child behind", status_of(leaves_child));
	error("which is not the first's", waitpid(-1, 0, WNOHANG));
}

static void many(void)
{
	int sum = 0, status;

	for (int i = 0; i < MANY; i++) {
		if (fork() == 0)
			_exit(i);
		wait(&status);
		sum += WEXITSTATUS(status);
	}
	number("one after another", sum);
	sum = 0;
	for (int i = 1; i <= 3; i++)
		if (fork() == 0)
			_exit(i);
	for (int i = 0; i < 3; i++) {
		wait(&status);
		sum += WEXITSTATUS(status);
	}
	number("three at once", sum);
}

/* --- threads, handlers, files, signals --- */

static void *add(void *argument)
{
	*(int *)argument += 30;
	return 0;
}

static int threads_of_child(void)
{
	pthread_t thread;
	int sum = 1;

	if (pthread_create(&thread, 0, add, &sum))
		return 0;
	pthread_join(thread, 0);
	return sum;
}

static void *fork_in_thread(void *argument)
{
	char *block = malloc(100);

	free(block);
	*(int *)argument = status_of(threads_of_child);
	return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int prepared, after[2];

static void prepare(void) { prepared++; }
static void in_parent(void) { after[0]++; }
static void in_child(void) { after[1]++; }
static int handlers_in_child(void) { return prepared * 100 + after[0] * 10 + after[1]; }

static void threads(void)
{
	pthread_t thread;
	int status = -1;

	ended("a thread of a child", status_of(threads_of_child));
	pthread_create(&thread, 0, fork_in_thread, &status);
	pthread_join(thread, 0);
	ended("a thread forks", status);
	pthread_atfork(prepare, in_parent, in_child);
	ended("handlers in the child", status_of(handlers_in_child));
	printf("handlers in the parent: %d %d %d\n", prepared, after[0], after[1]);
	pthread_mutex_lock(&mutex);
	pid_t pid = fork();
	if (pid == 0) {
		pthread_mutex_unlock(&mutex);
		_exit(pthread_mutex_trylock(&mutex));
	}
	waitpid(pid, &status, 0);
	ended("a mutex of the child", status);
	number("is the parent's own", pthread_mutex_trylock(&mutex) == EBUSY);
	pthread_mutex_unlock(&mutex);
}

static int file;

static int read_on(void)
{
	char text[8] = "";

	return read(file, text, 3) == 3 && !strcmp(text, "def") && !strcmp(getenv("FORK"), "yes") ? 5 : 6;
}

static volatile int caught;
static void on_signal(int signal) { caught += signal; }

static int signals_of_child(void)
{
	sigset_t pending, blocked;

	sigpending(&pending);
	sigprocmask(SIG_BLOCK, 0, &blocked);
	const int before = sigismember(&pending, SIGUSR1);
	raise(SIGUSR1);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, 0);
	return before * 100 + sigismember(&blocked, SIGUSR1) * 50 + (caught == SIGUSR1);
}

static void rest(void)
{
	char name[] = "/tmp/fork-XXXXXX", text[4] = "";
	sigset_t set;

	setenv("FORK", "yes", 1);
	file = mkstemp(name);
	if (write(file, "abcdefghi", 9) != 9 || lseek(file, 0, SEEK_SET) || read(file, text, 3) != 3)
		printf("no file: %s\n", strerror(errno));
	ended("reads on in the parent's file", status_of(read_on));
	close(file);
	unlink(name);
	signal(SIGUSR1, on_signal);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, 0);
	raise(SIGUSR1);
	ended("signals in the child", status_of(signals_of_child));
	number("caught by the parent", caught);
	sigprocmask(SIG_UNBLOCK, &set, 0);
	number("after it has unblocked", caught);
	pid_t pid = vfork();
	if (pid == 0)
		_exit(9);
	int status;
	waitpid(pid, &status, 0);
	ended("vfork()", status);
}

/* --- other ways --- */

static void full(int times)
{
	pid_t pid[64];
	int before = 0;

	for (int t = 0; t < times; t++) {
		int count = 0, status;

		while ((pid[count] = fork()) > 0)
			count++;
		if (pid[count] == 0)
			sleep_for_ever();
		if (count != before)
			printf("%d forks, then: %s\n", count, error_name());
		before = count;
		for (int i = 0; i < count; i++)
			kill(pid[i], SIGKILL);
		while (wait(&status) > 0)
			if (!WIFSIGNALED(status))
				printf("a child was not killed\n");
	}
}

static uint32_t sum_of(const uint32_t *words, size_t count)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < count; i += PAGE / sizeof(*words))
		sum = sum * 31 + words[i];
	return sum;
}

static void large(size_t size)
{
	const size_t count = size / sizeof(uint32_t);
	uint32_t *words = malloc(size);
	int status;

	for (size_t i = 0; i < count; i += PAGE / sizeof(*words))
		words[i] = (uint32_t)i * 2654435761u;
	const uint32_t before = sum_of(words, count);
	pid_t pid = fork();
	if (pid == 0) {
		bool same = sum_of(words, count) == before;
		words[count / 2] = 7;
		_exit(same && words[count / 2] == 7 && words[0] == 0 ? 0 : 1);
	}
	words[count / 4] = 9;
	words[count / 2] = 8;
	waitpid(pid, &status, 0);
	ended("a child with all of the heap", status);
	printf("the parent's: %u %u\n", words[count / 2], words[count / 4]);
	words[count - 1] = 3;
	free(words);
}

/* Forks so often with 64 MiB, of which parent and child write a part each time. */
static void often(int times)
{
	enum { SIZE = 64 << 20, STEP = 2 << 20 };
	char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int right = 0;

	for (size_t at = 0; at < SIZE; at += STEP)
		memory[at] = 1;
	for (int i = 0; i < times; i++) {
		int status;
		char *own = memory + (size_t)(i % (SIZE / STEP)) * STEP;
		const pid_t pid = fork();

		if (pid == 0) {
			own[1] = 2;
			_exit(own[0] == 1 && own[1] == 2 ? 0 : 1);
		}
		right += pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && own[1] == 0;
	}
	printf("forks that were right: %d\n", right);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	first = getpid();
	if (argc == 3 && !strcmp(argv[1], "room")) {
		full(3);
		large((size_t)atoi(argv[2]) << 20);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "often")) {
		often(atoi(argv[2]));
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "full"))
		full(atoi(argv[2]));
	const int status = status_of(folder);
	number("a child starts in its parent's folder", WIFEXITED(status) && WEXITSTATUS(status) == folder());
	ends();
	memory();
	protection();
	waits();
	many();
	threads();
	rest();
	return 0;
}
