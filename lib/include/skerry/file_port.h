/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file port: the memory between a program and the volume server of one of its
 * volumes, a folder of the host. All zero is a valid port.
 *
 *     0                   struct file_port
 *     FILE_PORT_DATA      FILE_PORT_MOST bytes: what is written or read, names
 *
 * There is one request at a time. The program stores its request and the data
 * that belong to it, then its number in `asked`, and signals the server; the
 * server stores the answer and the data, then the same number in `answered`, and
 * signals the program's notification for this volume. Numbers begin with the
 * program's life (process_info.random) and grow by 1, so that no answer to a
 * former life passes for one to this one.
 *
 * The first request of a life is FILE_HELLO, which closes all that a former life
 * has left open. Until it is answered the program leaves the data area alone:
 * the server may still copy there for its predecessor. A request of another life
 * than the one that said HELLO last is answered with -ESTALE and has no effect.
 *
 * A path is relative to the folder: names of 1 to FILE_NAME_MOST bytes with one
 * '/' between two, none of them "." or ".."; empty is the folder itself. It is
 * not terminated. The server follows no symbolic link.
 *
 * Neither side trusts the other: the server reads a request once, into memory of
 * its own, and checks all of it; the program bounds what an answer says.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	FILE_PORT_DATA = 4096,
	FILE_PORT_MOST = 128 << 10,
	FILE_PORT_SIZE = FILE_PORT_DATA + FILE_PORT_MOST, /* a multiple of 4 KiB */
	FILE_NAME_MOST = 255,
	FILE_PATH_MOST = 4095,
	FILE_HANDLES = 256, /* open files of a volume, numbered from 0 on */
};
_Static_assert(FILE_PORT_SIZE % 4096 == 0, "whole pages");

/* A path of a request is in the data area from 0 on, a second one directly behind it. */
enum file_operation {
	FILE_HELLO = 1, /* `handle`: FILE_PORT_VERSION */
	FILE_OPEN,      /* path, `flags`, `mode`; answered with a handle and its status */
	FILE_CLOSE,     /* handle; always 0 */
	FILE_READ,      /* handle, offset, size; answered with size, 0 at the end */
	FILE_WRITE,     /* handle, offset, size; answered with size, which may be less */
	FILE_SYNC,      /* handle, `flags`: FILE_DATA_ONLY. 0: it is on the host's disk */
	FILE_STAT,      /* handle, or path where that is FILE_NO_HANDLE; answered with a status */
	FILE_SET,       /* the same; `set` says which of mode, length, accessed, modified */
	FILE_LIST,      /* handle of a directory, offset: 0 or the last entry's cookie, size; answered with size: */
	                /* struct file_entry, each at a multiple of 8; 0 at the end */
	FILE_MAKE,      /* path of a directory, mode */
	FILE_REMOVE,    /* path, `flags`: FILE_DIRECTORY */
	FILE_RENAME,    /* path and second path, which is replaced if it is there */
	FILE_SPACE,     /* answered with file_space */
};

enum { FILE_PORT_VERSION = 1, FILE_NO_HANDLE = 0xffffffff };

/* flags */
enum {
	FILE_READS = 1,
	FILE_WRITES = 2,
	FILE_CREATES = 4,
	FILE_EXCLUSIVE = 8, /* with FILE_CREATES: it must not be there */
	FILE_TRUNCATES = 16,
	FILE_DIRECTORY = 32, /* nothing else will do */
	FILE_DATA_ONLY = 64,
};

/* which members of a FILE_SET count */
enum { FILE_SET_MODE = 1, FILE_SET_LENGTH = 2, FILE_SET_ACCESSED = 4, FILE_SET_MODIFIED = 8 };

struct file_time {
	int64_t seconds;
	int64_t nanoseconds;
};

struct file_request {
	uint64_t life;
	uint32_t operation;
	uint32_t handle;
	uint32_t flags;
	uint32_t mode;
	uint64_t offset;
	uint32_t size;
	uint32_t path_size, second_size; /* bytes */
	uint32_t set;
	uint64_t length;
	struct file_time accessed, modified;
};

/* Of a file or a directory; no other kinds are there, but symbolic links, which nobody follows. */
struct file_status {
	uint32_t mode; /* S_IFREG, S_IFDIR or S_IFLNK, and permissions */
	uint32_t links;
	uint64_t inode;
	uint64_t size;
	uint64_t blocks; /* of 512 bytes */
	struct file_time accessed, modified, changed;
};

struct file_space {
	uint64_t block_size, blocks, free, available, files, files_free;
};

struct file_answer {
	int32_t status; /* 0, or a negative errno */
	uint32_t handle;
	uint32_t size;
	uint32_t spare;
	union {
		struct file_status file;
		struct file_space space;
	};
};

/* An entry of a directory, in the data area. */
struct file_entry {
	uint64_t inode;
	uint64_t cookie;
	uint16_t size; /* of this entry, a multiple of 8 */
	uint8_t type;  /* DT_* */
	uint8_t name_size;
	char name[];   /* not terminated */
};

struct file_port {
	_Alignas(64) _Atomic uint64_t asked;
	_Alignas(64) _Atomic uint64_t answered;
	_Alignas(64) _Atomic uint32_t gone; /* the manager writes 1 when the server has ended */
	_Alignas(64) struct file_request request;
	_Alignas(64) struct file_answer answer;
};
_Static_assert(sizeof(struct file_port) <= FILE_PORT_DATA, "the head fits");

/* The program: passes request `number` to the server. It has stored the request and its data before. */
static inline void file_port_ask(struct file_port *port, uint64_t number)
{
	atomic_store_explicit(&port->asked, number, memory_order_release);
}
/* The server: returns the number of the last request, which may be read from then on. */
static inline uint64_t file_port_asked(const struct file_port *port)
{
	return atomic_load_explicit(&port->asked, memory_order_acquire);
}
/* The server: passes the answer to request `number`, which it has stored before. */
static inline void file_port_answer(struct file_port *port, uint64_t number)
{
	atomic_store_explicit(&port->answered, number, memory_order_release);
}
/* The program: returns whether request `number` is answered; the answer may be read from then on. */
static inline bool file_port_is_answered(const struct file_port *port, uint64_t number)
{
	return atomic_load_explicit(&port->answered, memory_order_acquire) == number;
}

/* Returns the data area of a port. */
static inline char *file_port_data(void *port) { return (char *)port + FILE_PORT_DATA; }
