/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the POSIX layer under musl: files, readiness, sleeping, and the
 * seam to the socket layer (net/lwip), which is linked into the same program.
 *
 * Locking: one lock protects the whole layer. Every operation and every net_*
 * function below is called with it held, so none of them runs twice at a time.
 * Whoever sleeps does it through the layer (event_wait), which drops the lock.
 *
 * Nothing in here may use errno, thread-local storage, malloc or stdio: system
 * calls arrive before thread-local storage exists and from inside malloc.
 * memcpy, memset, memcmp, strlen and the like are fine. Errors are negative
 * errno numbers everywhere.
 *
 * Operations never block. What would have to wait returns -EAGAIN (connect:
 * -EINPROGRESS); the layer waits for readiness and calls again, with the
 * timeouts of SO_RCVTIMEO and SO_SNDTIMEO, unless the file is O_NONBLOCK.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

struct file;
struct watch;

/* An absent operation answers -EINVAL (-ENOTSOCK for those of sockets). */
struct file_operations {
	const char *name; /* for error messages */
	bool has_messages; /* a socket of datagrams: each read and write is one, whole */
	/* bytes that a write takes at once, and nobody waits to write the rest; 0: there is no such limit */
	uint16_t write_most;

	ssize_t (*read)(struct file *, void *buffer, size_t size); /* 0: end of file */
	ssize_t (*write)(struct file *, const void *buffer, size_t size); /* may take less than asked */
	ssize_t (*writev)(struct file *, const struct iovec *, int count); /* optional: read/write one by one */
	off_t (*seek)(struct file *, off_t offset, int whence);
	int (*stat)(struct file *, struct stat *); /* the struct is zeroed before */
	int (*truncate)(struct file *, off_t size);
	ssize_t (*entries)(struct file *, void *buffer, size_t size); /* getdents64 */
	/* True: the content never changes; *at is where `size` bytes from a page on are, or null where they are in no
	 * pages. */
	bool (*map)(struct file *, off_t offset, size_t size, const void **at);
	int (*ioctl)(struct file *, unsigned long request, void *argument); /* FIONBIO is the layer's */
	void (*close)(struct file *); /* the last reference is gone; frees the file */

	/* Sockets. Addresses come with their true length; O_NONBLOCK, FD_CLOEXEC,
	 * descriptors, SO_RCVTIMEO and SO_SNDTIMEO are the layer's. */
	int (*bind)(struct file *, const struct sockaddr *, socklen_t);
	int (*listen)(struct file *, int backlog);
	int (*accept)(struct file *, struct file **out, struct sockaddr *, socklen_t *); /* address may be null */
	int (*connect)(struct file *, const struct sockaddr *, socklen_t); /* later SO_ERROR tells how it went */
	int (*getsockname)(struct file *, struct sockaddr *, socklen_t *);
	int (*getpeername)(struct file *, struct sockaddr *, socklen_t *);
	int (*setsockopt)(struct file *, int level, int option, const void *, socklen_t);
	int (*getsockopt)(struct file *, int level, int option, void *, socklen_t *);
	int (*shutdown)(struct file *, int how);
	/* With an address, control data, or flags beyond MSG_DONTWAIT | MSG_NOSIGNAL; else read and write serve. */
	ssize_t (*sendmsg)(struct file *, const struct msghdr *, int flags);
	ssize_t (*recvmsg)(struct file *, struct msghdr *, int flags);

	/* What was written is where it lasts; null: there is nothing to do. */
	int (*sync)(struct file *, bool data_only);
};

/* The first member of every kind of open file. */
struct file {
	const struct file_operations *ops;
	uint32_t references;
	uint32_t flags;            /* O_ACCMODE, O_APPEND, O_NONBLOCK */
	uint32_t ready;            /* EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR: what holds now */
	uint32_t number;           /* for the owner of on_ready */
	uint64_t receive_timeout;  /* nanoseconds, 0: none */
	uint64_t send_timeout;
	struct watch *watches;     /* the epolls that look at it */
	bool edge_triggered;       /* one of them does so, or did, with EPOLLET */
	/* null, or called when more is ready, or comes, of a file that is served to another process */
	void (*on_ready)(struct file *);
};

/* `file` is zeroed memory of a larger struct; one reference; nothing ready. */
void file_init(struct file *, const struct file_operations *, uint32_t flags);

/* Takes a reference, and returns the file. A thread that sleeps over a file holds it: close() may come meanwhile. */
struct file *file_hold(struct file *);
/* Gives a reference back; the last one closes the file. Caller does not use it afterwards. */
void file_put(struct file *);

/*
 * The file's readiness is now `ready`. Costs O(1) for each epoll that watches
 * it; wakes sleeping threads only when something is ready that was not.
 */
void file_ready_changed(struct file *, uint32_t ready);

/*
 * The same, where more has come of the events `again`, which the file may have been ready for before: data, a
 * connection, an end. Edge-triggered watchers of these are told, and on_ready is called, as for what is new; others are
 * not.
 */
void file_ready_again(struct file *, uint32_t ready, uint32_t again);

/* Returns a zeroed block, 16-byte aligned, or null. Whole pages come back to the process's heap when freed. */
void *layer_allocate(size_t size);
/* Gives a block of layer_allocate() back; null is allowed. */
void layer_free(void *);

/* Milliseconds and cycles of the time-stamp counter. */
uint64_t clock_cycles(void);
uint64_t clock_cycles_per_second(void);
uint64_t clock_milliseconds(void); /* since the machine started */

/*
 * Sleep until something may have happened: true, look again. False: `deadline`
 * (TSC, 0: none) has passed. Polls the network first; the lock is free meanwhile.
 */
bool event_wait(uint64_t deadline);

/* Wake all other threads that sleep in event_wait(): something that one of them may wait for has happened. */
void event_notify(void);

/* Unpredictable bytes (from the seed that the cluster-manager gave). */
void random_bytes(void *, size_t);

/* A line on the console: %s %d %u %x %c, with l for 64-bit. */
void console_log(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct process_info;
/* Returns what the manager told this process when it started. */
const struct process_info *process_info(void);

/*
 * Provided by the socket layer; the layer has weak defaults for programs
 * linked without a net (no sockets, nothing to poll).
 */

/* A new socket; 0 or e.g. -EAFNOSUPPORT. `type` without SOCK_NONBLOCK and SOCK_CLOEXEC. */
int socket_create(int domain, int type, int protocol, struct file **out);

/* Take what the rings hold, run the timers that are due, send what waits. Did anything happen? */
bool net_poll(void);

/* TSC at which the next timer is due, 0 for none; the same at each call, until that timer is another one. */
uint64_t net_deadline(void);

/*
 * From here on the last signal that the network would send to another process is held back. Whoever calls this then
 * calls net_held_signal(), and either sleeps or signals: it returns the slot to signal, or 0, and ends the holding.
 */
void net_hold_signal(void);
uint64_t net_held_signal(void);

/*
 * While a signal is held back, those before it may take a pending signal of this thread's own PROCESS_SLOT_WAKE along.
 * Returns whether that has happened since the last call: what it told of is found by another net_poll() only.
 */
bool net_took_wake(void);

/*
 * Between a net_poll() that said no and the wait on PROCESS_SLOT_WAKE: arm the bell word (bell.h), and the flags of
 * rings from other clusters. False if work arrived meanwhile.
 */
bool net_prepare_sleep(void);
