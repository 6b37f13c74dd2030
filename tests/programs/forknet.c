/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A server that forks while it has connections, as Redis does for a diskless synchronisation: a child writes into a
 * pipe, its parent passes that on to a client, and serves on.
 *
 *     forknet serve       serves one client, and says what its children may do with its sockets
 *     forknet ask NAME    the client: asks the program NAME
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT = 7000, LARGE = 300000, ROUNDS = 5 };

static char bytes[LARGE];

static void fill(unsigned seed)
{
	for (size_t i = 0; i < LARGE; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (char)(seed >> 24);
	}
}

static bool write_all(int fd, const char *from, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = write(fd, from + done, size - done);
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static bool read_all(int fd, char *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = read(fd, to + done, size - done);
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static const char *error_name(long result)
{
	return result >= 0 ? "no error" : errno == EBADF ? "EBADF" : errno == ENOTSOCK ? "ENOTSOCK" :
	       errno == EACCES ? "EACCES" : strerror(errno);
}

/* In a child. */
static int try_sockets(int connection, int listener, int epoll)
{
	struct epoll_event event;
	char byte = 0;

	printf("read: %s\n", error_name(read(connection, &byte, 1)));
	printf("write: %s\n", error_name(write(connection, &byte, 1)));
	printf("send: %s\n", error_name(send(connection, &byte, 1, 0)));
	printf("accept: %s\n", error_name(accept(listener, 0, 0)));
	printf("shutdown: %s\n", error_name(shutdown(connection, SHUT_RDWR)));
	printf("socket: %s\n", error_name(socket(AF_INET, SOCK_STREAM, 0)));
	printf("epoll: %d\n", epoll_wait(epoll, &event, 1, -1) == 1 && event.events == EPOLLHUP);
	usleep(1000); /* a timer of a process without a network */
	printf("close: %s\n", error_name(close(connection)));
	return 0;
}

static pid_t run_child(int connection, int listener, int epoll)
{
	fflush(stdout);
	const pid_t pid = fork();

	if (pid == 0)
		_exit(try_sockets(connection, listener, epoll));
	return pid;
}

/* A child's bytes go to the client. */
static bool pass_on(int connection, unsigned round)
{
	char piece[10000];
	int fds[2], status = -1;
	ssize_t n;

	if (pipe(fds))
		return false;
	const pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		fill(round);
		_exit(!write_all(fds[1], bytes, LARGE)); /* without a word to the connection */
	}
	close(fds[1]);
	while ((n = read(fds[0], piece, sizeof(piece))) > 0)
		if (!write_all(connection, piece, (size_t)n))
			return false;
	close(fds[0]);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int serve(void)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	const int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	int status = -1;
	unsigned char round;

	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) || listen(listener, 1))
		return 1;
	const int connection = accept(listener, 0, 0);
	for (unsigned i = 0; i < ROUNDS; i++)
		if (!read_all(connection, (char *)&round, 1) || round != i || !pass_on(connection, i))
			return 2;
	int fds[2];
	if (pipe(fds))
		return 3;
	epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event);
	close(fds[1]); /* so that its other end hangs up */
	const pid_t pid = run_child(connection, listener, epoll);
	if (waitpid(pid, &status, 0) != pid || status || !read_all(connection, (char *)&round, 1))
		return 4;
	printf("the parent's connection: %d\n", write_all(connection, "end", 3));
	shutdown(connection, SHUT_WR);
	return read(connection, &round, 1) != 0; /* the client has closed it */
}

static int ask(const char *name)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int fd;

	if (getaddrinfo(name, "7000", &hints, &found))
		return 1;
	for (;;) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, found->ai_addr, found->ai_addrlen))
			break;
		close(fd);
		usleep(1000);
	}
	static char got[LARGE];
	int right = 0;
	for (unsigned i = 0; i < ROUNDS; i++) {
		fill(i);
		right += write_all(fd, &(char){ (char)i }, 1) && read_all(fd, got, LARGE) && !memcmp(got, bytes, LARGE);
	}
	printf("rounds: %d\n", right);
	printf("then: %d\n", write_all(fd, "x", 1) && read_all(fd, got, 3) && !memcmp(got, "end", 3));
	printf("the end: %d\n", read(fd, got, 1) == 0);
	return close(fd) != 0;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, 0, _IOLBF, 0);
	return argc == 3 && !strcmp(argv[1], "ask") ? ask(argv[2]) : serve();
}
