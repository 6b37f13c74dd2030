/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pipes and socket pairs between processes, in cases whose answers are printed: Linux prints the same. No case asks who
 * is faster.
 *
 *     pipes            the cases
 *     pipes often N    all cases a few times, those with a process that is killed N times, so that what one leaves
 *                      behind would be missing at last
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LARGE = 300000, ATOMIC = 4096, RECORDS = 40, ALL_TIMES = 5, TURNS = 100 };

static bool quiet;
static char buffer[LARGE], other[LARGE];

static void say(const char *name, long value)
{
	if (!quiet)
		printf("%s: %ld\n", name, value);
}

static const char *error_name(long result)
{
	return result >= 0 ? "no error" : errno == EAGAIN ? "EAGAIN" : errno == EPIPE ? "EPIPE" :
	       errno == ENOTCONN ? "ENOTCONN" : strerror(errno);
}

static void error(const char *name, long result)
{
	if (!quiet)
		printf("%s: %s\n", name, error_name(result));
}

static void ended(const char *name, pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	if (!quiet)
		printf("%s: %s %d\n", name, WIFEXITED(status) ? "exits with" : "ends by signal",
		       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static pid_t child_of(void)
{
	fflush(stdout);
	const pid_t pid = fork();

	if (pid < 0) {
		printf("no child: %s\n", strerror(errno));
		exit(1);
	}
	return pid;
}

/* Reads until the end or `size` bytes. Returns how many. */
static long read_all(int fd, char *to, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const ssize_t n = read(fd, to + done, size - done);
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (long)done;
}

static void fill(char *bytes, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (char)(seed >> 24);
	}
}

static void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

/* Gives the processor to others until something can be read, or the end of it. */
static short wait_for(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, -1) == 1 ? p.revents : -1;
}

/* --- pipes --- */

/* More than the pipe holds, so that both wait for each other. */
static void transfer(void)
{
	int fds[2];

	pipe(fds);
	const pid_t pid = child_of();
	if (pid == 0) {
		close(fds[0]);
		fill(buffer, LARGE, 7);
		_exit(write(fds[1], buffer, LARGE) == LARGE ? 0 : 1);
	}
	close(fds[1]);
	fill(other, LARGE, 7);
	say("bytes from a child", read_all(fds[0], buffer, LARGE));
	say("are those that it wrote", !memcmp(buffer, other, LARGE));
	say("the end, when the child has ended", read(fds[0], buffer, 1));
	ended("the writer", pid);
	close(fds[0]);
}

static void to_child_and_back(void)
{
	int there[2], back[2];

	pipe(there);
	pipe(back);
	const pid_t pid = child_of();
	if (pid == 0) {
		char byte;
		int count = 0;
		close(there[1]);
		close(back[0]);
		while (read(there[0], &byte, 1) == 1) {
			byte ^= 0x20;
			if (write(back[1], &byte, 1) == 1)
				count++;
		}
		_exit(count);
	}
	close(there[0]);
	close(back[1]);
	int right = 0;
	for (int i = 0; i < 100; i++) {
		char byte = (char)('A' + i % 26), answer = 0;
		right += write(there[1], &byte, 1) == 1 && read(back[0], &answer, 1) == 1 && answer == byte + 0x20;
	}
	say("answers of a child", right);
	close(there[1]);
	ended("the child that answers", pid);
	close(back[0]);
}

/* A writer of which others hold the pipe, too: the end comes when the last one is gone. */
static void last_writer(void)
{
	int fds[2], go[2];

	pipe(fds);
	pipe(go);
	const pid_t first = child_of();
	if (first == 0) {
		write(fds[1], "1", 1);
		_exit(0);
	}
	const pid_t second = child_of();
	if (second == 0) {
		char byte;
		close(fds[0]);
		close(go[1]);
		if (read(go[0], &byte, 1) == 0) /* when the parent has closed it */
			write(fds[1], "2", 1);
		_exit(0);
	}
	close(fds[1]);
	ended("the first writer", first);
	say("its byte", read(fds[0], buffer, LARGE));
	set_nonblocking(fds[0]);
	error("another writer is left", read(fds[0], buffer, 1));
	close(go[0]);
	close(go[1]);
	ended("the last writer", second);
	say("its byte", read(fds[0], buffer, LARGE) == 1 && buffer[0] == '2');
	say("the end", read(fds[0], buffer, 1));
	close(fds[0]);
}

static volatile sig_atomic_t broken;
static void on_broken(int number) { broken = number; }

static void last_reader(void)
{
	int fds[2];

	pipe(fds);
	pid_t pid = child_of();
	if (pid == 0)
		_exit(0);
	close(fds[0]);
	ended("the last reader", pid);
	signal(SIGPIPE, SIG_IGN);
	error("a write that nobody will read", write(fds[1], "x", 1));
	say("poll tells of it", wait_for(fds[1], POLLOUT) & POLLERR ? 1 : 0);
	signal(SIGPIPE, on_broken);
	error("with a handler", write(fds[1], "x", 1));
	say("which has run", broken == SIGPIPE);
	signal(SIGPIPE, SIG_DFL);
	pid = child_of();
	if (pid == 0) {
		write(fds[1], "x", 1);
		_exit(3);
	}
	ended("one that has none", pid);
	close(fds[1]);
}

/* A reader ends while a writer waits for room. */
static void reader_ends(void)
{
	int fds[2];

	pipe(fds);
	const pid_t pid = child_of();
	if (pid == 0) {
		signal(SIGPIPE, SIG_IGN);
		close(fds[0]);
		const ssize_t n = write(fds[1], buffer, LARGE);
		_exit(n > 0 && n < LARGE ? 1 : n < 0 && errno == EPIPE ? 2 : 3);
	}
	close(fds[1]);
	say("the reader takes some", read_all(fds[0], other, 5));
	close(fds[0]);
	ended("a writer whose reader is gone", pid);
}

/* One is killed in the midst of a write, and one that holds the writer's end and never writes. */
static void killed(void)
{
	int fds[2];

	pipe(fds);
	fill(other, LARGE, 9);
	const pid_t pid = child_of();
	if (pid == 0) {
		fill(buffer, LARGE, 9);
		for (;;)
			write(fds[1], buffer, LARGE);
	}
	const pid_t idle = child_of();
	if (idle == 0)
		for (;;)
			pause();
	close(fds[1]);
	say("bytes of one that writes on", read_all(fds[0], buffer, LARGE / 2));
	say("are right", !memcmp(buffer, other, LARGE / 2));
	kill(pid, SIGKILL);
	ended("it", pid);
	kill(idle, SIGKILL);
	ended("the other", idle);
	const long rest = read_all(fds[0], buffer, LARGE);
	say("the rest ends, and is right", rest >= 0 && rest < LARGE - LARGE / 2 &&
	    !memcmp(buffer, other + LARGE / 2, (size_t)rest));
	close(fds[0]);
}

/* Several processes write records into one pipe: each arrives whole. */
static void records(void)
{
	struct record {
		uint32_t process, number;
		char rest[1000];
	} record;
	int fds[2], next[3] = { 0 }, wrong = 0;
	pid_t pid[3];

	pipe(fds);
	for (unsigned i = 0; i < 3; i++)
		if ((pid[i] = child_of()) == 0) {
			record.process = i;
			for (record.number = 0; record.number < RECORDS; record.number++) {
				memset(record.rest, (int)(i * RECORDS + record.number), sizeof(record.rest));
				if (write(fds[1], &record, sizeof(record)) != sizeof(record))
					_exit(1);
			}
			_exit(0);
		}
	close(fds[1]);
	while (read_all(fds[0], (char *)&record, sizeof(record)) == sizeof(record)) {
		if (record.process > 2 || (int)record.number != next[record.process]++) {
			wrong++;
			continue;
		}
		for (size_t i = 0; i < sizeof(record.rest); i++)
			wrong += record.rest[i] != (char)(record.process * RECORDS + record.number);
	}
	for (unsigned i = 0; i < 3; i++)
		ended("a writer of records", pid[i]);
	say("records", next[0] + next[1] + next[2]);
	say("wrong", wrong);
	close(fds[0]);
}

/* Several processes read from one pipe: each byte arrives once. */
static void readers(void)
{
	int in[2], out[2];
	uint32_t sum = 0, part;
	pid_t pid[3];

	pipe(in);
	pipe(out);
	for (unsigned i = 0; i < 3; i++)
		if ((pid[i] = child_of()) == 0) {
			char bytes[100];
			ssize_t n;
			close(in[1]);
			part = 0;
			while ((n = read(in[0], bytes, sizeof(bytes))) > 0)
				for (ssize_t k = 0; k < n; k++)
					part += (unsigned char)bytes[k];
			_exit(write(out[1], &part, sizeof(part)) != sizeof(part));
		}
	close(in[0]);
	close(out[1]);
	uint32_t expected = 0;
	fill(buffer, LARGE, 3);
	for (int i = 0; i < LARGE; i++)
		expected += (unsigned char)buffer[i];
	say("bytes for several readers", write(in[1], buffer, LARGE));
	close(in[1]);
	while (read(out[0], &part, sizeof(part)) == sizeof(part))
		sum += part;
	say("arrive once", sum == expected);
	for (unsigned i = 0; i < 3; i++)
		ended("a reader", pid[i]);
	close(out[0]);
}

/* --- readiness --- */

static void nonblocking(void)
{
	int fds[2];
	char byte;

	pipe2(fds, O_NONBLOCK);
	error("nothing to read", read(fds[0], &byte, 1));
	while (write(fds[1], buffer, ATOMIC) == ATOMIC)
		;
	error("no room to write", write(fds[1], buffer, 1));
	const pid_t pid = child_of();
	if (pid == 0) {
		int held = 0;
		ioctl(fds[0], FIONREAD, &held);
		const bool all = read_all(fds[0], other, (size_t)held) == held;
		_exit(all && held % ATOMIC == 0 ? 0 : 1);
	}
	say("a child makes room", wait_for(fds[1], POLLOUT));
	ended("the child", pid);
	error("nothing is left", read(fds[0], &byte, 1));
	say("room for more", write(fds[1], "x", 1));
	close(fds[0]);
	close(fds[1]);
}

static void epolls(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = 1 }, got[4];
	int fds[2], go[2], e = epoll_create1(0);
	char byte;

	pipe(fds);
	pipe(go);
	epoll_ctl(e, EPOLL_CTL_ADD, fds[0], &event);
	const pid_t pid = child_of();
	if (pid == 0) {
		for (int i = 0; i < 3; i++) {
			write(fds[1], "ab", 2);
			if (read(go[0], &byte, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(fds[1]);
	for (int i = 0; i < 3; i++) { /* one byte stays, and more is an edge */
		say("epoll_wait()", epoll_wait(e, got, 4, -1));
		say("what", (long)got[0].events);
		say("once", epoll_wait(e, got, 4, 0));
		say("reads one", read(fds[0], &byte, 1));
		write(go[1], "x", 1);
	}
	ended("the child", pid);
	say("the end", epoll_wait(e, got, 4, -1));
	say("is a hang-up", got[0].events & EPOLLHUP ? 1 : 0);
	say("the bytes that stayed", read_all(fds[0], buffer, LARGE));
	close(fds[0]);
	close(go[0]);
	close(go[1]);
	close(e);
}

static int wake[2];

static void *write_later(void *argument)
{
	(void)argument;
	usleep(20000);
	write(wake[1], "t", 1);
	return 0;
}

/* Threads of two processes wait for the same. */
static void threads(void)
{
	pthread_t thread;
	char byte = 0;
	int status = 0;

	pipe(wake);
	const pid_t pid = child_of();
	if (pid == 0) {
		pthread_create(&thread, 0, write_later, 0);
		const bool right = read(wake[0], &byte, 1) == 1 && byte == 't';
		pthread_join(thread, 0);
		_exit(right ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	say("a thread of a child wakes another", WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(wake[0]);
	close(wake[1]);
}

/* --- socket pairs --- */

static void *read_byte(void *argument)
{
	char byte;

	say("a thread reads", read(*(int *)argument, &byte, 1));
	return 0;
}

/* A thread of the parent sleeps in a read at the fork. The child does not, so that the end it closes is closed. */
static void held(void)
{
	pthread_t thread;
	int pair[2];

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	pthread_create(&thread, 0, read_byte, &pair[0]);
	for (int i = 0; i < TURNS; i++)
		sched_yield();
	const pid_t pid = child_of();
	if (pid == 0) {
		close(pair[0]);
		if (write(pair[1], "x", 1) != 1)
			_exit(1);
		_exit(read(pair[1], buffer, 1) == 0 ? 0 : 2);
	}
	close(pair[1]);
	pthread_join(thread, 0);
	close(pair[0]);
	ended("a child that reads the end", pid);
}

static void sockets(void)
{
	int fds[2];

	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	pid_t pid = child_of();
	if (pid == 0) {
		close(fds[0]);
		const long n = read_all(fds[1], buffer, 1000); /* until shutdown() */
		for (long i = 0; i < n; i++)
			buffer[i] ^= 1;
		write(fds[1], buffer, (size_t)n);
		_exit(n == 1000 ? 0 : 1);
	}
	close(fds[1]);
	fill(other, 1000, 5);
	say("bytes to the socket", write(fds[0], other, 1000));
	shutdown(fds[0], SHUT_WR);
	say("bytes back", read_all(fds[0], buffer, LARGE));
	int right = 0;
	for (int i = 0; i < 1000; i++)
		right += buffer[i] == (other[i] ^ 1);
	say("right ones", right);
	ended("the child", pid);
	say("hung up", wait_for(fds[0], POLLIN | POLLOUT) & POLLHUP ? 1 : 0);
	error("send() without a signal", send(fds[0], "x", 1, MSG_NOSIGNAL));
	close(fds[0]);

	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	pid = child_of();
	if (pid == 0) {
		close(fds[0]);
		for (;;)
			pause();
	}
	close(fds[1]);
	set_nonblocking(fds[0]);
	error("nothing from the peer", read(fds[0], buffer, 1));
	kill(pid, SIGKILL);
	say("it is killed", wait_for(fds[0], POLLIN) & POLLHUP ? 1 : 0);
	say("the end", read(fds[0], buffer, 1));
	signal(SIGPIPE, SIG_IGN);
	error("a write to it", write(fds[0], "x", 1));
	signal(SIGPIPE, SIG_DFL);
	ended("it", pid);
	close(fds[0]);
}

/* --- a pipeline: processes that inherit each other's ends --- */

static int stage(int in, int out)
{
	char bytes[777];
	ssize_t n;

	while ((n = read(in, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			bytes[i]++;
		if (write(out, bytes, (size_t)n) != n)
			return 1;
	}
	return 0;
}

static void pipeline(void)
{
	int in[2], out[2], first;
	pid_t pid[3];

	pipe(in);
	first = in[1];
	for (int i = 0; i < 3; i++) {
		pipe(out);
		if ((pid[i] = child_of()) == 0) {
			close(first);
			close(out[0]);
			_exit(stage(in[0], out[1]));
		}
		close(in[0]);
		close(out[1]);
		in[0] = out[0];
	}
	say("into a pipeline", write(first, "abcdef", 6));
	close(first);
	memset(buffer, 0, 10);
	read_all(in[0], buffer, LARGE);
	if (!quiet)
		printf("out of it: %s\n", buffer);
	for (int i = 0; i < 3; i++)
		ended("a stage", pid[i]);
	close(in[0]);
}

int main(int argc, char **argv)
{
	const int times = argc == 3 && !strcmp(argv[1], "often") ? atoi(argv[2]) : 1;

	setvbuf(stdout, 0, _IOLBF, 0);
	for (int i = ALL_TIMES; i < times; i++) {
		quiet = true;
		killed();
		sockets();
	}
	for (int i = 0; i < times && i < ALL_TIMES; i++) {
		quiet = i > 0;
		transfer();
		to_child_and_back();
		last_writer();
		last_reader();
		reader_ends();
		killed();
		records();
		readers();
		nonblocking();
		epolls();
		threads();
		held();
		sockets();
		pipeline();
	}
	return 0;
}
