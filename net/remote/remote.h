/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets of a stack process (socket_port.h), as the program sees them.
 *
 *     NEW ──listen──► LISTENING           accept ──► CONNECTED
 *     NEW ──connect─► CONNECTING ──► CONNECTED ──► FAILED
 *
 * Reading and writing are copies from and to shared memory; what changed is
 * told when the program polls or sleeps. Only what needs an answer waits for
 * one, asleep in event_wait().
 */
#pragma once

#include <skerry/posix.h>
#include <skerry/socket_port.h>
#include "../net.h"

enum remote_state { REMOTE_NEW, REMOTE_LISTENING, REMOTE_CONNECTING, REMOTE_CONNECTED, REMOTE_FAILED };

struct remote_socket {
	struct file file; /* first: operations get this */
	uint16_t number;
	enum remote_state state;
	int error;          /* positive, for SO_ERROR and the next read or write */
	bool acceptable;
	int32_t connections; /* a listener: as the stack has counted them */
	bool connect_told;  /* connect() has answered 0 */
	bool peer_closed;
	bool read_shut;
	bool write_shut;
	bool unread;        /* closed with bytes left, or to be reset */
	bool closing;       /* closed here; the stack has not finished with it */
	bool changed;       /* in the list of those to be reported to the stack */
	struct remote_socket *next_changed;
	struct socket_address local, remote;

	/* positions, as in socket_port.h */
	uint32_t written, taken;
	uint32_t arrived, read, read_told;
};

static inline struct remote_socket *remote_of(struct file *file) { return (struct remote_socket *)file; }

/* --- port.c: both rings --- */

/* The stack has ended, or it broke the protocol. */
bool remote_gone(void);
void *remote_buffer(const struct remote_socket *, enum socket_side producer);
/* Queues a report of the change; the next poll sends it to the stack. */
void remote_changed(struct remote_socket *);
/* Makes the next poll return true: a sleeper may have to be woken. */
void remote_happened(void);
/* Ask and wait. `request` has all but socket and positions; `answer` may be null. 0 or a negative errno. */
int remote_call(struct remote_socket *, struct socket_request *request, struct socket_event *answer);
/* Returns whether another socket has a number. Listeners become acceptable when there is one again. */
bool remote_has_room(void);
/* A socket with a number, or null. */
struct remote_socket *remote_new(void);
void remote_free(struct remote_socket *);

/* --- socket.c: states and connections --- */

#define REMOTE_ALL UINT32_MAX
void remote_update(struct remote_socket *); /* what it is ready for */
/* The same where more has come of the events `again`, or of all that it is ready for (REMOTE_ALL): data, a connection,
 * an end. */
void remote_update_again(struct remote_socket *, uint32_t again);
void remote_apply(struct remote_socket *, const struct socket_event *); /* an update by the stack, checked */
void remote_lost(struct remote_socket *);   /* there is no stack any more */
int remote_take_error(struct remote_socket *); /* the pending one: 0 or negative */
int remote_create(struct file **out);

/* --- stream.c: the data of a connection --- */

ssize_t remote_read(struct file *, void *buffer, size_t size);
ssize_t remote_write(struct file *, const void *buffer, size_t size);
ssize_t remote_send(struct file *, const struct msghdr *, int flags);
ssize_t remote_receive(struct file *, struct msghdr *, int flags);
int remote_shutdown(struct file *, int how);
bool remote_writable(const struct remote_socket *);
void remote_discard(struct remote_socket *); /* data that arrived and will not be read */
