/* SPDX-License-Identifier: BSD-2-Clause */
/* Implements in volumes the system calls that name files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "volume.h"

int64_t clock_realtime_offset(void);

enum { V9FS_MAGIC = 0x01021997, UMASK = 022 /* process.c: umask() answers that */ };

/* Adds a path's names to what is in `to`, and takes one away for each "..", of which there are no more than names. */
static long add_names(char *to, long size, const char *path)
{
	for (size_t length; *(path += strspn(path, "/")); path += length) {
		length = strcspn(path, "/");
		if (length == 1 && path[0] == '.')
			continue;
		if (length == 2 && path[0] == '.' && path[1] == '.') {
			require(size);
			while (size && to[--size] != '/')
				;
			continue;
		}
		if (length > NAME_MAX || size + (size > 0) + (long)length > FILE_PATH_MOST)
			return -ENAMETOOLONG;
		if (size)
			to[size++] = '/';
		memcpy(to + size, path, length);
		size += (long)length;
	}
	return size;
}

/* Returns whether the path can only be that of a directory: its last component is "." or "..", or there is a '/'. */
static bool ends_in_directory(const char *path)
{
	const size_t size = strlen(path);
	const char *last = path + size;

	while (last > path && last[-1] != '/')
		last--;
	return size && (!*last || !strcmp(last, ".") || !strcmp(last, ".."));
}

long volume_path(const struct place *there, char *to, bool *directory)
{
	const long size = add_names(to, 0, there->before);

	*directory = ends_in_directory(there->rest);
	return size < 0 ? size : add_names(to, size, there->rest);
}

/* Begins a request about a place: its path is in the data area. Returns 0 or an error. */
static long begin(const struct place *there, struct file_request *request, bool *directory)
{
	char *data = volume_data(there->volume);
	const long size = data ? volume_path(there, data, directory) : -EIO;

	request->handle = FILE_NO_HANDLE;
	request->path_size = size < 0 ? 0 : (uint32_t)size;
	return size < 0 ? size : 0;
}

static uint32_t open_flags(int flags)
{
	const int access = flags & O_ACCMODE;
	const bool writes = access == O_WRONLY || access == O_RDWR;

	return (access != O_WRONLY ? FILE_READS : 0) | (writes ? FILE_WRITES : 0) |
	       (flags & O_CREAT ? FILE_CREATES : 0) | (flags & O_CREAT && flags & O_EXCL ? FILE_EXCLUSIVE : 0) |
	       (flags & O_TRUNC && writes ? FILE_TRUNCATES : 0) | (flags & O_DIRECTORY ? FILE_DIRECTORY : 0);
}

static int close_handle(unsigned volume, uint32_t handle, int error)
{
	struct file_request request = { .operation = FILE_CLOSE, .handle = handle };

	volume_ask(volume, &request, 0);
	return error;
}

/* The path of a directory, for what is opened from it on. The data area has been the server's: it is made anew. */
static char *path_copy(const struct place *there)
{
	char *path = layer_allocate(FILE_PATH_MOST + 1);
	bool directory;
	const long size = path ? volume_path(there, path, &directory) : 0;

	require(size >= 0);
	if (path)
		path[size] = 0;
	return path;
}

static long open_there(const struct place *there, int flags, uint32_t mode, struct family_file *shared,
                       struct file **out)
{
	struct file_request request = { .operation = FILE_OPEN, .flags = open_flags(flags),
		                        .mode = mode & 0777 & ~UMASK };
	struct file_answer answer;
	char *path = 0;
	bool directory;
	long error = begin(there, &request, &directory);

	if (error)
		return error;
	if (directory && flags & O_CREAT)
		return -EISDIR;
	request.flags |= directory ? FILE_DIRECTORY : 0;
	error = volume_ask(there->volume, &request, &answer);
	if (error)
		return error;
	if (S_ISDIR(answer.file.mode) && !(path = path_copy(there)))
		return close_handle(there->volume, answer.handle, -ENOMEM);
	error = volume_file_make(there->volume, &answer, flags, path, shared, out);
	if (error)
		layer_free(path);
	return error ? close_handle(there->volume, answer.handle, (int)error) : 0;
}

long volume_open(const struct place *there, int flags, uint32_t mode, struct file **out)
{
	struct family_file *shared;

	VOLUME_TURN(there->volume);
	long error = volume_file_begin(&shared);
	if (!error && (error = open_there(there, flags, mode, shared, out)))
		volume_file_undo(there->volume, shared);
	return error;
}

long volume_stat(const struct place *there, struct stat *st)
{
	struct file_request request = { .operation = FILE_STAT };
	struct file_answer answer;
	bool directory;

	VOLUME_TURN(there->volume);
	long error = begin(there, &request, &directory);
	if (!error)
		error = volume_ask(there->volume, &request, &answer);
	if (error)
		return error;
	volume_status(there->volume, &answer.file, st);
	return directory && !S_ISDIR(st->st_mode) ? -ENOTDIR : 0;
}

long volume_access(const struct place *there, int mode)
{
	struct stat st;
	const long error = volume_stat(there, &st);

	return error ? error : mode & X_OK && !S_ISDIR(st.st_mode) && !(st.st_mode & 0111) ? -EACCES : 0;
}

long volume_mkdir(const struct place *there, uint32_t mode)
{
	struct file_request request = { .operation = FILE_MAKE, .mode = mode & 0777 & ~UMASK };
	bool directory;

	VOLUME_TURN(there->volume);
	const long error = begin(there, &request, &directory);
	return error ? error : volume_ask(there->volume, &request, 0);
}

long volume_unlink(const struct place *there, bool directory)
{
	struct file_request request = { .operation = FILE_REMOVE, .flags = directory ? FILE_DIRECTORY : 0 };
	bool slash;

	VOLUME_TURN(there->volume);
	const long error = begin(there, &request, &slash);
	if (error)
		return error;
	if (!directory && !request.path_size) /* the mount point */
		return -EISDIR;
	return slash && !directory ? -ENOTDIR : volume_ask(there->volume, &request, 0);
}

long volume_rename(const struct place *from, const struct place *to)
{
	struct file_request request = { .operation = FILE_RENAME };
	bool directory;

	if (from->volume != to->volume)
		return -EXDEV;
	VOLUME_TURN(from->volume);
	const long error = begin(from, &request, &directory);
	if (error)
		return error;
	const long size = volume_path(to, volume_data(to->volume) + request.path_size, &directory);
	request.second_size = size < 0 ? 0 : (uint32_t)size;
	return size < 0 ? size : volume_ask(from->volume, &request, 0);
}

static long set_place(const struct place *there, struct file_request *request)
{
	bool directory;

	VOLUME_TURN(there->volume);
	const long error = begin(there, request, &directory);
	request->operation = FILE_SET;
	return error ? error : volume_ask(there->volume, request, 0);
}

long volume_truncate(const struct place *there, off_t size)
{
	struct file_request request = { .set = FILE_SET_LENGTH, .length = (uint64_t)size };

	return size < 0 ? -EINVAL : set_place(there, &request);
}

long volume_chmod(const struct place *there, uint32_t mode)
{
	struct file_request request = { .set = FILE_SET_MODE, .mode = mode & 0777 };

	return set_place(there, &request);
}

/* Returns whether a time counts, or -EINVAL: nanoseconds that are none. */
static int take_time(const struct timespec *given, struct file_time *time)
{
	const uint64_t now = clock_nanoseconds() + (uint64_t)clock_realtime_offset();

	if (given && given->tv_nsec == UTIME_OMIT)
		return 0;
	if (given && given->tv_nsec != UTIME_NOW) {
		*time = (struct file_time){ given->tv_sec, given->tv_nsec };
		return (unsigned long)given->tv_nsec < 1000000000 ? 1 : -EINVAL;
	}
	*time = (struct file_time){ (int64_t)(now / 1000000000), (int64_t)(now % 1000000000) };
	return 1;
}

int volume_times(struct file_request *request, const struct timespec *times)
{
	const int accessed = take_time(times, &request->accessed);
	const int modified = take_time(times ? times + 1 : 0, &request->modified);

	if (accessed < 0 || modified < 0)
		return -EINVAL;
	request->set = (accessed ? FILE_SET_ACCESSED : 0) | (modified ? FILE_SET_MODIFIED : 0);
	return 0;
}

long volume_utimes(const struct place *there, const struct timespec *times)
{
	struct file_request request = { 0 };
	const int error = volume_times(&request, times);

	return error ? error : set_place(there, &request);
}

long volume_statfs(unsigned volume, struct statfs *s)
{
	struct file_request request = { .operation = FILE_SPACE, .handle = FILE_NO_HANDLE };
	struct file_answer answer;

	VOLUME_TURN(volume);
	const long error = volume_data(volume) ? volume_ask(volume, &request, &answer) : -EIO;
	if (error)
		return error;
	*s = (struct statfs){ .f_type = V9FS_MAGIC, .f_bsize = answer.space.block_size,
	                      .f_frsize = answer.space.block_size, .f_blocks = answer.space.blocks,
	                      .f_bfree = answer.space.free, .f_bavail = answer.space.available,
	                      .f_files = answer.space.files, .f_ffree = answer.space.files_free,
	                      .f_namelen = NAME_MAX };
	return 0;
}
