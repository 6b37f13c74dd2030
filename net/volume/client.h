/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of 9P2000.L with one request at a time. The functions return 0 or
 * more, or a negative errno: the server's, or -EIO where its answer breaks the
 * protocol, after which nothing more is asked of it.
 *
 * The answer lies in memory that the device can write at any time. What is not
 * the data of a file is copied before it is looked at.
 */
#pragma once

#include <skerry/file_port.h>
#include "message.h"

enum {
	P9_DATA_MOST = FILE_PORT_MOST,
	P9_IO_HEADER = 24,                /* of the longest message with data, Twrite, and one byte */
	P9_MESSAGE = P9_DATA_MOST + 4096, /* bytes of a message at most: msize */
	P9_ANSWER_MOST = 8192,            /* of an answer that is no file's data */
	P9_ROOT = 0,                      /* the fid of the folder */
};

struct p9_session {
	uint8_t *request;      /* P9_MESSAGE bytes that the device reads */
	const uint8_t *reply;  /* P9_MESSAGE bytes that it writes */
	/* Gives the device `size` bytes of `request`. Returns how many it says it has written; 0: none that it can. */
	uint32_t (*exchange)(struct p9_session *, uint32_t size);
	void *context;
	bool broken;
	uint32_t most;         /* bytes of data in one message */
	uint8_t answer[P9_ANSWER_MOST];
};

/* A kind of file, and an error's neighbour: what Twalk and Tattach say of a file. */
struct p9_qid {
	uint8_t type;
	uint64_t path;
};

/* Agrees on the version and the size of messages. */
int p9_version(struct p9_session *);
/* Makes `fid` the folder's, for a user whose files are created. */
int p9_attach(struct p9_session *, uint32_t fid, uint32_t uid);
/* Makes `to` the fid of a path, which the caller has checked, below `from`; `to` is free, and stays so on an error. */
int p9_walk(struct p9_session *, uint32_t from, uint32_t to, const char *path, uint32_t size, struct p9_qid *);
/* Opens a fid, or creates a file in its directory and makes it the file's. `flags` are Linux's. */
int p9_open(struct p9_session *, uint32_t fid, uint32_t flags);
int p9_create(struct p9_session *, uint32_t fid, const char *name, uint32_t size, uint32_t flags, uint32_t mode,
              uint32_t gid);
/* Up to `most` bytes. Return how many were read or written. */
int p9_read(struct p9_session *, uint32_t fid, uint64_t offset, void *to, uint32_t size);
int p9_write(struct p9_session *, uint32_t fid, uint64_t offset, const void *from, uint32_t size);
int p9_sync(struct p9_session *, uint32_t fid, bool data_only);
/* Frees a fid, whatever the server answers. */
void p9_clunk(struct p9_session *, uint32_t fid);

/* `uid` and `gid` may be null. */
int p9_status(struct p9_session *, uint32_t fid, struct file_status *, uint32_t *uid, uint32_t *gid);
int p9_set(struct p9_session *, uint32_t fid, const struct file_request *);
/* Stores entries of an open directory behind the one with this cookie (0: from the first on). Returns bytes. */
int p9_list(struct p9_session *, uint32_t fid, uint64_t cookie, char *to, uint32_t size);
int p9_make(struct p9_session *, uint32_t directory, const char *name, uint32_t size, uint32_t mode, uint32_t gid);
int p9_remove(struct p9_session *, uint32_t directory, const char *name, uint32_t size, bool is_directory);
int p9_rename(struct p9_session *, uint32_t from, const char *name, uint32_t size, uint32_t to, const char *new_name,
              uint32_t new_size);
int p9_space(struct p9_session *, struct file_space *);
