/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP server that sends back what it is sent: one thread, any number of connections. Plain POSIX, nothing of
 * Skerry's. */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS = 100 };

static int listen_at(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, CONNECTIONS)) {
		perror("listen");
		exit(1);
	}
	return listener;
}

/* Whether the connection goes on. */
static int echo(int connection)
{
	char buffer[4096];
	ssize_t size = read(connection, buffer, sizeof(buffer));

	for (ssize_t done = 0, sent; done < size; done += sent)
		if ((sent = write(connection, buffer + done, (size_t)(size - done))) <= 0)
			return 0;
	return size > 0;
}

int main(int argc, char **argv)
{
	struct pollfd polled[1 + CONNECTIONS];
	nfds_t count = 1;

	if (argc != 2 || atoi(argv[1]) <= 0) {
		fprintf(stderr, "usage: %s PORT\n", argv[0]);
		return 2;
	}
	polled[0] = (struct pollfd){ .fd = listen_at(atoi(argv[1])), .events = POLLIN };
	printf("echo: listens at port %s\n", argv[1]);
	for (;;) {
		if (poll(polled, count, -1) < 0) {
			perror("poll");
			return 1;
		}
		for (nfds_t i = count; --i > 0;) /* downwards: the last one takes the place of one that goes */
			if (polled[i].revents && !echo(polled[i].fd)) {
				close(polled[i].fd);
				polled[i] = polled[--count];
			}
		if (polled[0].revents) {
			int connection = accept(polled[0].fd, NULL, NULL);

			if (connection >= 0 && count <= CONNECTIONS)
				polled[count++] = (struct pollfd){ .fd = connection, .events = POLLIN };
			else if (connection >= 0)
				close(connection);
		}
	}
}
