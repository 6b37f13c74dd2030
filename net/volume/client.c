/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"
#include <errno.h>
#include <skerry/require.h>

enum {
	IO_HEADER = 11,       /* of an answer with data: size, type, tag, count */
	ERRNO_MOST = 133,     /* Linux's largest */
	GETATTR_BASIC = 0x7ff,
	SETATTR_MODE = 1, SETATTR_SIZE = 8, SETATTR_ACCESSED = 0x10, SETATTR_MODIFIED = 0x20,
	SETATTR_ACCESSED_SET = 0x80, SETATTR_MODIFIED_SET = 0x100,
	REMOVE_DIRECTORY = 0x200,
	ENTRY_HEAD = __builtin_offsetof(struct file_entry, name),
};
_Static_assert(P9_IO_HEADER + P9_DATA_MOST <= P9_MESSAGE, "data fit into a message");

static int broken(struct p9_session *s)
{
	s->broken = true;
	return -EIO;
}

static struct p9_out request(struct p9_session *s, enum p9_type type)
{
	struct p9_out out;

	p9_begin(&out, s->request, P9_MESSAGE, type, type == P9_VERSION ? P9_NO_TAG : P9_TAG);
	return out;
}

/* Returns the error of an Rlerror, or that of one which is none. */
static int error_of(struct p9_session *s, struct p9_in *in)
{
	const uint64_t number = p9_get(in, 4);

	if (in->bad || !number || number > ERRNO_MOST)
		return broken(s);
	return -(int)number;
}

/*
 * Asks, and checks the answer's head: its size is what the device has written, its type and tag are the request's.
 * `room`: bytes of the answer that are copied for `in`; an answer that is larger is one with data.
 */
static int ask(struct p9_session *s, struct p9_out *out, struct p9_in *in, uint32_t room)
{
	const uint8_t type = s->request[4];
	const uint32_t size = s->broken ? 0 : p9_end(out);
	uint32_t written, said;

	require(room <= P9_ANSWER_MOST);
	if (s->broken)
		return -EIO;
	if (!size)
		return -ENAMETOOLONG;
	written = s->exchange(s, size);
	if (written < P9_HEADER || written > P9_MESSAGE)
		return broken(s);
	*in = (struct p9_in){ .data = s->answer, .size = written < room ? written : room };
	__builtin_memcpy(s->answer, s->reply, in->size);
	said = (uint32_t)p9_get(in, 4);
	const uint8_t answer = (uint8_t)p9_get(in, 1);
	const uint16_t tag = (uint16_t)p9_get(in, 2);
	if (said != written || tag != (type == P9_VERSION ? P9_NO_TAG : P9_TAG))
		return broken(s);
	if (answer == P9_ERROR)
		return error_of(s, in);
	return answer == type + 1 && (written <= room || room == IO_HEADER) ? 0 : broken(s);
}

static int ask_plain(struct p9_session *s, struct p9_out *out, struct p9_in *in)
{
	return ask(s, out, in, P9_ANSWER_MOST);
}

/* What follows is not there, or the answer is too short. */
static int ended(struct p9_session *s, const struct p9_in *in) { return in->bad ? broken(s) : 0; }

static struct p9_qid get_qid(struct p9_in *in)
{
	struct p9_qid qid = { .type = (uint8_t)p9_get(in, 1) };

	p9_get(in, 4);
	qid.path = p9_get(in, 8);
	return qid;
}

int p9_version(struct p9_session *s)
{
	static const char version[] = "9P2000.L";
	struct p9_out out = request(s, P9_VERSION);
	struct p9_in in;
	const uint8_t *name;

	p9_put(&out, P9_MESSAGE, 4);
	p9_put_string(&out, version, sizeof(version) - 1);
	const int error = ask_plain(s, &out, &in);
	if (error)
		return error;
	const uint64_t most = p9_get(&in, 4), size = p9_get(&in, 2);
	name = p9_get_bytes(&in, (uint32_t)size);
	/* one that has less room than for an answer of a page has none for names */
	if (in.bad || most > P9_MESSAGE || most < P9_ANSWER_MOST || size != sizeof(version) - 1 ||
	    __builtin_memcmp(name, version, size) != 0)
		return broken(s);
	s->most = (uint32_t)most - P9_IO_HEADER < P9_DATA_MOST ? (uint32_t)most - P9_IO_HEADER : P9_DATA_MOST;
	return 0;
}

int p9_attach(struct p9_session *s, uint32_t fid, uint32_t uid)
{
	struct p9_out out = request(s, P9_ATTACH);
	struct p9_in in;

	p9_put(&out, fid, 4);
	p9_put(&out, P9_NO_FID, 4);
	p9_put_string(&out, "", 0);
	p9_put_string(&out, "", 0);
	p9_put(&out, uid, 4);
	const int error = ask_plain(s, &out, &in);
	if (error)
		return error;
	const struct p9_qid qid = get_qid(&in);
	return ended(s, &in) ? -EIO : qid.type & P9_QID_DIRECTORY ? 0 : -ENOTDIR;
}

/* Up to P9_WALK_MOST names of `*path`, which it moves past them. */
static unsigned put_names(struct p9_out *out, const char **path, uint32_t *size)
{
	unsigned names = 0;
	uint8_t *const count = out->data + out->size;

	p9_put(out, 0, 2);
	while (*size && names < P9_WALK_MOST) {
		uint32_t length = 0;

		while (length < *size && (*path)[length] != '/')
			length++;
		p9_put_string(out, *path, length);
		length += length < *size;
		*path += length;
		*size -= length;
		names++;
	}
	if (!out->full)
		count[0] = (uint8_t)names;
	return names;
}

/* One Twalk. A path that ends early stops at what is no directory, or has no such entry. */
static int walk_once(struct p9_session *s, struct p9_out *out, unsigned names, struct p9_qid *qid)
{
	struct p9_in in;
	const int error = ask_plain(s, out, &in);

	if (error)
		return error;
	const uint64_t count = p9_get(&in, 2);
	if (count > names)
		return broken(s);
	for (uint64_t i = 0; i < count; i++)
		*qid = get_qid(&in);
	if (ended(s, &in))
		return -EIO;
	if (count == names)
		return 0;
	return !count || qid->type & P9_QID_DIRECTORY ? -ENOENT : qid->type & P9_QID_LINK ? -ELOOP : -ENOTDIR;
}

int p9_walk(struct p9_session *s, uint32_t from, uint32_t to, const char *path, uint32_t size, struct p9_qid *qid)
{
	int error;

	*qid = (struct p9_qid){ .type = P9_QID_DIRECTORY };
	do {
		struct p9_out out = request(s, P9_WALK);

		p9_put(&out, from, 4);
		p9_put(&out, to, 4);
		const unsigned names = put_names(&out, &path, &size);
		error = walk_once(s, &out, names, qid);
		if (error && from == to)
			p9_clunk(s, to);
		from = to;
	} while (!error && size);
	return error;
}

int p9_open(struct p9_session *s, uint32_t fid, uint32_t flags)
{
	struct p9_out out = request(s, P9_OPEN);
	struct p9_in in;

	p9_put(&out, fid, 4);
	p9_put(&out, flags, 4);
	return ask_plain(s, &out, &in);
}

int p9_create(struct p9_session *s, uint32_t fid, const char *name, uint32_t size, uint32_t flags, uint32_t mode,
              uint32_t gid)
{
	struct p9_out out = request(s, P9_CREATE);
	struct p9_in in;

	p9_put(&out, fid, 4);
	p9_put_string(&out, name, size);
	p9_put(&out, flags, 4);
	p9_put(&out, mode, 4);
	p9_put(&out, gid, 4);
	return ask_plain(s, &out, &in);
}

int p9_read(struct p9_session *s, uint32_t fid, uint64_t offset, void *to, uint32_t size)
{
	struct p9_out out = request(s, P9_READ);
	struct p9_in in;

	if (size > s->most)
		size = s->most;
	p9_put(&out, fid, 4);
	p9_put(&out, offset, 8);
	p9_put(&out, size, 4);
	const int error = ask(s, &out, &in, IO_HEADER);
	if (error)
		return error;
	const uint64_t count = p9_get(&in, 4);
	const uint64_t whole = s->answer[0] | s->answer[1] << 8 | s->answer[2] << 16; /* as ask() has checked it */
	if (in.bad || count > size || count + IO_HEADER != whole)
		return broken(s);
	__builtin_memcpy(to, s->reply + IO_HEADER, count);
	return (int)count;
}

int p9_write(struct p9_session *s, uint32_t fid, uint64_t offset, const void *from, uint32_t size)
{
	struct p9_out out = request(s, P9_WRITE);
	struct p9_in in;

	if (size > s->most)
		size = s->most;
	p9_put(&out, fid, 4);
	p9_put(&out, offset, 8);
	p9_put(&out, size, 4);
	p9_put_bytes(&out, from, size);
	const int error = ask_plain(s, &out, &in);
	if (error)
		return error;
	const uint64_t count = p9_get(&in, 4);
	return in.bad || count > size || (size && !count) ? broken(s) : (int)count;
}

int p9_sync(struct p9_session *s, uint32_t fid, bool data_only)
{
	struct p9_out out = request(s, P9_FSYNC);
	struct p9_in in;

	p9_put(&out, fid, 4);
	p9_put(&out, data_only, 4);
	return ask_plain(s, &out, &in);
}

void p9_clunk(struct p9_session *s, uint32_t fid)
{
	struct p9_out out = request(s, P9_CLUNK);
	struct p9_in in;

	p9_put(&out, fid, 4);
	ask_plain(s, &out, &in);
}

static struct file_time get_time(struct p9_in *in)
{
	struct file_time time = { .seconds = (int64_t)p9_get(in, 8) };

	time.nanoseconds = (int64_t)p9_get(in, 8);
	if ((uint64_t)time.nanoseconds >= 1000000000)
		time.nanoseconds = 0;
	return time;
}

int p9_status(struct p9_session *s, uint32_t fid, struct file_status *status, uint32_t *uid, uint32_t *gid)
{
	struct p9_out out = request(s, P9_GETATTR);
	struct p9_in in;

	*status = (struct file_status){ 0 };
	p9_put(&out, fid, 4);
	p9_put(&out, GETATTR_BASIC, 8);
	const int error = ask_plain(s, &out, &in);
	if (error)
		return error;
	p9_get(&in, 8); /* which of the following are valid: all that were asked for */
	status->inode = get_qid(&in).path;
	status->mode = (uint32_t)p9_get(&in, 4);
	const uint32_t user = (uint32_t)p9_get(&in, 4), group = (uint32_t)p9_get(&in, 4);
	status->links = (uint32_t)p9_get(&in, 8);
	p9_get(&in, 8); /* rdev */
	status->size = p9_get(&in, 8);
	p9_get(&in, 8); /* block size */
	status->blocks = p9_get(&in, 8);
	status->accessed = get_time(&in);
	status->modified = get_time(&in);
	status->changed = get_time(&in);
	if (uid)
		*uid = user;
	if (gid)
		*gid = group;
	return in.bad || status->size > INT64_MAX ? broken(s) : 0;
}

int p9_set(struct p9_session *s, uint32_t fid, const struct file_request *r)
{
	struct p9_out out = request(s, P9_SETATTR);
	struct p9_in in;
	uint32_t valid = 0;

	valid |= r->set & FILE_SET_MODE ? SETATTR_MODE : 0;
	valid |= r->set & FILE_SET_LENGTH ? SETATTR_SIZE : 0;
	valid |= r->set & FILE_SET_ACCESSED ? SETATTR_ACCESSED | SETATTR_ACCESSED_SET : 0;
	valid |= r->set & FILE_SET_MODIFIED ? SETATTR_MODIFIED | SETATTR_MODIFIED_SET : 0;
	p9_put(&out, fid, 4);
	p9_put(&out, valid, 4);
	p9_put(&out, r->mode & 0777, 4);
	p9_put(&out, 0, 8); /* uid and gid */
	p9_put(&out, r->length, 8);
	p9_put(&out, (uint64_t)r->accessed.seconds, 8);
	p9_put(&out, (uint64_t)r->accessed.nanoseconds, 8);
	p9_put(&out, (uint64_t)r->modified.seconds, 8);
	p9_put(&out, (uint64_t)r->modified.nanoseconds, 8);
	return ask_plain(s, &out, &in);
}

static bool is_name(const uint8_t *name, uint32_t size)
{
	for (uint32_t i = 0; i < size; i++)
		if (!name[i] || name[i] == '/')
			return false;
	return size && size <= FILE_NAME_MOST;
}

/* Stores one entry. Returns its size, or 0: there is no room for it. */
static uint32_t put_entry(struct p9_in *in, char *to, uint32_t room)
{
	struct file_entry entry = { .inode = get_qid(in).path };

	entry.cookie = p9_get(in, 8);
	entry.type = (uint8_t)p9_get(in, 1);
	const uint32_t length = (uint32_t)p9_get(in, 2);
	const uint8_t *name = p9_get_bytes(in, length);
	const uint32_t size = (ENTRY_HEAD + length + 7) & ~7u;
	if (!name || !is_name(name, length)) {
		in->bad = true;
		return 0;
	}
	if (size > room)
		return 0;
	entry.size = (uint16_t)size;
	entry.name_size = (uint8_t)length;
	__builtin_memcpy(to, &entry, sizeof(entry));
	__builtin_memcpy(to + ENTRY_HEAD, name, length);
	return size;
}

int p9_list(struct p9_session *s, uint32_t fid, uint64_t cookie, char *to, uint32_t size)
{
	struct p9_out out = request(s, P9_READDIR);
	struct p9_in in;
	uint32_t held = 0;

	p9_put(&out, fid, 4);
	p9_put(&out, cookie, 8);
	p9_put(&out, P9_ANSWER_MOST - IO_HEADER, 4);
	const int error = ask_plain(s, &out, &in);
	if (error)
		return error;
	const uint64_t count = p9_get(&in, 4);
	if (in.bad || count != p9_left(&in))
		return broken(s);
	while (p9_left(&in)) {
		const uint32_t one = put_entry(&in, to + held, size - held);

		if (in.bad)
			return broken(s);
		if (!one)
			return held ? (int)held : -EINVAL;
		held += one;
	}
	return (int)held;
}

int p9_make(struct p9_session *s, uint32_t directory, const char *name, uint32_t size, uint32_t mode, uint32_t gid)
{
	struct p9_out out = request(s, P9_MKDIR);
	struct p9_in in;

	p9_put(&out, directory, 4);
	p9_put_string(&out, name, size);
	p9_put(&out, mode, 4);
	p9_put(&out, gid, 4);
	return ask_plain(s, &out, &in);
}

int p9_remove(struct p9_session *s, uint32_t directory, const char *name, uint32_t size, bool is_directory)
{
	struct p9_out out = request(s, P9_UNLINK);
	struct p9_in in;

	p9_put(&out, directory, 4);
	p9_put_string(&out, name, size);
	p9_put(&out, is_directory ? REMOVE_DIRECTORY : 0, 4);
	return ask_plain(s, &out, &in);
}

int p9_rename(struct p9_session *s, uint32_t from, const char *name, uint32_t size, uint32_t to, const char *new_name,
              uint32_t new_size)
{
	struct p9_out out = request(s, P9_RENAME);
	struct p9_in in;

	p9_put(&out, from, 4);
	p9_put_string(&out, name, size);
	p9_put(&out, to, 4);
	p9_put_string(&out, new_name, new_size);
	return ask_plain(s, &out, &in);
}

int p9_space(struct p9_session *s, struct file_space *space)
{
	struct p9_out out = request(s, P9_STATFS);
	struct p9_in in;

	p9_put(&out, P9_ROOT, 4);
	const int error = ask_plain(s, &out, &in);
	if (error)
		return error;
	p9_get(&in, 4); /* kind of file system */
	space->block_size = p9_get(&in, 4);
	space->blocks = p9_get(&in, 8);
	space->free = p9_get(&in, 8);
	space->available = p9_get(&in, 8);
	space->files = p9_get(&in, 8);
	space->files_free = p9_get(&in, 8);
	return ended(s, &in);
}
