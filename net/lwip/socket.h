/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP sockets over lwIP's raw API. Everything runs under the POSIX layer's
 * lock; lwIP calls back only from within net_poll() and the operations here.
 *
 *     NEW ──listen──► LISTENING           accept ──► CONNECTED
 *     NEW ──connect─► CONNECTING ──► CONNECTED ──► FAILED
 *
 * `pcb` is null once lwIP no longer tells about the connection: it was reset or
 * refused (FAILED), or both sides have closed it (CONNECTED), when lwIP
 * finishes it alone.
 */
#pragma once

#include <skerry/posix.h>
#include <lwip/tcp.h>
#include "../net.h"

enum socket_state { SOCKET_NEW, SOCKET_LISTENING, SOCKET_CONNECTING, SOCKET_CONNECTED, SOCKET_FAILED };

/* Options that a connection inherits from its listener, as on Linux; it may have others later. */
struct socket_options {
	bool no_delay;
	uint32_t keep_idle, keep_interval; /* ms */
	uint32_t keep_count;
	uint32_t user_timeout; /* ms; 0: none */
	struct linger linger;
};

struct socket {
	struct file file; /* first: operations get this */
	struct tcp_pcb *pcb;
	/* in place of `pcb`, where both sides have shut and the peer has not taken all: share.h */
	struct tcp_pcb *ending;
	enum socket_state state;
	int error;           /* positive, for SO_ERROR and the next read or write */
	bool peer_closed;
	bool read_shut;
	bool write_shut;
	bool starved;        /* lwIP had no memory for a write: wait until something is sent, or a while */
	bool unsent;         /* in the list of stream_flush() */
	bool connect_told;   /* connect() has answered 0 */
	bool backlog_held;   /* this connection still counts for its listener in lwIP */
	struct socket_options options;
	uint32_t acknowledged, waits_since; /* for user_timeout: sequence number; of tcp_ticks */
	struct socket_address local, remote;

	/* received data: pbufs chained by `next`, from `offset` of the first */
	struct pbuf *first, *last;
	uint32_t offset;
	bool collects;       /* `last` has room for small segments: stream.c */
	size_t unread;       /* bytes */
	size_t credit;       /* these and the window: share.h */
	struct socket *next_unsent;

	/* a listener's connections that were not accepted yet */
	struct socket *queue_first, *queue_last, *queue_next;
	unsigned queued, backlog;
};

/* Some socket's file has become ready for something since this was last put to false. */
extern bool socket_readiness_changed;

static inline struct socket *socket_of(struct file *file) { return (struct socket *)file; }

/* Returns a socket of this pcb, without callbacks yet (stream_attach()). Null without memory. */
struct socket *socket_make(const struct file_operations *, struct tcp_pcb *pcb);
/* Detaches the pcb: lwIP no longer calls back, and finishes the connection by itself. */
void socket_detach(struct socket *socket);
void socket_free(struct socket *socket);
void socket_drop_first(struct socket *socket); /* the first pbuf of received data, which there is */
void socket_discard(struct socket *socket);    /* received data that will not be read */
#define SOCKET_ALL UINT32_MAX

/* Reports to the POSIX layer what the socket is ready for now. */
void socket_update(struct socket *socket);

/* The same where more has come of the events `again`, or of all that it is ready for (SOCKET_ALL): a connection, an
 * end. */
void socket_update_again(struct socket *socket, uint32_t again);

/* The same where data has come; where all data has been read; where only the room to write can have changed since. */
void socket_update_received(struct socket *socket);
void socket_update_drained(struct socket *socket);
void socket_update_writable(struct socket *socket);
/* Takes the pending error: 0 or negative. */
int socket_take_error(struct socket *socket);
int socket_error_of(err_t error); /* negative errno */

/* operations.c: a new socket with a pcb, or null without memory */
struct socket *socket_new(void);

/* unsent.c: Appends the socket, if it is not in the list; removes it, if it is; removes and returns the first, or
 * null. */
void unsent_put(struct socket *socket);
void unsent_remove(struct socket *socket);
struct socket *unsent_take(void);

/* stream.c, read.c: the data of a connection */
ssize_t stream_read(struct file *file, void *buffer, size_t size);
ssize_t stream_write(struct file *file, const void *buffer, size_t size);
ssize_t stream_send(struct file *file, const struct msghdr *message, int flags);
ssize_t stream_receive(struct file *file, struct msghdr *message, int flags);
int stream_shutdown(struct file *file, int how);
void stream_attach(struct socket *socket);  /* data callbacks of a connection */
void stream_flush(void);                    /* send what was written since the last time */
/* ms: how long its peer may take nothing when the socket is closed; TCP_USER_TIMEOUT goes on, up to BUDGET_TIMEOUT. */
uint32_t stream_timeout(struct socket *socket, const struct tcp_pcb *pcb);

/* listen.c: connections */
int socket_bind(struct file *file, const struct sockaddr *address, socklen_t length);
int socket_listen(struct file *file, int backlog);
int socket_accept(struct file *file, struct file **out, struct sockaddr *address, socklen_t *length);
int socket_connect(struct file *file, const struct sockaddr *address, socklen_t length);
int socket_getsockname(struct file *file, struct sockaddr *address, socklen_t *length);
int socket_getpeername(struct file *file, struct sockaddr *address, socklen_t *length);
void socket_drop_queue(struct socket *socket);

/* datagram.c: a new UDP socket; 0 or a negative errno */
int datagram_open(struct file **out);

/* option.c */
void socket_options_init(struct socket *socket);
/* Gives the listener's options to a connection. */
void socket_options_inherit(struct socket *connection, const struct socket *listener);
int socket_setsockopt(struct file *file, int level, int option, const void *value, socklen_t size);
int socket_getsockopt(struct file *file, int level, int option, void *value, socklen_t *size);
