/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds names of the deployment: NAME=ADDRESS[,ADDRESS...] each, with and without asking for configured addresses alone.
 * And looks at UDP sockets. Exit status: how much is not as it should be.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
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

/* A UDP socket tells its own address, and refuses what would need a packet. */
static int look_at_datagrams(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(0x0a000001) }, own = { 0 };
	socklen_t size = sizeof(own);
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int wrong = fd < 0 || connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)) ||
	            getsockname(fd, (struct sockaddr *)(void *)&own, &size) || !own.sin_addr.s_addr;

	wrong += send(fd, "x", 1, 0) != -1 || errno != EOPNOTSUPP;
	wrong += bind(fd, (struct sockaddr *)(void *)&own, sizeof(own)) != -1 || errno != EOPNOTSUPP;
	printf("%s datagrams, from %s\n", wrong ? "not ok" : "ok", inet_ntoa(own.sin_addr));
	close(fd);
	return wrong;
}

int main(int argc, char **argv)
{
	int wrong = look_at_datagrams();

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
