/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pipes and socket pairs in the layer's form for programs that fork: their bytes are in rings that processes of the
 * family share (skerry/family_area.h), so both ends live on across a fork. An open stream is an end of one ring, or, of
 * a socket, one end each of two.
 */
#pragma once

#include <skerry/family_area.h>
#include "family-ring.h"
#include "layer.h"

struct stream {
	struct file file;
	struct stream *next;      /* of this process's */
	struct ring in, out;      /* one without bytes: it does not read, or does not write */
	uint64_t seen_head, seen_tail; /* of `in` and of `out`, when the readiness was last looked at */
	bool seen_ended;
	bool left; /* in a child: by its parent's threads, none of which is here */
};

/*
 * Makes one (pipe: the reader first, then the writer) or two rings (socket pair) with two open streams. Returns 0 or an
 * error.
 */
int family_stream_pair(const struct file_operations *first, const struct file_operations *second, uint32_t flags,
                       bool socket, struct stream *made[2]);

/* Operations of files that are streams (struct file_operations). */
ssize_t family_stream_read(struct file *, void *buffer, size_t size);
ssize_t family_stream_write(struct file *, const void *buffer, size_t size);
ssize_t family_stream_receive(struct file *, struct msghdr *, int flags);
int family_stream_shutdown(struct file *, int how);
void family_stream_close(struct file *);
/* Returns the bytes that can be read, at either end of a pipe. */
size_t family_stream_held(const struct stream *);
/* Returns whether the other end of a socket is open in some process. */
bool family_stream_has_peer(const struct stream *);

/* The numbers of the rings that it reads and writes in the family's area; -1: none. False: they are in no area. */
bool family_stream_rings(struct file *, int64_t rings[2]);
/* An open stream of rings that the process has ends of already; null: it has not, or no memory. */
struct file *family_stream_inherit(const struct file_operations *, uint32_t flags, const int64_t rings[2]);

/* Looks at what other processes did to this one's streams since the last call. Returns whether they did anything. */
bool family_stream_poll(void);
/* Makes the processes of `places` do that: those of `wake`, which may sleep, at once. */
void family_tell(uint32_t places, uint32_t wake);
