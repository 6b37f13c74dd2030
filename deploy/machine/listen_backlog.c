/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Put in front of the C library's listen() in QEMU's process: QEMU's user
 * networking listens at forwarded ports with a backlog of 1, and a client that
 * opens fifty connections at once then waits for seconds or for ever.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>

enum { BACKLOG = 1024 };

int listen(int fd, int backlog)
{
	int (*next)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "listen");

	return next(fd, backlog < BACKLOG ? BACKLOG : backlog);
}
