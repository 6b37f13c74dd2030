/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds names of the deployment: NAME=ADDRESS[,ADDRESS...] each, with and without asking for configured addresses
 * alone. And looks at UDP and TCP sockets. Exit status: how much is not as it should be. With --serve it is a name
 * server.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int find(const char *name, const char *wanted, int flags)
{
	const struct addrinfo hints = { .ai_flags = flags, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *all = NULL;
	char found[256] = "";

	if (getaddrinfo(name, "80", &hints, &all))
		strcpy(found, "none");
	for (const struct addrinfo *a = all; a && strlen(found) < sizeof(found) - 20; a = a->ai_next) {
		strcat(found, found[0] ? "," : "");
		strcat(found, inet_ntoa(((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr));
	}
	printf("%s %s: %s\n", strcmp(found, wanted) ? "not ok" : "ok", name, found);
	return strcmp(found, wanted) != 0;
}

/* Waits for it. */
static int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int bytes = -1;

	return poll(&p, 1, 10000) == 1 && !ioctl(fd, FIONREAD, &bytes) ? bytes : -1;
}

/* Of what has come all can be read, and after a part of it the rest. */
static int look_at_streams(void)
{
	static char text[6000]; /* fits into the first window */
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(7007),
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *const name = (struct sockaddr *)(void *)&own;
	const int listener = socket(AF_INET, SOCK_STREAM, 0), out = socket(AF_INET, SOCK_STREAM, 0);
	int wrong = bind(listener, name, sizeof(own)) || listen(listener, 1) || connect(out, name, sizeof(own));
	const int in = accept(listener, NULL, NULL);
	int bytes = -1;

	wrong += ioctl(in, FIONREAD, &bytes) || bytes || ioctl(listener, FIONREAD, &bytes) != -1 || errno != EINVAL;
	wrong += write(out, text, sizeof(text)) != sizeof(text);
	for (int i = 0; i < 10000 && bytes != sizeof(text); i++, usleep(1000)) /* in several segments */
		bytes = readable(in);
	wrong += bytes != sizeof(text) || read(in, text, 1001) != 1001 || readable(in) != sizeof(text) - 1001;
	wrong += close(out) || readable(in) != sizeof(text) - 1001;
	printf("%s streams\n", wrong ? "not ok" : "ok");
	close(in);
	close(listener);
	return wrong;
}

/* A UDP socket tells its own address, and reaches itself there. */
static int look_at_datagrams(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x0a000001) },
	                   own = { 0 };
	struct sockaddr *const name = (struct sockaddr *)(void *)&own;
	socklen_t size = sizeof(own);
	const int fd = socket(AF_INET, SOCK_DGRAM, 0), other = socket(AF_INET, SOCK_DGRAM, 0);
	char bytes[8] = "";
	int wrong = fd < 0 || connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)) || getsockname(fd, name, &size) ||
	    !own.sin_addr.s_addr;

	own.sin_port = htons(5353);
	wrong += bind(other, name, sizeof(own)) || sendto(fd, "itself", 6, 0, name, sizeof(own)) != 6;
	wrong += readable(other) != 6;
	wrong += recv(other, bytes, sizeof(bytes), 0) != 6 || strcmp(bytes, "itself") != 0;
	wrong += recv(other, bytes, sizeof(bytes), MSG_DONTWAIT) != -1 || errno != EAGAIN;
	printf("%s datagrams, from %s\n", wrong ? "not ok" : "ok", inet_ntoa(own.sin_addr));
	close(fd);
	close(other);
	return wrong;
}

/* A name server (RFC 1035, 4.1) to which every name is at 192.0.2.7. */
static int serve(void)
{
	enum { FLAGS = 2, ANSWERS = 7, HEADER = 12 };
	static const unsigned char answer[] = { 0xc0, HEADER, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7 };
	const struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(53) };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	unsigned char packet[600];

	if (fd < 0 || bind(fd, (const struct sockaddr *)(const void *)&own, sizeof(own)))
		return 1;
	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		const ssize_t n = recvfrom(fd, packet, 512, 0, (struct sockaddr *)(void *)&from, &size);

		if (n < HEADER)
			continue;
		packet[FLAGS] |= 0x80;
		packet[ANSWERS] = 1;
		memcpy(packet + n, answer, sizeof(answer));
		sendto(fd, packet, (size_t)n + sizeof(answer), 0, (struct sockaddr *)(void *)&from, size);
	}
}

int main(int argc, char **argv)
{
	int wrong = argc > 1 && !strcmp(argv[1], "--serve") ? serve() : look_at_datagrams() + look_at_streams();

	for (int i = 1; i < argc; i++) {
		const char *sign = strchr(argv[i], '=');
		char name[64];

		if (!sign || sign - argv[i] >= (long)sizeof(name))
			return -1; /* 255 to the manager, as Linux tells a parent */
		memcpy(name, argv[i], (size_t)(sign - argv[i]));
		name[sign - argv[i]] = '\0';
		wrong += find(name, sign + 1, 0) + find(name, sign + 1, AI_ADDRCONFIG);
	}
	return wrong;
}
