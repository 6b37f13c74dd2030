/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include "fuzz.h"

enum { MOST = 300000, WRITTEN_MOST = 1 << 28, DATAGRAM = 0x33, PARTS = 5, MSS = MTU - 40 };

static uint8_t buffer[MOST];

void text(uint8_t *to, const struct connection *c, unsigned direction, uint64_t at, uint32_t size)
{
	const uint32_t key = (c->id * 2 + direction) * 0x9e3779b9u;

	for (uint32_t i = 0; i < size; i++) {
		const uint32_t x = (uint32_t)(at + i) * 2654435761u ^ key;

		to[i] = (x ^ x >> 13) >> 7 & 127;
	}
}

uint32_t text_differs(const uint8_t *bytes, const struct connection *c, unsigned direction, uint64_t at, uint32_t size)
{
	static uint8_t expected[MOST];

	text(expected, c, direction, at, size);
	if (!memcmp(bytes, expected, size))
		return size;
	for (uint32_t i = 0; i < size; i++)
		if (bytes[i] != expected[i] && !(c->loose && bytes[i] == WRITTEN))
			return i;
	return size;
}

static uint32_t size_of_call(void)
{
	switch (draw(10)) {
	case 0: return 1 + draw(100);
	case 1: return 505 + draw(16); /* around SENT_MIN */
	case 2: case 3: case 4: return 512 + draw(MSS + 1 - 512);
	case 5: return MSS - 20 + draw(40);
	case 6: return 2000 + draw(8000);
	case 7: return 1 + draw(MSS);
	case 8: return 1 + draw(65536);
	default: return once_in(20) ? 1 + draw(MOST) : 1;
	}
}

/* Writes several parts, the last one perhaps to be sent with what follows. */
static ssize_t write_parts(struct file *file, uint32_t size)
{
	struct iovec part[PARTS];
	struct msghdr message = { .msg_iov = part, .msg_iovlen = 1 + draw(PARTS) };
	uint32_t at = 0;

	for (unsigned i = 0; i < message.msg_iovlen; i++) {
		const uint32_t left = size - at;
		uint32_t length = left;

		if (i + 1 < message.msg_iovlen)
			length = draw(2) ? draw(left + 1) : left > 600 ? 512 + draw(80) : left;
		part[i] = (struct iovec){ buffer + at, length };
		at += length;
	}
	return file->ops->sendmsg(file, &message, draw(3) ? 0 : MSG_MORE);
}

/* Other connections than those of long writes are of one short write at a time, as of a program that asks and waits for
 * the answer. */
static uint32_t size_of_write(const struct connection *c, unsigned side)
{
	const struct end *end = &c->end[side], *peer = &c->end[!side];
	const uint32_t size = size_of_call();

	if (end->written > WRITTEN_MOST)
		return 0;
	if (c->id % run.bulk == 0)
		return size;
	if (peer->read != end->written && !peer->gone && draw(10))
		return 0;
	return size > MSS ? 512 + draw(MSS + 1 - 512) : size;
}

void end_write(struct connection *c, unsigned side)
{
	struct end *end = &c->end[side];
	const uint32_t size = size_of_write(c, side);
	const uint64_t before = end->written;
	ssize_t written;

	if (!size)
		return;
	text(buffer, c, side, before, size);
	written = draw(4) ? end->file->ops->write(end->file, buffer, size) : write_parts(end->file, size);
	memset(buffer, STALE, size); /* it is sent from elsewhere */
	trace(c, "end %u writes %u: %zd", side, size, written);
	if (written > (ssize_t)size)
		fail("%zd bytes of %u were written", written, size);
	note(&written, sizeof(written));
	if (written > 0)
		end->written += (uint64_t)written;
	else if (written == -EPIPE ? !end->shut : written != -EAGAIN && written != -ENOTCONN)
		end->failed = true;
}

/* Fails where the peer has neither ended nor reset the connection, nor could have had to. */
static void failed(struct connection *c, unsigned side, ssize_t error)
{
	struct end *end = &c->end[side];
	const struct end *peer = &c->end[!side];
	const bool known = c->broken || end->cut || peer->gone || peer->cut || peer->failed || peer->closed;

	trace(c, "end %u has error %zd", side, error);
	if (c->accepted && !known)
		fail("connection %u, end %u: error %zd without a reason", c->id, side, error);
	end->failed = true;
}

static void reached_end(const struct connection *c, unsigned side)
{
	const struct end *end = &c->end[side], *peer = &c->end[!side];

	if (c->broken || end->failed || end->shut || peer->gone)
		return;
	if (end->read != peer->written)
		fail("connection %u, end %u: the end at %lu of %lu bytes", c->id, side, end->read, peer->written);
	if (!peer->shut && !peer->closed)
		fail("connection %u, end %u: an end that nobody sent", c->id, side);
}

static void check(const struct connection *c, unsigned side, uint32_t size)
{
	const struct end *end = &c->end[side];
	uint32_t wrong;

	if (c->broken)
		return;
	if (end->read + size > c->end[!side].written)
		fail("connection %u, end %u: %lu bytes read, %lu written", c->id, side, end->read + size,
		     c->end[!side].written);
	wrong = text_differs(buffer, c, !side, end->read, size);
	if (wrong < size)
		fail("connection %u, end %u: another byte at %lu: %02x", c->id, side, end->read + wrong, buffer[wrong]);
}

/* Copies the data that is there without taking it; at most `size`. */
static ssize_t peek(struct file *file, uint8_t *to, uint32_t size)
{
	struct iovec all = { to, size };
	struct msghdr message = { .msg_iov = &all, .msg_iovlen = 1 };

	return file->ops->recvmsg(file, &message, MSG_PEEK);
}

/* Returns whether there may be more. */
static bool read_once(struct connection *c, unsigned side, uint32_t size, bool twice)
{
	static uint8_t before[MOST];
	struct end *end = &c->end[side];
	const ssize_t peeked = twice ? peek(end->file, before, size) : -EAGAIN;
	const ssize_t got = peeked < 0 && peeked != -EAGAIN &&
	              peeked != -ENOTCONN ? peeked : end->file->ops->read(end->file, buffer, size);

	if (got == -EAGAIN || got == -ENOTCONN)
		return false;
	trace(c, "end %u reads %u: %zd", side, size, got);
	note(&got, sizeof(got));
	if (got < 0) {
		failed(c, side, got);
		return false;
	}
	if (!got) {
		reached_end(c, side);
		end->ended = true;
		return false;
	}
	if (peeked > 0 && memcmp(before, buffer, (size_t)(peeked < got ? peeked : got)))
		fail("connection %u, end %u: another byte than before", c->id, side);
	check(c, side, (uint32_t)got);
	end->read += (uint64_t)got;
	run.totals.read += (uint64_t)got;
	return true;
}

void end_read(struct connection *c, unsigned side, bool all)
{
	if (!all) {
		const uint32_t size = size_of_call();

		read_once(c, side, size, once_in(8));
		return;
	}
	while (read_once(c, side, 65536, false))
		;
}

void datagrams_send(unsigned stack)
{
	struct file *file = run.program[stack].datagrams;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(DATAGRAMS),
	                          .sin_addr.s_addr = address_of(draw(STACKS)) };
	struct iovec all = { buffer, 1 + draw(draw(2) ? 50 : MTU - 28) };
	struct msghdr message = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &all, .msg_iovlen = 1 };

	memset(buffer, DATAGRAM, all.iov_len);
	file->ops->sendmsg(file, &message, 0);
	memset(buffer, STALE, all.iov_len);
}

void datagrams_take(unsigned stack)
{
	struct file *file = run.program[stack].datagrams;
	ssize_t size;

	while ((size = file->ops->read(file, buffer, MTU)) > 0)
		for (ssize_t i = 0; i < size && !(run.modes & WORDS); i++)
			if (buffer[i] != DATAGRAM && !(run.modes & DATA && buffer[i] == WRITTEN))
				fail("stack %u: a datagram with byte %02x", stack, buffer[i]);
}
