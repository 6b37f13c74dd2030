/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Streams that several processes may have (family-stream.h). A file's readiness is this process's own copy of what the
 * rings say: each operation brings it up to date, and family_stream_poll() after one of another process.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include "family.h"
#include "platform.h"
#include "family-stream.h"

enum { ALL = -1 }; /* events */

static struct stream *streams;

static uint32_t own_place(void) { return platform_info()->place; }
static bool in_family(void) { return platform_info()->places > 1; }
static struct family_area *area(void) { return (struct family_area *)PROCESS_FAMILY_VADDR; }
static struct stream *stream_of(struct file *file) { return (struct stream *)file; }
static bool is_socket(const struct stream *s) { return s->in.bytes && s->out.bytes; }

static void lock(const struct ring *r)
{
	while (!ring_try_lock(r, own_place()))
		platform_yield();
}

static void unlock(const struct ring *r) { ring_unlock(r, own_place()); }

/* --- readiness --- */

static uint32_t socket_ready(const struct stream *s)
{
	const bool ended = ring_read_ended(&s->in), refused = ring_write_refused(&s->out);

	return (ring_held(&s->in) || ended ? EPOLLIN : 0) | (ended ? EPOLLRDHUP : 0) |
	       (refused || ring_room(&s->out) >= BYTE_RING_ATOMIC ? EPOLLOUT : 0) | (ended && refused ? EPOLLHUP : 0);
}

static uint32_t ready_of(const struct stream *s)
{
	if (is_socket(s))
		return socket_ready(s);
	if (s->in.bytes)
		return (ring_held(&s->in) ? EPOLLIN : 0) | (ring_has_writer(&s->in) ? 0 : EPOLLHUP);
	return (ring_room(&s->out) >= BYTE_RING_ATOMIC ? EPOLLOUT : 0) | (ring_has_reader(&s->out) ? 0 : EPOLLERR);
}

/* More bytes, a socket that has sent all its bytes, and an end are edges of epoll though the file was ready before. */
static void update(struct stream *s)
{
	const bool ended = (s->in.bytes && ring_read_ended(&s->in)) || (s->out.bytes && ring_write_refused(&s->out));
	uint32_t again = ended && !s->seen_ended ? (uint32_t)ALL : 0;

	s->seen_ended = ended;
	if (s->in.bytes && ring_head(&s->in) != s->seen_head) {
		s->seen_head = ring_head(&s->in);
		again |= EPOLLIN;
	}
	if (is_socket(s) && ring_tail(&s->out) != s->seen_tail) {
		s->seen_tail = ring_tail(&s->out);
		again |= ring_held(&s->out) ? 0 : EPOLLOUT;
	}
	file_ready_again(&s->file, ready_of(s), again);
}

/* This process's streams that have the ring. */
static void update_all(const struct ring *r)
{
	for (struct stream *s = streams; s; s = s->next)
		if (s->in.bytes == r->bytes || s->out.bytes == r->bytes)
			update(s);
}

void family_tell(uint32_t places, uint32_t wake)
{
	for (uint32_t i = 0; i < PROCESS_MEMBERS && in_family(); i++) {
		if (i == own_place() || !(places >> i & 1))
			continue;
		const uint32_t how = wake >> i & 1 ? FAMILY_LOOK | FAMILY_RUNG : FAMILY_LOOK;
		if (!(family_or(&area()->changed[i], how) & FAMILY_RUNG) && how & FAMILY_RUNG)
			platform_signal_member(i);
	}
}

static void tell_readers(const struct ring *r)
{
	const uint64_t ends = family_get(&r->shared->ends);

	update_all(r);
	family_tell(family_places(ends), (uint32_t)ends);
}

/* `wake`: they may have waited for room. */
static void tell_writers(const struct ring *r, bool wake)
{
	const uint64_t ends = family_get(&r->shared->ends);

	update_all(r);
	family_tell(family_places(ends), wake ? (uint32_t)(ends >> FAMILY_WRITER) : 0);
}

static void tell_all(const struct ring *r)
{
	const uint32_t places = family_places(family_get(&r->shared->ends));

	update_all(r);
	family_tell(places, places);
}

bool family_stream_poll(void)
{
	if (!in_family() || !family_get(&area()->changed[own_place()]))
		return false;
	family_swap(&area()->changed[own_place()], 0);
	for (struct stream *s = streams; s; s = s->next)
		update(s);
	if (family_locks_waited())
		event_notify();
	return true;
}

/* --- transfers --- */

size_t family_stream_held(const struct stream *s) { return ring_held(s->in.bytes ? &s->in : &s->out); }

bool family_stream_has_peer(const struct stream *s) { return (uint32_t)family_get(&s->out.shared->ends); }

/* Reads into a vector; `keep`: the bytes stay. Returns how many, 0 at the end, or -EAGAIN. */
static ssize_t take(struct stream *s, const struct iovec *iov, size_t count, bool keep)
{
	size_t total = 0;

	if (family_get(&s->in.shared->shut) & FAMILY_READ_SHUT)
		return 0;
	lock(&s->in);
	const size_t room = ring_room(&s->in);
	for (size_t i = 0; i < count; i++)
		total += ring_peek(&s->in, total, iov[i].iov_base, iov[i].iov_len);
	if (!keep && total)
		ring_drop(&s->in, total);
	const bool ended = !total && ring_read_ended(&s->in); /* what was written before the end is there by now */
	unlock(&s->in);
	if (total && !keep)
		tell_writers(&s->in, room < BYTE_RING_ATOMIC || room + total == FAMILY_RING_SIZE);
	else
		update(s);
	return total || ended ? (ssize_t)total : -EAGAIN;
}

ssize_t family_stream_read(struct file *file, void *buffer, size_t size)
{
	return take(stream_of(file), &(struct iovec){ buffer, size }, 1, false);
}

/* A pipe takes up to BYTE_RING_ATOMIC bytes whole or not at all. */
ssize_t family_stream_write(struct file *file, const void *buffer, size_t size)
{
	struct stream *s = stream_of(file);
	size_t done = 0;

	lock(&s->out);
	const bool refused = ring_write_refused(&s->out);
	if (!refused && (is_socket(s) || size > BYTE_RING_ATOMIC || size <= ring_room(&s->out)))
		done = ring_put(&s->out, buffer, size);
	unlock(&s->out);
	if (done)
		tell_readers(&s->out);
	else
		update(s);
	return refused ? -EPIPE : done || !size ? (ssize_t)done : -EAGAIN;
}

/* With MSG_PEEK the bytes stay; MSG_WAITALL may return fewer, as after a signal. */
ssize_t family_stream_receive(struct file *file, struct msghdr *m, int flags)
{
	size_t wanted = 0;

	if (flags & (MSG_OOB | MSG_ERRQUEUE))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < (size_t)m->msg_iovlen; i++)
		wanted += m->msg_iov[i].iov_len;
	const ssize_t total = wanted ? take(stream_of(file), m->msg_iov, (size_t)m->msg_iovlen, flags & MSG_PEEK) : 0;
	if (total < 0)
		return total;
	m->msg_namelen = 0;
	m->msg_controllen = 0;
	m->msg_flags = 0;
	return total;
}

int family_stream_shutdown(struct file *file, int how)
{
	struct stream *s = stream_of(file);

	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		return -EINVAL;
	if (how != SHUT_WR)
		family_or(&s->in.shared->shut, FAMILY_READ_SHUT);
	if (how != SHUT_RD)
		family_or(&s->out.shared->shut, FAMILY_WRITE_SHUT);
	tell_all(&s->in);
	tell_all(&s->out);
	return 0;
}

/* --- opening and closing --- */

/* A ring of a process that has no family: of the heap. */
static bool take_alone(struct ring *taken)
{
	struct family_ring *ring = layer_allocate(sizeof(*ring) + FAMILY_RING_SIZE);

	if (!ring)
		return false;
	family_set(&ring->ends, family_reader(0) | family_writer(0));
	*taken = (struct ring){ ring, (char *)(ring + 1) };
	return true;
}

static bool take_ring(struct ring *taken)
{
	return in_family() ? ring_take(area(), own_place(), taken) : take_alone(taken);
}

/* Gives up this process's end, or both; others may have the ring on. */
static void leave(const struct ring *r, bool reader, bool writer)
{
	const uint64_t own = (reader ? family_reader(own_place()) : 0) | (writer ? family_writer(own_place()) : 0);
	const uint64_t left = family_and(&r->shared->ends, ~own) & ~own;

	if (left)
		tell_all(r);
	else if (!in_family())
		layer_free(r->shared);
}

void family_stream_close(struct file *file)
{
	struct stream *s = stream_of(file), **link = &streams;

	while (*link != s) {
		require(*link);
		link = &(*link)->next;
	}
	*link = s->next;
	if (s->in.bytes)
		leave(&s->in, true, false);
	if (s->out.bytes)
		leave(&s->out, false, true);
	layer_free(s);
}

/* --- vfork: a pipe of which the child has the only writer, until it ends or executes another program --- */

static struct stream *awaited[2]; /* reader and writer, in the parent's call */
static const struct thread *awaiter;

void family_vfork_begin(void)
{
	static const struct file_operations ops = { .name = "vfork", .close = family_stream_close };

	layer_lock();
	/* without a ring, or beside another thread's vfork, it does not wait, as POSIX allows */
	if (!awaiter && in_family() && !family_stream_pair(&ops, &ops, 0, false, awaited))
		awaiter = thread_self();
	layer_unlock();
}

void family_vfork_wait(long pid)
{
	layer_lock();
	if (awaiter == thread_self()) {
		struct file *reader = &awaited[0]->file;

		file_put(&awaited[1]->file);
		awaiter = 0;
		while (pid > 0 && !(reader->ready & EPOLLHUP))
			event_wait(0);
		file_put(reader);
	}
	layer_unlock();
}

void family_streams_uncount(void)
{
	const struct stream *kept = awaiter == thread_self() ? awaited[1] : 0;

	for (struct stream *s = streams; s; s = s->next)
		s->file.references = s == kept; /* this process is the child of a vfork, and no descriptor has it */
	awaiter = 0;
}

void family_streams_close(void)
{
	for (struct stream *s = streams; s; s = s->next) {
		s->left = !s->file.references;
		s->file.references += s->left; /* closing one looks at the others of its ring */
	}
	for (struct stream *s = streams, *next; s; s = next) {
		next = s->next;
		if (s->left)
			file_put(&s->file);
	}
}

static void stream_start(struct stream *s, const struct file_operations *ops, uint32_t flags, const struct ring *in,
                         const struct ring *out)
{
	file_init(&s->file, ops, flags);
	if (in)
		s->in = *in;
	if (out)
		s->out = *out;
	s->next = streams;
	streams = s;
	update(s);
}

int family_stream_pair(const struct file_operations *first, const struct file_operations *second, uint32_t flags,
                       bool socket, struct stream *made[2])
{
	struct ring ring[2];
	const unsigned rings = socket ? 2 : 1;
	unsigned taken = 0;

	made[0] = layer_allocate(sizeof(*made[0]));
	made[1] = layer_allocate(sizeof(*made[1]));
	while (made[0] && made[1] && taken < rings && take_ring(&ring[taken]))
		taken++;
	if (taken < rings) {
		const int error = made[0] && made[1] && in_family() ? -ENFILE : -ENOMEM;
		while (taken)
			leave(&ring[--taken], true, true);
		layer_free(made[0]);
		layer_free(made[1]);
		return error;
	}
	stream_start(made[0], first, flags | (socket ? O_RDWR : O_RDONLY), &ring[0], socket ? &ring[1] : 0);
	stream_start(made[1], second, flags | (socket ? O_RDWR : O_WRONLY), socket ? &ring[1] : 0, &ring[0]);
	return 0;
}

/* --- after an exec --- */

bool family_stream_rings(struct file *file, int64_t rings[2])
{
	const struct stream *s = stream_of(file);

	rings[0] = s->in.bytes ? (s->in.bytes - area()->bytes[0]) / FAMILY_RING_SIZE : -1;
	rings[1] = s->out.bytes ? (s->out.bytes - area()->bytes[0]) / FAMILY_RING_SIZE : -1;
	return in_family();
}

/* The ring of this number, of which the process has that end; one without bytes: there is none. */
static struct ring ring_of(int64_t number, uint64_t own)
{
	if (!in_family() || number < 0 || number >= FAMILY_RINGS || !(family_get(&area()->ring[number].ends) & own))
		return (struct ring){ 0 };
	return (struct ring){ &area()->ring[number], area()->bytes[number] };
}

struct file *family_stream_inherit(const struct file_operations *ops, uint32_t flags, const int64_t rings[2])
{
	const struct ring in = ring_of(rings[0], family_reader(own_place())),
	                  out = ring_of(rings[1], family_writer(own_place()));

	if ((rings[0] >= 0 && !in.bytes) || (rings[1] >= 0 && !out.bytes) || (!in.bytes && !out.bytes))
		return 0;
	struct stream *s = layer_allocate(sizeof(*s));
	if (!s)
		return 0;
	stream_start(s, ops, flags, in.bytes ? &in : 0, out.bytes ? &out : 0);
	return &s->file;
}

/* The former program's threads are gone, and descriptors that were to be closed. */
void family_streams_born(void)
{
	for (int64_t i = 0; in_family() && i < FAMILY_RINGS; i++) {
		const struct ring r = { &area()->ring[i], area()->bytes[i] };
		const uint64_t ends = family_get(&r.shared->ends);
		bool reads = false, writes = false;

		family_replace(&r.shared->lock, own_place() + 1, 0);
		for (const struct stream *s = streams; s; s = s->next) {
			reads |= s->in.bytes == r.bytes;
			writes |= s->out.bytes == r.bytes;
		}
		const bool reader = ends & family_reader(own_place()) && !reads,
		           writer = ends & family_writer(own_place()) && !writes;
		if (reader || writer)
			leave(&r, reader, writer);
	}
}
