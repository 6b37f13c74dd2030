/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of open files. A descriptor is the lowest free number, found by
 * bitmap. Only the form for programs that execute others keeps FD_CLOEXEC (family.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include "family.h"
#include "layer.h"
#include "volume.h"

enum { DESCRIPTORS = 16384 };

static struct file *table[DESCRIPTORS];
static uint64_t taken[DESCRIPTORS / 64];
#ifdef LAYER_FAMILY
static uint64_t closes[DESCRIPTORS / 64]; /* FD_CLOEXEC */
#endif

int descriptor_count_max(void) { return DESCRIPTORS; }

void file_init(struct file *file, const struct file_operations *ops, uint32_t flags)
{
	require(ops && !file->references);
	file->ops = ops;
	file->references = 1;
	file->flags = flags;
}

struct file *file_hold(struct file *file)
{
	require(file->references && file->references < UINT32_MAX);
	file->references++;
	return file;
}

void file_put(struct file *file)
{
	require(file->references);
	if (--file->references)
		return;
	watch_drop_all(file);
	if (file->ops->close)
		file->ops->close(file);
	else
		layer_free(file);
}

/* `edges`: what is ready now and was not, or is ready again, which edge-triggered watchers are told of. Not in line,
 * for most calls end before it. */
static __attribute__((noinline)) void notify_watchers(struct file *file, uint32_t edges, uint32_t fresh)
{
	if (file->watches)
		watch_changed(file->watches, edges, fresh);
	if (file->on_ready)
		file->on_ready(file);
	if (fresh)
		event_notify();
}

/* After each read that leaves nothing a file is less ready than before, which nearly nobody has to know. */
void file_ready_changed(struct file *file, uint32_t ready)
{
	require(file->references);
	uint32_t fresh = ready & ~file->ready;

	file->ready = ready;
	if (fresh)
		notify_watchers(file, fresh, fresh);
}

void file_ready_again(struct file *file, uint32_t ready, uint32_t again)
{
	require(file->references);
	uint32_t fresh = ready & ~file->ready;

	file->ready = ready;
	again &= ready;
	if (fresh || (again && (file->edge_triggered || file->on_ready)))
		notify_watchers(file, fresh | again, fresh);
}

struct file *descriptor_file(int fd)
{
	return (unsigned)fd < DESCRIPTORS ? table[fd] : 0;
}

static int lowest_free(unsigned from)
{
	for (unsigned word = from / 64; word < DESCRIPTORS / 64; word++) {
		uint64_t open = ~taken[word];
		if (word == from / 64)
			open &= ~0ull << (from % 64);
		if (open)
			return (int)(word * 64) + __builtin_ctzll(open);
	}
	return -EMFILE;
}

static void put_at(int fd, struct file *file)
{
	require((unsigned)fd < DESCRIPTORS && !table[fd] && !(taken[fd / 64] >> (fd % 64) & 1));
	table[fd] = file;
	taken[fd / 64] |= 1ull << (fd % 64);
#ifdef LAYER_FAMILY
	closes[fd / 64] &= ~(1ull << (fd % 64));
#endif
}

static void clear_at(int fd)
{
	struct file *file = table[fd];

	require(file && taken[fd / 64] >> (fd % 64) & 1);
	table[fd] = 0;
	taken[fd / 64] &= ~(1ull << (fd % 64));
#ifdef LAYER_FAMILY
	family_locks_closed(file);
#endif
	file_put(file);
}

int descriptor_open(struct file *file, int lowest)
{
	require(lowest >= 0 && file->references);
	int fd = lowest_free((unsigned)lowest);

	if (fd < 0)
		file_put(file);
	else
		put_at(fd, file);
	return fd;
}

#ifdef LAYER_FAMILY
int descriptor_inherited(int from)
{
	for (int fd = from; fd < DESCRIPTORS;) {
		const uint64_t word = (taken[fd / 64] & ~closes[fd / 64]) >> fd % 64;

		if (word)
			return fd + __builtin_ctzll(word);
		fd = (fd / 64 + 1) * 64;
	}
	return -1;
}

static long set_close(int fd, bool close)
{
	if (!descriptor_file(fd))
		return -EBADF;
	const uint64_t bit = 1ull << fd % 64;
	closes[fd / 64] = close ? closes[fd / 64] | bit : closes[fd / 64] & ~bit;
	return 0;
}

static long get_close(int fd) { return closes[fd / 64] >> fd % 64 & 1 ? FD_CLOEXEC : 0; }

/* Returns the flags of a call that makes one descriptor and may be given O_CLOEXEC; else 0. */
static long flags_of(long number, const long *a)
{
	switch (number) {
	case SYS_open:
		return a[1];
	case SYS_openat: case SYS_dup3:
		return a[2];
	case SYS_accept4:
		return a[3];
	case SYS_socket: case SYS_eventfd2:
		return a[1];
	case SYS_epoll_create1:
		return a[0];
	case SYS_fcntl:
		return a[1] == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0;
	default:
		return 0;
	}
}

_Static_assert(SOCK_CLOEXEC == O_CLOEXEC && EPOLL_CLOEXEC == O_CLOEXEC, "all have one flag");

void descriptor_made(long number, const long *a, long result)
{
	require(layer_is_locked());
	if (result < 0)
		return;
	if (flags_of(number, a) & O_CLOEXEC)
		set_close((int)result, true);
	const int *pair = number == SYS_pipe2 && a[1] & O_CLOEXEC ? (const int *)a[0]
	                  : number == SYS_socketpair && a[1] & SOCK_CLOEXEC ? (const int *)a[3] : 0;
	for (int i = 0; pair && i < 2; i++)
		set_close(pair[i], true);
}

/* Calls of the parent's other threads hold files. They are not made here, so that none of them would give its file up:
 * descriptors alone count. */
void descriptors_forked(void)
{
	family_streams_uncount();
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (table[fd])
			table[fd]->references = 0;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (table[fd])
			table[fd]->references++;
	family_streams_close();
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (table[fd])
			socket_forked(table[fd]);
}
#endif

long sys_close(const long *a)
{
	if (!descriptor_file((int)a[0]))
		return -EBADF;
	clear_at((int)a[0]);
	return 0;
}

long sys_dup(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	return file ? descriptor_open(file_hold(file), 0) : -EBADF;
}

static long duplicate_to(int from, int to)
{
	struct file *file = descriptor_file(from);

	if (!file || (unsigned)to >= DESCRIPTORS)
		return -EBADF;
	file_hold(file);
	if (table[to])
		clear_at(to);
	put_at(to, file);
	return to;
}

long sys_dup2(const long *a)
{
	if (a[0] == a[1])
		return descriptor_file((int)a[0]) ? a[0] : -EBADF;
	return duplicate_to((int)a[0], (int)a[1]);
}

long sys_dup3(const long *a)
{
	return a[0] == a[1] ? -EINVAL : duplicate_to((int)a[0], (int)a[1]);
}

#ifdef LAYER_FAMILY
static void flags_get(struct file *file) { volume_flags_get(file); }
static void flags_set(struct file *file) { volume_flags_set(file); }
static bool is_locked_for_others(const struct file *file) { return volume_shared_file(file); }
#else
static void flags_get(struct file *file) { (void)file; }
static void flags_set(struct file *file) { (void)file; }
static bool is_locked_for_others(const struct file *file) { return (void)file, false; }
static long family_range_lock(struct file *file, int command, struct flock *lock)
{
	return (void)file, (void)command, (void)lock, 0;
}
static long family_flock(struct file *file, int operation) { return (void)file, (void)operation, 0; }
#endif

/* Where there is one process, its locks never conflict. */
static long range_lock(struct file *file, int command, struct flock *lock)
{
	if (is_locked_for_others(file))
		return family_range_lock(file, command, lock);
	if (command == F_GETLK)
		lock->l_type = F_UNLCK;
	return 0;
}

long sys_fcntl(const long *a)
{
	const uint32_t changeable = O_APPEND | O_NONBLOCK;
	struct file *file = descriptor_file((int)a[0]);

	if (!file)
		return -EBADF;
	switch (a[1]) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		if (a[2] < 0 || a[2] >= DESCRIPTORS)
			return -EINVAL;
		return descriptor_open(file_hold(file), (int)a[2]);
#ifdef LAYER_FAMILY
	case F_GETFD:
		return get_close((int)a[0]);
	case F_SETFD:
		return set_close((int)a[0], a[2] & FD_CLOEXEC);
#else
	case F_GETFD:
	case F_SETFD:
		return 0;
#endif
	case F_GETFL:
		flags_get(file);
		return file->flags;
	case F_SETFL:
		file->flags = (file->flags & ~changeable) | ((uint32_t)a[2] & changeable);
		flags_set(file);
		return 0;
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
		return range_lock(file, (int)a[1], (struct flock *)a[2]);
	default:
		return -EINVAL;
	}
}

long sys_flock(const long *a)
{
	struct file *file = descriptor_file((int)a[0]);

	return !file ? -EBADF : is_locked_for_others(file) ? family_flock(file, (int)a[1]) : 0;
}
