/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Put in front of the C library's fsync() and fdatasync() in QEMU's process: keeps of each file, under the number of
 * its inode in the folder SKERRY_POWER_CUT, what it held when it was synchronised last. That, and nothing newer, is
 * what a power cut leaves of its data at worst. Names are taken as written in order, as a journal has it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 65536, NAME = 4096 };

static int copy(int from, int to)
{
	static _Thread_local char bytes[PIECE];
	ssize_t size;

	for (off_t at = 0; (size = pread(from, bytes, PIECE, at)) > 0; at += size)
		if (write(to, bytes, (size_t)size) != size)
			return -1;
	return size < 0 ? -1 : 0;
}

/* Stores the file's content, whole or not at all: the process may be killed at any moment. */
static int keep(int fd)
{
	const char *folder = getenv("SKERRY_POWER_CUT");
	char source[NAME], part[NAME], name[NAME];
	struct stat st;

	if (!folder || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd); /* fd itself may be open to write alone */
	snprintf(part, sizeof(part), "%s/part-%lu", folder, (unsigned long)st.st_ino);
	snprintf(name, sizeof(name), "%s/%lu", folder, (unsigned long)st.st_ino);
	const int from = open(source, O_RDONLY | O_CLOEXEC);
	const int to = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const int error = from < 0 || to < 0 || copy(from, to) || rename(part, name);
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
	return error ? -1 : 0;
}

/* Writes made before the call are what it promises; later ones of others may be there, too. */
static int sync_with(int (*next)(int), int fd)
{
	if (keep(fd)) {
		errno = EIO;
		return -1;
	}
	return next(fd);
}

int fsync(int fd) { return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fsync"), fd); }
int fdatasync(int fd) { return sync_with((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"), fd); }
