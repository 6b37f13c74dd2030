/* SPDX-License-Identifier: BSD-2-Clause */
/* Open files and directories of volumes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "volume.h"

struct volume_file {
	struct file file;
	unsigned volume;
	uint32_t handle;
	bool synchronous;  /* O_SYNC, O_DSYNC */
	char *path;        /* of a directory */
	uint64_t position; /* of a directory: the cookie of the last entry that was given */
#ifdef LAYER_FAMILY
	struct family_file *shared; /* has the position and the flags; null: the program is one process */
	bool apart;                 /* `position` is used all the same: volume_apart() */
#endif
};

static struct volume_file *volume_file_of(struct file *file) { return (struct volume_file *)file; }

#ifdef LAYER_FAMILY

static bool has_shared_position(const struct volume_file *f) { return f->shared && !f->apart; }

static uint64_t position_of(const struct volume_file *f)
{
	return has_shared_position(f) ? family_get(&f->shared->position) : f->position;
}

static uint64_t position_set(struct volume_file *f, uint64_t position)
{
	if (has_shared_position(f))
		family_set(&f->shared->position, position);
	else
		f->position = position;
	return position;
}

static bool appends(const struct volume_file *f)
{
	return (f->shared ? family_get(&f->shared->flags) : f->file.flags) & O_APPEND;
}

struct family_file *volume_shared_file(const struct file *file)
{
	return volume_is_file(file) ? ((const struct volume_file *)file)->shared : 0;
}

void volume_apart(struct file *file, bool apart)
{
	if (!volume_shared_file(file))
		return;
	struct volume_file *f = volume_file_of(file);

	require(f->apart != apart);
	f->position = position_of(f);
	f->apart = apart;
}

void volume_flags_get(struct file *file)
{
	const struct family_file *shared = volume_shared_file(file);

	if (shared)
		file->flags = (file->flags & O_ACCMODE) | (uint32_t)family_get(&shared->flags);
}

void volume_flags_set(struct file *file)
{
	struct family_file *shared = volume_shared_file(file);

	if (shared)
		family_set(&shared->flags, file->flags & ~(uint32_t)O_ACCMODE);
}

#else

static uint64_t position_of(const struct volume_file *f) { return f->position; }
static uint64_t position_set(struct volume_file *f, uint64_t position) { return f->position = position; }
static bool appends(const struct volume_file *f) { return f->file.flags & O_APPEND; }

#endif

static struct file_request request_of(const struct volume_file *f, enum file_operation operation)
{
	return (struct file_request){ .operation = operation, .handle = f->handle };
}

static size_t piece_of(size_t size) { return size < FILE_PORT_MOST ? size : FILE_PORT_MOST; }

static ssize_t read_file(struct file *file, void *buffer, size_t size)
{
	struct volume_file *f = volume_file_of(file);
	size_t done = 0;

	VOLUME_TURN(f->volume);
	const char *data = volume_data(f->volume);
	if (!data)
		return -EIO;
	while (done < size) {
		struct file_request request = request_of(f, FILE_READ);
		struct file_answer answer;

		request.offset = position_of(f);
		request.size = (uint32_t)piece_of(size - done);
		const long error = volume_ask(f->volume, &request, &answer);
		if (error || answer.size > request.size)
			return done ? (ssize_t)done : error ? error : -EIO;
		memcpy((char *)buffer + done, data, answer.size);
		done += answer.size;
		position_set(f, request.offset + answer.size);
		if (answer.size < request.size)
			break;
	}
	return (ssize_t)done;
}

static long file_status(const struct volume_file *f, struct file_answer *answer)
{
	struct file_request request = request_of(f, FILE_STAT);

	VOLUME_TURN(f->volume);
	return volume_data(f->volume) ? volume_ask(f->volume, &request, answer) : -EIO;
}

static int sync_file(struct file *file, bool data_only)
{
	const struct volume_file *f = volume_file_of(file);
	struct file_request request = request_of(f, FILE_SYNC);

	request.flags = data_only ? FILE_DATA_ONLY : 0;
	VOLUME_TURN(f->volume);
	return volume_data(f->volume) ? (int)volume_ask(f->volume, &request, 0) : -EIO;
}

/* Writes what fits into one request. Returns its bytes or an error. */
static ssize_t write_piece(struct volume_file *f, const char *bytes, size_t size)
{
	char *data = volume_data(f->volume);
	struct file_request request = request_of(f, FILE_WRITE);
	struct file_answer answer;

	if (!data)
		return -EIO;
	request.offset = position_of(f);
	request.size = (uint32_t)piece_of(size);
	memcpy(data, bytes, request.size);
	const long error = volume_ask(f->volume, &request, &answer);
	if (error || !answer.size || answer.size > request.size)
		return error ? error : -EIO;
	position_set(f, request.offset + answer.size);
	return (ssize_t)answer.size;
}

static ssize_t write_file(struct file *file, const void *buffer, size_t size)
{
	struct volume_file *f = volume_file_of(file);
	struct file_answer answer;
	size_t done = 0;

	VOLUME_TURN(f->volume);
	if (appends(f)) { /* no other program in the machine writes to the volume */
		const long error = file_status(f, &answer);
		if (error)
			return error;
		position_set(f, answer.file.size);
	}
	while (done < size) {
		const ssize_t n = write_piece(f, (const char *)buffer + done, size - done);
		if (n < 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
	}
	const int error = f->synchronous ? sync_file(file, true) : 0;
	return error ? error : (ssize_t)done;
}

static off_t seek_file(struct file *file, off_t offset, int whence)
{
	struct volume_file *f = volume_file_of(file);
	struct file_answer answer = { 0 };
	off_t result;

	if (whence < SEEK_SET || whence > SEEK_END)
		return -EINVAL;
	VOLUME_TURN(f->volume);
	const long error = whence == SEEK_END ? file_status(f, &answer) : 0;
	if (error)
		return error;
	const off_t base = whence == SEEK_SET ? 0 : (off_t)(whence == SEEK_CUR ? position_of(f) : answer.file.size);
	if (__builtin_add_overflow(base, offset, &result))
		return -EOVERFLOW;
	return result < 0 ? -EINVAL : (off_t)position_set(f, (uint64_t)result);
}

static struct timespec timespec_of(const struct file_time *t)
{
	return (struct timespec){ .tv_sec = t->seconds, .tv_nsec = (long)t->nanoseconds };
}

void volume_status(unsigned volume, const struct file_status *status, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_dev = 1 + volume; /* 1 is the tree in memory */
	st->st_ino = status->inode;
	st->st_mode = status->mode;
	st->st_nlink = status->links;
	st->st_size = (off_t)status->size;
	st->st_blksize = PAGE;
	st->st_blocks = (blkcnt_t)status->blocks;
	st->st_atim = timespec_of(&status->accessed);
	st->st_mtim = timespec_of(&status->modified);
	st->st_ctim = timespec_of(&status->changed);
}

static int stat_file(struct file *file, struct stat *st)
{
	struct file_answer answer;
	const long error = file_status(volume_file_of(file), &answer);

	if (!error)
		volume_status(volume_file_of(file)->volume, &answer.file, st);
	return (int)error;
}

long volume_file_set(struct file *file, struct file_request *request)
{
	const struct volume_file *f = volume_file_of(file);

	request->operation = FILE_SET;
	request->handle = f->handle;
	VOLUME_TURN(f->volume);
	return volume_data(f->volume) ? volume_ask(f->volume, request, 0) : -EIO;
}

static int truncate_file(struct file *file, off_t size)
{
	struct file_request request = { .set = FILE_SET_LENGTH, .length = (uint64_t)size };

	return size < 0 || volume_file_of(file)->path ? -EINVAL : (int)volume_file_set(file, &request);
}

/* One linux_dirent64 of an entry that is in the data area, which the server can still change: it is read once. */
static size_t put_entry(char *to, const char *from, size_t left, uint64_t *cookie)
{
	struct dirent *entry = (struct dirent *)to;
	struct file_entry given;
	const size_t head = offsetof(struct file_entry, name);

	if (left < sizeof(given))
		return 0;
	memcpy(&given, from, sizeof(given));
	if (!given.name_size || given.size > left || given.size % 8 || head + given.name_size > given.size)
		return 0;
	const size_t length = (offsetof(struct dirent, d_name) + given.name_size + 1 + 7) & ~7ul;
	require(length <= given.size);
	memset(to, 0, length);
	entry->d_ino = given.inode;
	entry->d_off = (off_t)given.cookie;
	entry->d_reclen = (unsigned short)length;
	entry->d_type = given.type;
	memcpy(to + offsetof(struct dirent, d_name), from + head, given.name_size);
	*cookie = given.cookie;
	return length;
}

static ssize_t directory_entries(struct file *file, void *buffer, size_t size)
{
	struct volume_file *f = volume_file_of(file);
	struct file_request request = request_of(f, FILE_LIST);
	struct file_answer answer;
	uint64_t cookie = 0;
	size_t held = 0;

	VOLUME_TURN(f->volume);
	const char *data = volume_data(f->volume);
	if (!data)
		return -EIO;
	request.offset = position_of(f);
	request.size = (uint32_t)piece_of(size); /* an entry is never larger here than there */
	const long error = volume_ask(f->volume, &request, &answer);
	if (error || answer.size > request.size)
		return error ? error : -EIO;
	for (size_t at = 0; at < answer.size;) {
		uint16_t step;

		memcpy(&step, data + at + offsetof(struct file_entry, size), sizeof(step));
		const size_t length = put_entry((char *)buffer + held, data + at, answer.size - at, &cookie);
		if (!length || step < length)
			return -EIO;
		position_set(f, cookie);
		held += length;
		at += step;
	}
	return (ssize_t)held;
}

/* Private mappings are copies. */
static bool map_file(struct file *file, off_t offset, size_t size, const void **at)
{
	(void)file, (void)offset, (void)size;
	*at = 0;
	return false;
}

static void close_handle(const struct volume_file *f)
{
	struct file_request request = request_of(f, FILE_CLOSE);

	if (volume_data(f->volume))
		volume_ask(f->volume, &request, 0);
}

static void close_file(struct file *file)
{
	struct volume_file *f = volume_file_of(file);

	{
		VOLUME_TURN(f->volume);
#ifdef LAYER_FAMILY
		if (volume_file_end(f->shared)) {
			close_handle(f);
			volume_file_free(f->shared);
		}
#else
		close_handle(f);
#endif
	}
	layer_free(f->path);
	layer_free(f);
}

static const struct file_operations volume_ops = {
	.name = "volume",
	.read = read_file,
	.write = write_file,
	.seek = seek_file,
	.stat = stat_file,
	.truncate = truncate_file,
	.entries = directory_entries,
	.map = map_file,
	.close = close_file,
	.sync = sync_file,
};

bool volume_is_file(const struct file *file) { return file->ops == &volume_ops; }
unsigned volume_of_file(const struct file *file) { return ((const struct volume_file *)file)->volume; }

const char *volume_directory(const struct file *file)
{
	return volume_is_file(file) ? ((const struct volume_file *)file)->path : 0;
}

int volume_file_make(unsigned volume, const struct file_answer *opened, int flags, char *path,
                     struct family_file *shared, struct file **out)
{
	struct volume_file *f = layer_allocate(sizeof(*f));

	if (!f)
		return -ENOMEM;
	file_init(&f->file, &volume_ops, (uint32_t)flags & (O_ACCMODE | O_APPEND | O_NONBLOCK));
	f->file.ready = ALWAYS_READY;
	f->volume = volume;
	f->handle = opened->handle;
	f->synchronous = flags & (O_SYNC | O_DSYNC);
	f->path = path;
#ifdef LAYER_FAMILY
	f->shared = shared;
	if (shared)
		volume_file_served(volume, shared, opened, flags & (O_APPEND | O_NONBLOCK));
#else
	(void)shared;
#endif
	*out = &f->file;
	return 0;
}
