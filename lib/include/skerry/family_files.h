/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of volumes that the processes of a family share, in their memory (skerry/family_area.h). All use the same file
 * ports, one at a time; a description of an open file lives as long as one of them has it, and the server has one
 * handle for it.
 *
 * The manager gives a child its parent's descriptions, and takes those of a process that has ended, with its locks. It
 * asks nothing of a server: a handle of a description without holders is closed by the next process that uses the
 * volume. So `ended` is counted before a port's lock of a dead holder is freed: the next one looks (`swept`), waits for
 * the answer to the request that is on its way, and closes what nobody has.
 *
 * No step leaves what cannot be repaired: a description has its handle before FAMILY_SERVED says so, and `opening` is
 * the request's number until then. Record locks of a process that ends within a change are all dropped.
 */
#pragma once

#include <skerry/family_word.h>
#include <skerry/process.h>

enum {
	FAMILY_FILES = 256,      /* open file descriptions of a family */
	FAMILY_FILE_LOCKS = 256, /* ranges of files that are locked by its processes */
};
#define FAMILY_SERVED (1ull << 63) /* in `holders`: the server has a handle for it */

struct family_file {
	_Atomic uint64_t holders;  /* a bit for each process that has it, by place; 0: free */
	_Atomic uint64_t volume;   /* from 1 on */
	_Atomic uint64_t handle;
	_Atomic uint64_t inode;
	_Atomic uint64_t position;
	_Atomic uint64_t flags;    /* O_APPEND, O_NONBLOCK */
	_Atomic uint64_t lock;     /* by flock(): LOCK_SH, LOCK_EX or 0 */
	uint64_t spare;
};

/* A range that a process has locked by fcntl(). */
struct family_file_lock {
	_Atomic uint64_t owner;    /* 1 + place; 0: free */
	_Atomic uint64_t volume, inode;
	_Atomic uint64_t first, last;
	_Atomic uint64_t writes;   /* 1: nobody else may have any of it; 0: all may read */
	_Atomic uint64_t pid;
	uint64_t spare;
};

/* A volume's file port: its number is the index + 1. */
struct family_volume {
	_Atomic uint64_t lock;     /* 1 + place of the process that asks; 0: free */
	_Atomic uint64_t greeted;  /* the server has forgotten a former life */
	_Atomic uint64_t asked;    /* number of the last request */
	_Atomic uint64_t opening;  /* number of a request that opens a file, until a description has its handle */
	_Atomic uint64_t swept;    /* `ended` when handles without holders were closed last */
	_Atomic uint64_t waiting;  /* places that wait for `lock`, a bit for each */
	uint64_t spare[2];
};

struct family_files {
	_Atomic uint64_t life;     /* of the first process: requests are of this life, whoever makes them */
	_Atomic uint64_t ended;    /* how many processes have ended */
	_Atomic uint64_t locks;    /* 1 + place of the process that changes a lock below; 0: free */
	_Atomic uint64_t waiting;  /* places with threads that wait for such a lock, a bit for each */
	uint64_t spare[4];
	struct family_volume volume[PROCESS_MAX_VOLUMES];
	struct family_file file[FAMILY_FILES];
	struct family_file_lock lock[FAMILY_FILE_LOCKS];
};
_Static_assert(sizeof(struct family_file) == 64 && sizeof(struct family_file_lock) == 64 &&
               sizeof(struct family_volume) == 64, "one cache line");

/* Gives the child `to` all descriptions of its parent, which waits in its fork; locks by fcntl() are no child's. */
static inline void family_files_inherit(struct family_files *files, uint32_t from, uint32_t to)
{
	if (!family_get(&files->life)) /* there is no volume */
		return;
	for (unsigned i = 0; i < FAMILY_FILES; i++)
		if (family_get(&files->file[i].holders) >> from & 1)
			family_or(&files->file[i].holders, 1ull << to);
}

/* Gives up a description for a process. Returns whether no process has it any more: its lock is dropped then. */
static inline bool family_file_drop(struct family_file *file, uint32_t place)
{
	const uint64_t own = 1ull << place, left = family_and(&file->holders, ~own) & ~own;

	if (left & ~FAMILY_SERVED)
		return false;
	if (left) /* else it is free: another process may have taken it already */
		family_set(&file->lock, 0);
	return true;
}

/*
 * Takes all that a process has none of whose threads runs any more. Returns the places that wait for locks of files,
 * which are to look again.
 */
static inline uint32_t family_files_leave(struct family_files *files, uint32_t place)
{
	if (!family_get(&files->life))
		return 0;
	for (unsigned i = 0; i < FAMILY_FILES; i++)
		if (family_get(&files->file[i].holders) >> place & 1)
			family_file_drop(&files->file[i], place);
	for (unsigned i = 0; i < FAMILY_FILE_LOCKS; i++)
		family_replace(&files->lock[i].owner, place + 1, 0);
	family_replace(&files->locks, place + 1, 0);
	family_and(&files->waiting, ~(1ull << place));
	family_set(&files->ended, family_get(&files->ended) + 1); /* before the next process may use a port */
	for (unsigned i = 0; i < PROCESS_MAX_VOLUMES; i++) {
		family_and(&files->volume[i].waiting, ~(1ull << place));
		family_replace(&files->volume[i].lock, place + 1, 0);
	}
	return (uint32_t)family_get(&files->waiting);
}
