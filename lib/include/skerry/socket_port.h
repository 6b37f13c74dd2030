/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket protocol: a program and the stack process that runs lwIP for it,
 * over memory that both have mapped. All zero is a valid port.
 *
 *     0                           struct socket_port_header
 *     SOCKET_PORT_RINGS           ring  program -> stack (SOCKET_PORT_SLOTS slots of struct socket_request)
 *       + SOCKET_PORT_RING_SIZE   ring  stack -> program (struct socket_event)
 *     SOCKET_PORT_BUFFERS         for each socket number: a buffer of what the program writes, one of what it reads
 *
 * A connection's bytes lie in its two buffers, which are rings themselves;
 * messages carry positions in them, never bytes. A position counts all bytes
 * since the socket was opened, modulo 2^32. The producer of a buffer never
 * runs ahead of its consumer by more than the buffer: nothing is lost, and a
 * full buffer is the producer's to wait for. In the stack, a program that does
 * not read closes TCP's window.
 *
 * What changes by itself, positions and states, is told as an UPDATE, which
 * says all there is to say of a socket, so that many changes are one message.
 * The rest are calls of the program, of which there is one at a time; each has
 * its ANSWER. Requests take effect in order.
 *
 * The program numbers its sockets. A number that it has closed is its own
 * again when the stack has said SOCKET_CLOSED of it, which is after all that
 * was written is with the peer's TCP or cannot be.
 *
 * Neither side trusts the other: numbers and positions are checked, and one
 * that is wrong ends the connection between the two.
 */
#pragma once

#include <stdint.h>
#include <skerry/ring.h>
#include <skerry/socket_address.h>

enum {
	SOCKET_PORT_SLOTS = 256,
	SOCKET_PORT_RINGS = 0x1000,
	SOCKET_PORT_RING_SIZE = 0x5000,
	SOCKET_PORT_HEAD = 0x10000,       /* header and rings: frames of 4 KiB */
	SOCKET_PORT_SOCKETS = 1024,
	SOCKET_PORT_BUFFER = 8192,        /* a power of two */
	SOCKET_PORT_BUFFERS = 0x200000,   /* frames of 2 MiB from here on */
	SOCKET_PORT_BUFFERS_SIZE = SOCKET_PORT_SOCKETS * 2 * SOCKET_PORT_BUFFER,
	SOCKET_PORT_SIZE = SOCKET_PORT_BUFFERS + SOCKET_PORT_BUFFERS_SIZE,
};
_Static_assert(sizeof(struct ring) + SOCKET_PORT_SLOTS * RING_SLOT <= SOCKET_PORT_RING_SIZE, "the ring fits");
_Static_assert(SOCKET_PORT_RINGS + 2 * SOCKET_PORT_RING_SIZE <= SOCKET_PORT_HEAD, "the head fits");
_Static_assert(SOCKET_PORT_BUFFERS_SIZE % 0x200000 == 0, "whole frames");

enum socket_side { SOCKET_SIDE_PROGRAM = 0, SOCKET_SIDE_STACK = 1 };

/* gone[side]: the manager writes 1 when that side has ended, and wakes the other. */
struct socket_port_header {
	_Alignas(64) _Atomic uint32_t gone[2];
};

/* The buffer that this side fills. */
static inline char *socket_port_buffer(void *port, unsigned socket, enum socket_side producer)
{
	return (char *)port + SOCKET_PORT_BUFFERS + ((uint64_t)socket * 2 + producer) * SOCKET_PORT_BUFFER;
}
/* The ring that this side fills. */
static inline void *socket_port_ring(void *port, enum socket_side producer)
{
	return (char *)port + SOCKET_PORT_RINGS + (uint64_t)producer * SOCKET_PORT_RING_SIZE;
}

enum socket_request_kind {
	SOCKET_UPDATE = 1, /* `flags`; not answered */
	SOCKET_OPEN,       /* the calls: `socket` is open from here on */
	SOCKET_BIND,       /* address */
	SOCKET_LISTEN,     /* value: backlog */
	SOCKET_ACCEPT,     /* from listener `value`, to be known as `socket`; answered with both addresses */
	SOCKET_CONNECT,    /* address; answered -EINPROGRESS and its own, later an update says how it went */
	SOCKET_SET_OPTION, /* level, option, size, data */
	SOCKET_GET_OPTION, /* level, option, size */
};

/* Flags of a program's update. What it has written up to `written` comes first. */
enum {
	SOCKET_SHUT_WRITE = 1,
	SOCKET_CLOSE = 2,
	SOCKET_UNREAD = 4, /* with SOCKET_CLOSE: it left bytes unread, so that the peer shall see a reset */
};

enum { SOCKET_OPTION_BYTES = 16 };

struct socket_request {
	uint16_t kind;
	uint16_t socket;
	uint32_t flags;
	uint32_t written;  /* position: bytes that the program has put into its buffer */
	uint32_t read;     /* position: bytes that it has taken from the other */
	int32_t value;
	int32_t level, option;
	uint32_t size;
	union {
		struct socket_address address;
		uint8_t data[SOCKET_OPTION_BYTES];
	};
};

enum socket_event_kind { SOCKET_CHANGED = 1, SOCKET_ANSWER };

/* Flags of a stack's update */
enum {
	SOCKET_CONNECTED = 1,
	SOCKET_ENDED = 2,      /* the peer sends no more; `arrived` is all there was */
	SOCKET_BROKEN = 4,     /* reset, refused or timed out: value is the error (negative), or 0 */
	SOCKET_ACCEPTABLE = 8, /* a listener: a connection waits */
	SOCKET_CLOSED = 16,    /* the number is free; the last message about it */
};

struct socket_event {
	uint16_t kind;
	uint16_t socket;
	uint32_t flags;
	uint32_t taken;    /* position: bytes that the stack has taken from the program's buffer */
	uint32_t arrived;  /* position: bytes that it has put into the other */
	/* of a call: 0 or a negative errno; of a listener: another number where connections have come */
	int32_t value;
	uint32_t size;
	union {
		struct {
			struct socket_address local, remote;
		};
		uint8_t data[SOCKET_OPTION_BYTES];
	};
};
_Static_assert(sizeof(struct socket_request) <= RING_PAYLOAD, "a slot");
_Static_assert(sizeof(struct socket_event) <= RING_PAYLOAD, "a slot");
