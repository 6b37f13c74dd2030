/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "snapshot.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include "prices.h"

/* QEMU blocks no signal of the processor's in any of its threads, and its own code raises none of this number. */
enum { STOP = SIGFPE, MOST_THREADS = MOST_CORES + 64, MOST_FILES = 1024, STOP_MS = 60000, LINES = 3, FAILED = 1 };

static struct stopped {
	void *context; /* of the signal, on the thread's stack */
	uintptr_t storage;
	int *joined; /* what a thread that joins it waits for: the kernel clears it at the thread's end */
	pid_t id;
} stopped[MOST_THREADS];
static _Atomic unsigned begun, done;

/* ---- in the machine. A stopped thread may have any lock, the C library's too: from the first on no function here
 * that takes one is called. ---- */

static void stop(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info;
	struct stopped *self = &stopped[atomic_fetch_add(&begun, 1)];
	self->context = context;
	__asm__("mov %%fs:0, %0" : "=r"(self->storage)); /* System V ABI for thread-local storage */
	self->id = (pid_t)syscall(SYS_gettid);
	syscall(SYS_prctl, PR_GET_TID_ADDRESS, &self->joined);
	atomic_fetch_add(&done, 1);
	for (;;)
		syscall(SYS_pause);
}

static unsigned stop_others(void)
{
	const pid_t self = (pid_t)syscall(SYS_gettid);
	unsigned others = 0;
	DIR *tasks = opendir("/proc/self/task");
	pid_t found[MOST_THREADS];
	for (struct dirent *task; tasks && (task = readdir(tasks));) {
		pid_t id = atoi(task->d_name);
		if (id > 0 && id != self && others < MOST_THREADS)
			found[others++] = id;
	}
	if (tasks)
		closedir(tasks);
	for (unsigned i = 0; i < others; i++)
		syscall(SYS_tgkill, getpid(), found[i], STOP);
	return others;
}

static const char *stop_all(void)
{
	const struct sigaction action = { .sa_sigaction = stop, .sa_flags = SA_SIGINFO | SA_RESTART };
	const struct timespec moment = { 0, 1000000 };
	if (sigaction(STOP, &action, NULL))
		return strerror(errno);
	unsigned others = stop_others();
	if (!others)
		return "the emulator's threads are not in /proc/self/task";
	for (unsigned looks = 0; done < others; looks++) {
		if (looks == STOP_MS)
			return "a thread of the emulator does not stop";
		nanosleep(&moment, NULL);
	}
	for (unsigned i = 0; i < others; i++)
		if (!stopped[i].joined)
			return "the host's kernel is without PR_GET_TID_ADDRESS (CONFIG_CHECKPOINT_RESTORE)";
	return NULL;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (file < 0 || strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	return connect(file, (struct sockaddr *)&address, sizeof(address)) ? -1 : file;
}

/* Takes the text's first line, which has an end. */
static bool take_line(char **text, char *line, size_t size)
{
	char *end = strchr(*text, '\n');
	if ((size_t)(end - *text) >= size)
		return false;
	memcpy(line, *text, (size_t)(end - *text));
	line[end - *text] = 0;
	*text = end + 1;
	return true;
}

static bool receive(int from, struct snapshot_request *request)
{
	static char text[3 * PATH_MAX];
	char *at = text, salt[32];
	for (size_t size = 0, lines = 0; lines < LINES; lines += text[size++] == '\n')
		if (size == sizeof(text) || recv(from, text + size, 1, 0) != 1)
			return false;
	if (!take_line(&at, salt, sizeof(salt)))
		return false;
	request->salt = strtoull(salt, NULL, 10);
	return take_line(&at, request->folder, PATH_MAX) && take_line(&at, request->prices, PATH_MAX);
}

static bool answer(int to, long number)
{
	char text[32];
	int size = snprintf(text, sizeof(text), "%ld\n", number);
	return send(to, text, (size_t)size, MSG_NOSIGNAL) == size;
}

/* ---- in a copy. What the kernel shares between the two processes is opened anew, by the same number. ---- */

static _Noreturn void give_up(const char *what, const char *path)
{
	dprintf(STDERR_FILENO, "modelled: a copy of the machine: %s%s: %s\n", what, path, strerror(errno));
	_exit(FAILED);
}

static void put_in_place(int file, int number)
{
	if (file < 0 || dup2(file, number) < 0)
		give_up("a file of QEMU's", "");
	close(file);
}

static void place_in(const char *folder, const char *name, char *path)
{
	const char *base = strrchr(name, '/');
	if (snprintf(path, PATH_MAX, "%s/%s", folder, base ? base + 1 : name) >= PATH_MAX)
		give_up(folder, "");
}

/* A file that QEMU writes: the copy has its own, with what is in it. */
static void copy_file(int number, const char *target, off_t size, const char *folder)
{
	char path[PATH_MAX];
	place_in(folder, target, path);
	int from = open(target, O_RDONLY | O_CLOEXEC), to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (from < 0 || to < 0)
		give_up("", from < 0 ? target : path);
	for (ssize_t part; size > 0; size -= part)
		if ((part = sendfile(to, from, NULL, (size_t)size)) <= 0)
			give_up("", path);
	close(from);
	fcntl(to, F_SETFL, O_APPEND); /* two numbers may be of one file */
	put_in_place(to, number);
}

static void renew_counter(int number)
{
	char path[64], text[512];
	unsigned count = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", number);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
	text[size > 0 ? size : 0] = 0;
	close(file);
	const char *found = strstr(text, "eventfd-count:");
	if (!found || sscanf(found, "eventfd-count: %x", &count) != 1)
		give_up("", path);
	put_in_place(eventfd(count, EFD_CLOEXEC | (fcntl(number, F_GETFL) & O_NONBLOCK ? EFD_NONBLOCK : 0)), number);
}

static void renew_listener(int number, const char *folder)
{
	struct sockaddr_un address = { .sun_family = AF_UNSPEC };
	socklen_t size = sizeof(address);
	char path[PATH_MAX];
	if (getsockname(number, (struct sockaddr *)&address, &size) || address.sun_family != AF_UNIX)
		return; /* a port of the host, at which nobody calls a machine with copies */
	place_in(folder, address.sun_path, path);
	if (strlen(path) >= sizeof(address.sun_path))
		give_up("a socket's name is too long: ", path);
	strcpy(address.sun_path, path);
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (file < 0 || bind(file, (struct sockaddr *)&address, sizeof(address)) || listen(file, 1))
		give_up("", path);
	put_in_place(file, number);
}

static void renew_files(const char *folder)
{
	static const char counter[] = "anon_inode:[eventfd]";
	for (int number = 0; number < MOST_FILES; number++) {
		char path[64], target[PATH_MAX];
		struct stat is;
		int listens = 0;
		socklen_t size = sizeof(listens);
		if (fstat(number, &is))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", number);
		ssize_t length = readlink(path, target, sizeof(target) - 1);
		target[length > 0 ? length : 0] = 0;
		if (S_ISREG(is.st_mode) && (fcntl(number, F_GETFL) & O_ACCMODE) == O_WRONLY)
			copy_file(number, target, is.st_size, folder);
		else if (!strcmp(target, counter))
			renew_counter(number);
		else if (!getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) && listens)
			renew_listener(number, folder);
	}
}

/* A new thread returns from the signal that has stopped the old one. Returns its id. */
static long continue_thread(const struct stopped *thread)
{
	register unsigned long storage __asm__("r8") = thread->storage;
	register unsigned long ended __asm__("r10") = (uintptr_t)thread->joined;
	long result = SYS_clone;
	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\tmov %[back], %%eax\n\tsyscall\n\tud2\n1:"
	                 : "+a"(result)
	                 : "D"(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
	                       CLONE_SETTLS | CLONE_CHILD_CLEARTID), "S"(thread->context), "d"(0),
	                   "r"(ended), "r"(storage),
	                   [back] "i"(SYS_rt_sigreturn)
	                 : "rcx", "r11", "memory");
	return result;
}

static void begin_copy(pid_t origin, pid_t was, const struct snapshot_request *request,
                       void (*moved)(pid_t was, pid_t is))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != origin)
		_exit(FAILED);
	renew_files(request->folder);
	moved(was, (pid_t)syscall(SYS_gettid));
	for (unsigned i = 0; i < done; i++) {
		long id = continue_thread(&stopped[i]);
		if (id < 0) {
			errno = (int)-id;
			give_up("a thread", "");
		}
		moved(stopped[i].id, (pid_t)id);
	}
}

const char *snapshot_serve(const char *path, struct snapshot_request *request, void (*moved)(pid_t was, pid_t is))
{
	const pid_t origin = getpid(), self = (pid_t)syscall(SYS_gettid);
	int asks = connect_to(path);
	if (asks < 0)
		return "snapshot=FILE must be a socket that listens";
	const char *wrong = stop_all();
	if (wrong)
		return wrong;
	while (receive(asks, request)) {
		/* not fork(), which would take the other threads' stacks for free */
		long copy = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
		int status;
		if (!copy) {
			close(asks);
			begin_copy(origin, self, request, moved);
			return NULL;
		}
		if (copy < 0 || !answer(asks, copy))
			break;
		while (waitpid((pid_t)copy, &status, 0) < 0)
			if (errno != EINTR)
				_exit(FAILED);
		if (!answer(asks, status))
			break;
	}
	_exit(0);
}
