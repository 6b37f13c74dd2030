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

/* volume-port.c. A request begins with this: the data area, where its paths and data are stored. Null: no server. */
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
int volume_file_make(unsigned volume, uint32_t handle, int flags, char *path, struct file **);
/* Sets which times count, as utimensat() has them; null: now. 0 or -EINVAL. */
int volume_times(struct file_request *, const struct timespec *times);
