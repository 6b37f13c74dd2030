/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of 9P2000.L, as Linux and QEMU have it: size[4] type[1] tag[2], then
 * numbers, little endian, and strings of a size[2] and so many bytes (Plan 9
 * manual, section 5, intro; diod's protocol.md for the messages of ".L").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	P9_HEADER = 7,
	P9_TAG = 1,            /* of each request: there is one at a time */
	P9_NO_TAG = 0xffff,    /* of Tversion */
	P9_NO_FID = 0xffffffff,
	P9_QID = 13,           /* bytes */
	P9_QID_DIRECTORY = 0x80,
	P9_QID_LINK = 0x02,
	P9_WALK_MOST = 16,     /* names of one Twalk */
};

/* Requests; the answer's type is one above. */
enum p9_type {
	P9_ERROR = 7, /* an answer only */
	P9_STATFS = 8, P9_OPEN = 12, P9_CREATE = 14, P9_GETATTR = 24, P9_SETATTR = 26, P9_READDIR = 40, P9_FSYNC = 50,
	P9_MKDIR = 72, P9_RENAME = 74, P9_UNLINK = 76, P9_VERSION = 100, P9_ATTACH = 104, P9_WALK = 110, P9_READ = 116,
	P9_WRITE = 118, P9_CLUNK = 120,
};

/* A message that grows. What does not fit any more sets `full` and is left out. */
struct p9_out {
	uint8_t *data;
	uint32_t size, room;
	bool full;
};

void p9_begin(struct p9_out *, uint8_t *data, uint32_t room, enum p9_type type, uint16_t tag);
void p9_put(struct p9_out *, uint64_t value, unsigned bytes);
void p9_put_string(struct p9_out *, const char *bytes, uint32_t size);
void p9_put_bytes(struct p9_out *, const void *bytes, uint32_t size);
/* Stores the size in front. Returns it, or 0: the message was too long. */
uint32_t p9_end(struct p9_out *);

/* A message that is taken apart: behind its end every number is 0, and `bad` is set. */
struct p9_in {
	const uint8_t *data;
	uint32_t at, size;
	bool bad;
};

uint64_t p9_get(struct p9_in *, unsigned bytes);
/* Returns so many bytes, which stay in the message; null: it has no more. */
const uint8_t *p9_get_bytes(struct p9_in *, uint32_t size);
static inline uint32_t p9_left(const struct p9_in *in) { return in->size - in->at; }
