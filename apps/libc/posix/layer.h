/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the files of the layer. posix.h is for the socket layer as well; platform.h has the differences between
 * Skerry and the host.
 */
#pragma once

#include <skerry/posix.h>
#include <skerry/format.h>
#include <skerry/page_rights.h>
#include <skerry/process.h>
#include <skerry/require.h>
#include <stdatomic.h>
#include <time.h>
#include "lock.h"

enum { PAGE = 4096, THREADS_MAX = PROCESS_THREADS };

/*
 * lock.c: one lock for the layer. There are two forms of the layer. In the form for one core all threads share that
 * core at one priority, so that a thread that finds the lock taken yields to its holder. In the form for several
 * (LAYER_CORES) it spins, then sleeps (lock.h).
 */
#ifdef LAYER_CORES
extern struct lock layer_mutex;
static inline bool layer_is_locked(void) { return lock_is_held(&layer_mutex); }
#else
extern _Atomic int layer_held;
static inline bool layer_is_locked(void) { return atomic_load_explicit(&layer_held, memory_order_relaxed); }
#endif
void layer_lock(void);
void layer_unlock(void);

void malloc_start(void); /* before the first malloc() */

/* memory.c: the process's heap, in pages. */
void memory_start(void);
void *heap_map(size_t pages);      /* zeroed; null when there is no room */
void *heap_map_used(size_t pages); /* the same, but may hold what an earlier user of the pages left */
void heap_zero(void *address, size_t pages); /* of what it has mapped; pages that nobody has touched stay so */
void heap_unmap(void *address, size_t pages);
void heap_usage(size_t *total_pages, size_t *used_pages);
bool memory_is_mapped(uintptr_t address, size_t size); /* all of these pages, by mmap() or brk() */
bool memory_in_break(uintptr_t address);               /* of the pages that brk() has given */
bool memory_in_files(uintptr_t address, size_t size);  /* of the deployment's files, which nobody changes */

/* protect.c: pages of heap and stack that may not be both read and written. */
extern struct page_rights protected_pages;
long protection_rights(long prot); /* RIGHT_* for PROT_*, or an error */
long protection_set(uintptr_t address, size_t pages, unsigned rights); /* 0 or an error; some of it may be done then */
unsigned protection_of(uintptr_t address);
bool memory_in_stack(uintptr_t address, size_t size); /* the first thread's */
/* the program's, which the manager has mapped and nobody may change */
bool memory_in_image(uintptr_t address, size_t size);
/* Returns whether any page of a range is one that the manager has mapped for good: of image, stack or deployment's
 * files. */
bool memory_is_fixed(uintptr_t address, size_t size);
/* they can be read and written; false: no room for that */
static inline bool protection_drop(uintptr_t address, size_t pages)
{
	return !protected_pages.count || !protection_set(address, pages, PAGE_RIGHTS_DEFAULT);
}

/* ramfs-map.c: shared mappings of files that can be written. The address, or an error; any of these pages; 0 or an
 * error. */
long ramfs_map(struct file *, size_t offset, size_t size);
bool ramfs_map_overlaps(uintptr_t address, size_t size);
long ramfs_unmap(uintptr_t address, size_t size);

/* resident.c: pages of mappings that have not been touched, by number in the heap. `unseen`: a bit for each, all
 * clear. */
void resident_start(uintptr_t heap, uint64_t *unseen, size_t pages);
void resident_unseen(size_t first, size_t count); /* they are zero, and somebody has them now */
void resident_gone(size_t first, size_t count);   /* nobody has them any more */
/* how many pages nobody has touched, of the first thread's stack too */
size_t resident_untouched(void);

/* thread.c */
struct thread {
#ifdef LAYER_CORES
	_Alignas(64)            /* threads of several cores share no cache line */
#endif
	int tid;                /* 0: this place is free */
	unsigned index;         /* its TCB, notification and IPC buffer at the platform */
	uintptr_t tls;          /* what %fs:0 reads in this thread */
	int *clear_tid;         /* zeroed and woken when the thread ends */
	void *robust_list;      /* its robust mutexes, as it has said; musl walks the list itself */
#ifdef LAYER_CORES
	struct thread *futex_next;      /* behind it in its bucket's queue, which the bucket's lock protects */
	const uint32_t *_Atomic futex;  /* what it waits for, null when woken; written under the bucket's lock */
#else
	const uint32_t *futex;  /* what it waits for, null when woken */
	uint64_t futex_order;   /* the longest waiter is woken first */
#endif
	bool event_waiter;      /* sleeps in event_wait() on its own notification */
	/* in a cancellation point: becomes nonzero when the thread is cancelled; else null */
	const volatile int *cancel;
};
/*
 * thread_self() looks for its place without the lock, while threads on other cores begin and end: `tid` and `tls` of
 * places, and thread_places, are read and written by these where that may be. Relaxed: a thread's own place was written
 * before it began, and no other place has its TLS.
 */
#ifdef LAYER_CORES
#define UNLOCKED_READ(field)       __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define UNLOCKED_WRITE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELAXED)
#else
#define UNLOCKED_READ(field)       (field)
#define UNLOCKED_WRITE(field, value) ((field) = (value))
#endif
extern struct thread threads[THREADS_MAX];
extern unsigned thread_places; /* of the table that have been used: all others are free */
struct thread *thread_self(void);
/* When the first thread's TLS exists: whether this is it. */
static inline bool thread_is_first(void)
{
	uintptr_t tls;

	__asm__("mov %%fs:0, %0" : "=r"(tls));
	return tls == threads[0].tls;
}
/* Makes a thread that never ends. `tls`: what is there has its own address in its first word. Returns its number or an
 * error. With the lock. */
int thread_create_own(int (*function)(void *), void *stack, void *tls);
#ifdef LAYER_CORES
void thread_leave(unsigned index); /* for platform_thread_end(), when it has left the thread's stack */
#endif
/* Give up the lock until the thread is signalled or `deadline` (TSC, 0: none) passes; may also return early. */
void thread_sleep(struct thread *, uint64_t deadline);
void thread_signal(struct thread *);

/*
 * cores.c: on which cores the threads of a program of several are; there are none of these in the form for one. Cores
 * are numbered as in process_info.cores. The caller holds the layer's lock.
 */
#ifdef LAYER_CORES
/* Chooses the core on which a new thread starts, among those of its parent's affinity. */
void cores_choose(const struct thread *, const struct thread *parent);
unsigned core_of_thread(unsigned index);
#else
static inline void cores_choose(const struct thread *t, const struct thread *parent) { (void)t, (void)parent; }
#endif

/* cancel.c. A cancelled thread that sleeps in a cancellation point gives up with -EINTR; musl ends it then. */
bool thread_cancelled(const struct thread *);
/* event_wait() in a cancellation point: 0: look again; -EAGAIN: `deadline` has passed; -EINTR: give up. */
int event_sleep(uint64_t deadline);
/* Where musl keeps `cancel`, from what %fs:0 reads (musl-assembly.c writes it); 0 until a thread has been in a
 * cancellation point. */
extern intptr_t cancel_offset;

/* Wakes the thread wherever it sleeps: it looks again whether it has been cancelled. 0 or -ESRCH. */
long thread_interrupt(int tid);

/* signal.c, signal-queue.c */
/* Sends the calling thread, which does not hold the lock, SIGPIPE where a write has answered -EPIPE, unless its `flags`
 * have MSG_NOSIGNAL. Returns the answer. */
#ifdef LAYER_FAMILY
long written(long answer, int flags);
#else
#define written(answer, flags) (answer)
#endif
void signal_thread_start(const struct thread *, const struct thread *parent);
void signal_thread_end(const struct thread *);

/* not-provided.c: -ENOSYS; the first time the console names the call. */
long call_not_provided(unsigned long number);

/* futex.c; in the form for several cores futex-buckets.c, which needs no lock of the layer's */
int futex_wake(const uint32_t *address, int count);
#ifdef LAYER_CORES
int futex_wait(const uint32_t *address, uint32_t expected, uint64_t deadline);
int futex_wake_by(const struct thread *self, const uint32_t *address, int count); /* futex_wake() without its TLS */
/*
 * Wakes up to `wake` threads that wait at `from`, then lets up to `move` others wait at `to`. Returns how many these
 * are together, or -EAGAIN: `expected` is not null, and the word at `from` is another.
 */
int futex_requeue(const uint32_t *from, const uint32_t *to, int wake, int move, const uint32_t *expected);
#endif

/* event.c: sleeping until some file's readiness changes; event_wait() and event_notify() are in posix.h. */
/* Runs the network, and looks at what other processes did (LAYER_FAMILY). Returns whether anything happened. */
#ifdef LAYER_FAMILY
bool event_poll(void);
#else
#define event_poll() net_poll()
#endif
const struct thread *event_poller(void); /* the thread that sleeps until the network or a file changes; null: none */
/* After a system call that may have run the network: the poller, if one sleeps, wakes in time for what is due. */
void event_settle(void);
/* Before a thread sleeps elsewhere or ends: what it wrote is sent, and the poller sees to the rest. */
void event_leave(void);
#ifdef LAYER_CORES
extern _Atomic bool event_has_sockets; /* the program has made a socket: threads may leave something to be sent */
/* event_leave() for a thread that does not hold the lock; takes it only where there may be something to do. */
void event_leave_unlocked(void);
static inline void event_socket_made(void)
{
	atomic_store_explicit(&event_has_sockets, true, memory_order_relaxed);
}
#else
static inline void event_socket_made(void) {}
#endif

/* clock.c: deadlines in TSC cycles; never 0. */
uint64_t deadline_after(uint64_t nanoseconds);
/* Up to half a millisecond later, so that waits that end at much the same time have the same deadline (timer.h in the
 * kernel). */
uint64_t deadline_after_milliseconds(uint64_t milliseconds);
uint64_t deadline_after_timespec(const struct timespec *); /* null: 0, none */
void clock_start(void); /* before any clock is read */
uint64_t clock_nanoseconds(void);
bool timespec_valid(const struct timespec *);
int64_t timespec_nanoseconds(const struct timespec *); /* of a valid one; INT64_MAX, in 292 years, is the last */

/* descriptor.c: the table of open files. */
struct file *descriptor_file(int fd);                    /* borrowed; null if not open */
int descriptor_open(struct file *, int lowest);          /* takes over the reference; frees it on failure */
int descriptor_count_max(void);
long sys_close(const long *a);                           /* the system call: a[0] is the descriptor */

/* Opens both files or neither, and takes over both references. Returns 0 or an error. */
static inline int descriptors_open(struct file *first, struct file *second, int fds[2])
{
	const int lower = descriptor_open(first, 0);

	if (lower < 0) {
		file_put(second);
		return lower;
	}
	const int upper = descriptor_open(second, 0);
	if (upper < 0) {
		sys_close((const long[]){ lower });
		return upper;
	}
	fds[0] = lower;
	fds[1] = upper;
	return 0;
}

/* socket.c: ioctl() of sockets that have none of their own. */
long socket_ioctl(struct file *, unsigned long request, void *argument);

/* file.c: what blocks. DONT_WAIT as if the file were O_NONBLOCK. */
ssize_t file_readv(struct file *, const struct iovec *, int count, bool dont_wait);
ssize_t file_writev(struct file *, const struct iovec *, int count, bool dont_wait);
/* Wait until any of `events` holds: 0, -EAGAIN when `deadline` (TSC, 0: none) has passed, or -EINTR (event_sleep). */
int file_wait(struct file *, uint32_t events, uint64_t deadline);
/* Returns whether an operation that answered `*result` is to be made again, now that `events` hold; else `*result` is
 * final. */
bool file_again(struct file *, uint32_t events, uint64_t deadline, ssize_t *result);

/* epoll.c */
void watch_changed(struct watch *, uint32_t edges, uint32_t fresh);
void watch_drop_all(struct file *);

/* device.c, proc.c: special files by number, devices from 1 on and what is in /proc behind them: path, or null, and
 * mode. */
const char *device_path(unsigned number, uint32_t *mode);
const char *proc_path(unsigned number);
/* Each returns 0 and a file, or an error. */
int device_open(unsigned number, int flags, struct file **);
int proc_open(unsigned number, int flags, struct file **);
struct file *console_file(uint32_t flags);
void console_write(const char *text, size_t size);

/* user.c */
struct process_info;
void user_start(const struct process_info *);

/* Files whose readiness never changes. */
enum { ALWAYS_READY = 0x5 }; /* EPOLLIN | EPOLLOUT */
