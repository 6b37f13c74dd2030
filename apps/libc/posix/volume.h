/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Volumes: folders of the host, each mounted at a directory of the tree in memory. A volume's server (file_port.h)
 * does what is asked of it, one request at a time. The layer's lock is held meanwhile: a seek and its transfer stay one
 * step, no file is closed below its reader, and the program's other threads wait with their system calls.
 *
 * ".." is resolved here, by its text: the server knows none, and no volume has links that are followed.
 */
#pragma once

#include <skerry/file_port.h>
#include "layer.h"
#include "ramfs.h"

struct statfs;

/*
 * family-volume.c: in programs that fork all processes use the same ports. VOLUME_TURN: other processes' requests wait
 * until the end of the block; blocks may be nested, and each use of a port is in one.
 */
#ifdef LAYER_FAMILY
#include <skerry/family_area.h>
void volume_enter(unsigned volume);
void volume_leave(unsigned volume);
static inline void volume_leave_at(const unsigned *volume) { volume_leave(*volume); }
#define VOLUME_TURN(number) \
	__attribute__((cleanup(volume_leave_at))) const unsigned turn_of = (volume_enter(number), (number))

bool volume_is_shared(void); /* the program may be several processes */
struct family_volume *volume_shared(unsigned volume);
uint64_t volume_life(void); /* of requests */
/* volume-port.c: returns when the server has answered all requests, or has ended. */
void volume_settle(unsigned volume);
/* Stores the answer to the last request. False: it was an error, or there was none. */
bool volume_last_answer(unsigned volume, struct file_answer *);

/* Takes a description for a file that will be opened; null where the program is one process. Returns 0 or -ENFILE. */
int volume_file_begin(struct family_file **);
/* The server has opened it; in the same turn as that. */
void volume_file_served(unsigned volume, struct family_file *, const struct file_answer *, int flags);
void volume_file_undo(unsigned volume, struct family_file *); /* it was not opened */
/* Gives it up. Returns whether it was the last process to have it: it closes the handle, and frees the description. */
bool volume_file_end(struct family_file *);
void volume_file_free(struct family_file *);

/* volume.c: the description of an open file; null: it is no file of a volume, or the program is one process. */
struct family_file *volume_shared_file(const struct file *);
/* Until it is called with false, transfers and seeks use an offset of their own, which begins as the file's. */
void volume_apart(struct file *, bool apart);
/* file->flags become those that all processes have set, or the other way round. */
void volume_flags_get(struct file *);
void volume_flags_set(struct file *);
#else
struct family_file;
#define VOLUME_TURN(number) ((void)0)
static inline int volume_file_begin(struct family_file **file) { return *file = 0, 0; }
static inline void volume_file_undo(unsigned volume, struct family_file *file) { (void)volume, (void)file; }
#endif

/* volume-port.c. A request begins with this: the data area, where its paths and data are stored. Null: no server. In a
 * VOLUME_TURN. */
char *volume_data(unsigned volume);
/* Asks. 0 or a negative errno; -EIO for ever once the server has ended. `answer` may be null. After volume_data(). */
long volume_ask(unsigned volume, struct file_request *, struct file_answer *);

/*
 * volume-path.c: stores the path of a place in the volume as the server has it, without terminator, in `to`. Returns
 * its bytes, FILE_PATH_MOST at most, or -ENAMETOOLONG. *directory: only a directory will do.
 */
long volume_path(const struct place *, char *to, bool *directory);

/* System calls on a place in a volume, with the results of the calls. */
long volume_open(const struct place *, int flags, uint32_t mode, struct file **);
long volume_stat(const struct place *, struct stat *);
long volume_access(const struct place *, int mode);
long volume_mkdir(const struct place *, uint32_t mode);
long volume_unlink(const struct place *, bool directory);
/* -EXDEV: not in the same volume. */
long volume_rename(const struct place *from, const struct place *to);
long volume_truncate(const struct place *, off_t size);
long volume_chmod(const struct place *, uint32_t mode);
long volume_utimes(const struct place *, const struct timespec *times); /* null: now */
long volume_statfs(unsigned volume, struct statfs *);

/* volume.c: an open file of a volume. */
bool volume_is_file(const struct file *);
unsigned volume_of_file(const struct file *); /* its volume, from 1 on */
/* Its path in the volume, terminated, as it was when it was opened; null: it is no directory of a volume. */
const char *volume_directory(const struct file *);
long volume_file_set(struct file *, struct file_request *); /* FILE_SET */
void volume_status(unsigned volume, const struct file_status *, struct stat *);
/* Opens what the server has opened. `path`: of a directory, which becomes the file's own; null: no directory. */
int volume_file_make(unsigned volume, const struct file_answer *, int flags, char *path, struct family_file *shared,
                     struct file **);
/* Sets which times count, as utimensat() has them; null: now. 0 or -EINVAL. */
int volume_times(struct file_request *, const struct timespec *times);
