/* SPDX-License-Identifier: BSD-2-Clause */
#include "serve.h"
#include <errno.h>
#include <skerry/require.h>

enum {
	KIND = 0170000, REGULAR = 0100000, DIRECTORY = 0040000, LINK = 0120000, /* of a mode */
	PERMISSIONS = 0777,
	OPEN_WRITE = 1, OPEN_BOTH = 2, OPEN_CREATE = 0100, OPEN_EXCLUSIVE = 0200, OPEN_TRUNCATE = 01000,
	OPEN_NO_BLOCK = 04000, OPEN_DIRECTORY = 0200000,
	ALL_FLAGS = FILE_READS | FILE_WRITES | FILE_CREATES | FILE_EXCLUSIVE | FILE_TRUNCATES | FILE_DIRECTORY,
	NANOSECONDS = 1000000000,
};

static uint32_t fid_of(uint32_t handle) { return FID_HANDLES + handle; }

/* Remembers an error after which the host may have lost data. */
static int after_change(struct volume *v, int status)
{
	if (status == -EIO)
		v->failed = true;
	return status;
}

static void close_all(struct volume *v)
{
	for (uint32_t i = 0; i < FILE_HANDLES; i++) {
		if (v->open[i])
			p9_clunk(&v->session, fid_of(i));
		v->open[i] = 0;
	}
}

int volume_start(struct volume *v)
{
	struct file_status status;
	int error = p9_version(&v->session);

	if (!error)
		error = p9_attach(&v->session, P9_ROOT, 0);
	if (!error)
		error = p9_status(&v->session, P9_ROOT, &status, &v->uid, &v->gid);
	if (error)
		return error;
	/* as its owner, so that files that are made belong to whom the folder belongs to */
	p9_clunk(&v->session, P9_ROOT);
	return p9_attach(&v->session, P9_ROOT, v->uid);
}

/* --- Paths --- */

/* Copies a path and checks it. Returns 0 or an error. */
static int take_path(const char *from, uint32_t size, char *path)
{
	if (size > FILE_PATH_MOST)
		return -ENAMETOOLONG;
	__builtin_memcpy(path, from, size);
	for (uint32_t at = 0, length; at < size; at += length + 1) {
		length = 0;
		while (at + length < size && path[at + length] != '/') {
			if (!path[at + length])
				return -EINVAL;
			length++;
		}
		if (!length || at + length + 1 == size)
			return -EINVAL; /* an empty name, or a '/' at the end */
		if (length > FILE_NAME_MOST)
			return -ENAMETOOLONG;
		if (path[at] == '.' && (length == 1 || (length == 2 && path[at + 1] == '.')))
			return -EINVAL;
	}
	return 0;
}

/* Makes `fid` the directory of a path, and finds the last name in the path. */
static int walk_parent(struct volume *v, const char *path, uint32_t size, uint32_t fid, const char **name,
                       uint32_t *name_size)
{
	struct p9_qid qid;
	uint32_t at = size;

	if (!size)
		return -EBUSY; /* the folder itself is not the program's to make or to remove */
	while (at && path[at - 1] != '/')
		at--;
	*name = path + at;
	*name_size = size - at;
	return p9_walk(&v->session, P9_ROOT, fid, path, at ? at - 1 : 0, &qid);
}

/* Nothing can be created in a folder that has been removed. */
static int after_creation(struct volume *v, uint32_t path_size, uint32_t name_size, int status)
{
	if (status == -ENOENT && path_size == name_size) {
		v->failed = true;
		return -EIO;
	}
	return after_change(v, status);
}

/* --- Opening --- */

static uint32_t open_flags(uint32_t flags)
{
	return (flags & FILE_WRITES ? flags & FILE_READS ? OPEN_BOTH : OPEN_WRITE : 0) |
	       (flags & FILE_TRUNCATES ? OPEN_TRUNCATE : 0);
}

/* What is there: a device or a FIFO of the host is not opened, for the host would wait there or act. */
static int open_there(struct volume *v, const struct file_request *r, uint32_t fid, struct file_status *status)
{
	int error = p9_status(&v->session, fid, status, 0, 0);
	const uint32_t kind = status->mode & KIND;

	if (error)
		return error;
	if (kind == LINK)
		return -ELOOP;
	if (r->flags & FILE_CREATES && r->flags & FILE_EXCLUSIVE)
		return -EEXIST;
	if (kind == DIRECTORY && r->flags & (FILE_WRITES | FILE_CREATES | FILE_TRUNCATES))
		return -EISDIR;
	if (kind != DIRECTORY && r->flags & FILE_DIRECTORY)
		return -ENOTDIR;
	if (kind != DIRECTORY && kind != REGULAR)
		return -EACCES;
	error = p9_open(&v->session, fid, open_flags(r->flags) | (kind == DIRECTORY ? OPEN_DIRECTORY : OPEN_NO_BLOCK));
	if (!error && r->flags & FILE_TRUNCATES)
		status->size = status->blocks = 0;
	return error;
}

static int create_file(struct volume *v, const struct file_request *r, uint32_t fid, struct file_status *status)
{
	const char *name;
	uint32_t size;
	int error = walk_parent(v, v->path, r->path_size, fid, &name, &size);

	if (error)
		return error;
	error = after_creation(v, r->path_size, size,
	                       p9_create(&v->session, fid, name, size,
	                                 open_flags(r->flags) | OPEN_CREATE | OPEN_EXCLUSIVE, r->mode & PERMISSIONS,
	                                 v->gid));
	if (!error)
		error = p9_status(&v->session, fid, status, 0, 0);
	if (error)
		p9_clunk(&v->session, fid);
	return error;
}

static int find_free(const struct volume *v)
{
	for (int i = 0; i < FILE_HANDLES; i++)
		if (!v->open[i])
			return i;
	return -ENFILE;
}

static int serve_open(struct volume *v, const struct file_request *r, struct file_answer *answer)
{
	const int handle = find_free(v);
	struct p9_qid qid;
	int error;

	if (handle < 0 || r->flags & ~(uint32_t)ALL_FLAGS)
		return handle < 0 ? handle : -EINVAL;
	const uint32_t fid = fid_of((uint32_t)handle);
	error = p9_walk(&v->session, P9_ROOT, fid, v->path, r->path_size, &qid);
	if (error == -ENOENT && r->flags & FILE_CREATES) {
		error = create_file(v, r, fid, &answer->file);
	} else if (!error) {
		error = open_there(v, r, fid, &answer->file);
		if (error)
			p9_clunk(&v->session, fid);
	}
	if (error)
		return error;
	const bool is_directory = (answer->file.mode & KIND) == DIRECTORY;
	v->open[handle] = (uint8_t)((r->flags & (FILE_READS | FILE_WRITES)) | FILE_READS * !(r->flags & FILE_WRITES) |
	                            FILE_DIRECTORY * is_directory);
	answer->handle = (uint32_t)handle;
	return 0;
}

/* --- What is open --- */

/* Returns 0, or the error of a handle that does not allow all of `needed`. */
static int check_handle(const struct volume *v, uint32_t handle, unsigned needed)
{
	return handle < FILE_HANDLES && v->open[handle] && (v->open[handle] & needed) == needed ? 0 : -EBADF;
}

/* `refused`: for a write that would end where no file can. */
static int check_range(const struct file_request *r, int refused)
{
	return r->size > FILE_PORT_MOST ? -EINVAL : r->offset > (uint64_t)INT64_MAX - r->size ? refused : 0;
}

static int serve_read(struct volume *v, const struct file_request *r, char *data, struct file_answer *answer)
{
	int error = check_handle(v, r->handle, FILE_READS);

	if (!error)
		error = check_range(r, -EINVAL);
	if (error || v->open[r->handle] & FILE_DIRECTORY)
		return error ? error : -EISDIR;
	const int size = p9_read(&v->session, fid_of(r->handle), r->offset, data, r->size);
	answer->size = size > 0 ? (uint32_t)size : 0;
	return size < 0 ? size : 0;
}

static bool is_full(int status) { return status == -ENOSPC || status == -EDQUOT || status == -EFBIG; }

/*
 * Writes as much as there is room for. QEMU answers a write of which a part was stored with the error that ended it
 * (v9fs_write() in hw/9pfs/9p.c): a program that takes this for "nothing was stored" would write behind that part. To
 * store the same bytes again is harmless, so a shorter write finds out how many it may count on.
 */
static int write_most(struct volume *v, const struct file_request *r, const char *data)
{
	uint32_t size = r->size;
	int written;

	do
		written = p9_write(&v->session, fid_of(r->handle), r->offset, data, size);
	while (is_full(written) && (size /= 2));
	return written;
}

static int serve_write(struct volume *v, const struct file_request *r, const char *data, struct file_answer *answer)
{
	int error = check_handle(v, r->handle, FILE_WRITES);

	if (!error)
		error = check_range(r, -EFBIG);
	if (error)
		return error;
	const int size = write_most(v, r, data);
	answer->size = size > 0 ? (uint32_t)size : 0;
	return size < 0 ? after_change(v, size) : 0;
}

static int serve_sync(struct volume *v, const struct file_request *r)
{
	const int error = check_handle(v, r->handle, 0);

	if (error)
		return error;
	const int status = p9_sync(&v->session, fid_of(r->handle), r->flags & FILE_DATA_ONLY);
	/* no matter which error: the host has not stored what it had accepted */
	if (status)
		v->failed = true;
	return status;
}

static int serve_list(struct volume *v, const struct file_request *r, char *data, struct file_answer *answer)
{
	const int error = check_handle(v, r->handle, FILE_DIRECTORY);

	if (error || r->size > FILE_PORT_MOST)
		return error ? error == -EBADF && !check_handle(v, r->handle, 0) ? -ENOTDIR : error : -EINVAL;
	const int size = p9_list(&v->session, fid_of(r->handle), r->offset, data, r->size);
	answer->size = size > 0 ? (uint32_t)size : 0;
	return size < 0 ? size : 0;
}

/* --- By handle or path --- */

static bool is_time(const struct file_time *t) { return (uint64_t)t->nanoseconds < NANOSECONDS; }

static int check_set(const struct volume *v, const struct file_request *r)
{
	if (r->set & ~(uint32_t)(FILE_SET_MODE | FILE_SET_LENGTH | FILE_SET_ACCESSED | FILE_SET_MODIFIED) ||
	    r->length > INT64_MAX || !is_time(&r->accessed) || !is_time(&r->modified))
		return -EINVAL;
	return r->handle != FILE_NO_HANDLE && r->set & FILE_SET_LENGTH && !(v->open[r->handle] & FILE_WRITES) ? -EINVAL
	                                                                                                      : 0;
}

/* What the host does to a symbolic link it would do to what that names, maybe outside the folder. */
static int set_there(struct volume *v, const struct file_request *r, uint32_t fid)
{
	struct file_status status;
	const int error = p9_status(&v->session, fid, &status, 0, 0);
	const uint32_t kind = status.mode & KIND;

	if (error)
		return error;
	if (kind == LINK)
		return -ELOOP;
	if (kind != REGULAR && r->set & FILE_SET_LENGTH)
		return kind == DIRECTORY ? -EISDIR : -EINVAL;
	return kind == REGULAR || kind == DIRECTORY ? after_change(v, p9_set(&v->session, fid, r)) : -EACCES;
}

static int serve_named(struct volume *v, const struct file_request *r, struct file_answer *answer)
{
	const bool by_path = r->handle == FILE_NO_HANDLE;
	uint32_t fid = FID_FIRST_WALK;
	struct p9_qid qid;
	int error = by_path ? 0 : check_handle(v, r->handle, 0);

	if (!error && r->operation == FILE_SET)
		error = check_set(v, r);
	if (error)
		return error;
	if (!by_path)
		fid = fid_of(r->handle);
	else if ((error = p9_walk(&v->session, P9_ROOT, fid, v->path, r->path_size, &qid)))
		return error;
	error = r->operation == FILE_SET ? set_there(v, r, fid) : p9_status(&v->session, fid, &answer->file, 0, 0);
	if (by_path)
		p9_clunk(&v->session, fid);
	return error;
}

static int serve_make(struct volume *v, const struct file_request *r)
{
	const char *name;
	uint32_t size;
	int error = walk_parent(v, v->path, r->path_size, FID_FIRST_WALK, &name, &size);

	if (error)
		return error == -EBUSY ? -EEXIST : error;
	error = after_creation(v, r->path_size, size,
	                       p9_make(&v->session, FID_FIRST_WALK, name, size, r->mode & PERMISSIONS, v->gid));
	p9_clunk(&v->session, FID_FIRST_WALK);
	return error;
}

static int serve_remove(struct volume *v, const struct file_request *r)
{
	const char *name;
	uint32_t size;
	int error = walk_parent(v, v->path, r->path_size, FID_FIRST_WALK, &name, &size);

	if (error)
		return error;
	error = after_change(v, p9_remove(&v->session, FID_FIRST_WALK, name, size, r->flags & FILE_DIRECTORY));
	p9_clunk(&v->session, FID_FIRST_WALK);
	return error;
}

static int serve_rename(struct volume *v, const struct file_request *r)
{
	const char *name, *new_name;
	uint32_t size, new_size;
	int error = walk_parent(v, v->path, r->path_size, FID_FIRST_WALK, &name, &size);

	if (error)
		return error;
	error = walk_parent(v, v->second, r->second_size, FID_SECOND_WALK, &new_name, &new_size);
	if (!error) {
		error = after_change(v, p9_rename(&v->session, FID_FIRST_WALK, name, size, FID_SECOND_WALK, new_name,
		                                  new_size));
		p9_clunk(&v->session, FID_SECOND_WALK);
	}
	p9_clunk(&v->session, FID_FIRST_WALK);
	return error;
}

/* --- All of them --- */

/* Copies the paths of a request, and checks them. */
static int take_paths(struct volume *v, const struct file_request *r, const char *data)
{
	int error = take_path(data, r->path_size, v->path);

	if (!error) /* the first is FILE_PATH_MOST bytes at most: the second begins in the data area */
		error = take_path(data + r->path_size, r->second_size, v->second);
	return error;
}
_Static_assert(2 * FILE_PATH_MOST <= FILE_PORT_MOST, "both paths are in the data area");

static bool changes(const struct file_request *r)
{
	const uint32_t operations = 1u << FILE_WRITE | 1u << FILE_SYNC | 1u << FILE_SET | 1u << FILE_MAKE |
	                            1u << FILE_REMOVE | 1u << FILE_RENAME;

	return r->operation < 32 && (operations >> r->operation & 1 ||
	                             (r->operation == FILE_OPEN &&
	                              r->flags & (FILE_WRITES | FILE_CREATES | FILE_TRUNCATES)));
}

static int serve(struct volume *v, const struct file_request *r, char *data, struct file_answer *answer)
{
	switch (r->operation) {
	case FILE_OPEN: return serve_open(v, r, answer);
	case FILE_READ: return serve_read(v, r, data, answer);
	case FILE_WRITE: return serve_write(v, r, data, answer);
	case FILE_SYNC: return serve_sync(v, r);
	case FILE_STAT:
	case FILE_SET: return serve_named(v, r, answer);
	case FILE_LIST: return serve_list(v, r, data, answer);
	case FILE_MAKE: return serve_make(v, r);
	case FILE_REMOVE: return serve_remove(v, r);
	case FILE_RENAME: return serve_rename(v, r);
	case FILE_SPACE: return p9_space(&v->session, &answer->space);
	case FILE_CLOSE:
		if (!check_handle(v, r->handle, 0)) {
			p9_clunk(&v->session, fid_of(r->handle));
			v->open[r->handle] = 0;
		}
		return 0;
	default: return -ENOSYS;
	}
}

static int hello(struct volume *v, const struct file_request *r)
{
	if (r->handle != FILE_PORT_VERSION || !r->life)
		return -EPROTO;
	close_all(v);
	v->life = r->life;
	return 0;
}

void volume_serve(struct volume *v, const struct file_request *r, char *data, struct file_answer *answer)
{
	*answer = (struct file_answer){ 0 };
	if (r->operation == FILE_HELLO) {
		answer->status = hello(v, r);
		return;
	}
	answer->status = r->life && r->life == v->life ? take_paths(v, r, data) : -ESTALE;
	if (!answer->status && v->failed && changes(r))
		answer->status = -EIO;
	if (!answer->status)
		answer->status = serve(v, r, data, answer);
	require(answer->status <= 0);
}
