/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the layer share. posix.h has what the socket layer may
 * use as well; platform.h is what differs between Skerry and the host.
 */
#pragma once

#include <skerry/posix.h>
#include <stdarg.h>
#include <time.h>

enum { PAGE = 4096, THREADS_MAX = 4 /* as many as there are IPC buffers */ };

/* lock.c: one lock for the layer. All threads of a program share one core and
 * one priority, so that who finds it taken yields to its holder. */
void layer_lock(void);
void layer_unlock(void);

/* memory.c: the process's heap, in pages. Pages come zeroed. */
void memory_start(void);
void *heap_map(size_t pages); /* null when there is no room */
void heap_unmap(void *address, size_t pages);
void heap_usage(size_t *total_pages, size_t *used_pages);

/* thread.c */
struct thread {
	int tid;                /* 0: this place is free */
	unsigned index;         /* its TCB, notification and IPC buffer at the platform */
	uintptr_t tls;          /* what %fs:0 reads in this thread */
	int *clear_tid;         /* zeroed and woken when the thread ends */
	const uint32_t *futex;  /* what it waits for, null when woken */
	uint64_t futex_order;   /* who waits longest is woken first */
	bool event_waiter;      /* sleeps in event_wait() on its own notification */
};
extern struct thread threads[THREADS_MAX];
struct thread *thread_self(void);
/* Give up the lock until the thread is signalled or `deadline` (TSC, 0: none) passes; may also return early. */
void thread_sleep(struct thread *, uint64_t deadline);
void thread_signal(struct thread *);

/* futex.c */
int futex_wake(const uint32_t *address, int count);

/* event.c: sleeping until some file's readiness changes; event_wait() is in posix.h. */
void event_notify(void); /* wake all who sleep in event_wait() */

/* clock.c: deadlines in TSC cycles; never 0. */
uint64_t deadline_after(uint64_t nanoseconds);
uint64_t deadline_after_timespec(const struct timespec *); /* null: 0, none */
uint64_t clock_nanoseconds(void);
bool timespec_valid(const struct timespec *);

/* descriptor.c: the table of open files. */
struct file *descriptor_file(int fd);                    /* borrowed; null if not open */
int descriptor_open(struct file *, int lowest);          /* takes over the reference; frees it on failure */
int descriptor_count_max(void);
long sys_close(const long *a);                           /* the system call: a[0] is the descriptor */

/* file.c: what blocks. DONT_WAIT as if the file were O_NONBLOCK. */
ssize_t file_readv(struct file *, const struct iovec *, int count, bool dont_wait);
ssize_t file_writev(struct file *, const struct iovec *, int count, bool dont_wait);
/* Wait until any of `events` holds. `since` is when waiting began (TSC), timeout in nanoseconds, 0: none. */
int file_wait(struct file *, uint32_t events, uint64_t deadline);

/* epoll.c */
void watch_changed(struct watch *, uint32_t ready, uint32_t fresh);
void watch_drop_all(struct file *);

/* ramfs.c, device.c, proc.c, console.c: each returns 0 and a file, or an error. */
int ramfs_open(const char *path, int flags, unsigned mode, struct file **);
int device_open(const char *path, int flags, struct file **); /* -ENOENT: neither a device nor in /proc */
int proc_open(const char *path, int flags, struct file **);
struct file *console_file(uint32_t flags);
void console_write(const char *text, size_t size);

/* format.c: %s %d %u %x %c, with l for 64-bit; cut at `room`, no zero at the end. Returns the length. */
size_t format_text(char *to, size_t room, const char *format, va_list);

/* Files whose readiness never changes. */
enum { ALWAYS_READY = 0x5 }; /* EPOLLIN | EPOLLOUT */
