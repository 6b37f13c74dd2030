/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "folder.h"

enum { DIRECTORY = 0040000, KIND = 0170000, EXCLUSIVE = 0200, TRUNCATE = 01000, REMOVE_DIRECTORY = 0x200 };

uint64_t folder_draw(struct folder *f, uint64_t below)
{
	f->drawn = f->drawn * 6364136223846793005ull + 1442695040888963407ull;
	return (f->drawn >> 33) % below;
}

static bool is_directory(const struct folder *f, unsigned node) { return (f->node[node].mode & KIND) == DIRECTORY; }

static int find(const struct folder *f, unsigned parent, const uint8_t *name, uint32_t size)
{
	for (int i = 1; i < FOLDER_NODES; i++)
		if (f->node[i].name[0] && f->node[i].parent == parent && strlen(f->node[i].name) == size &&
		    !memcmp(f->node[i].name, name, size))
			return i;
	return -1;
}

unsigned folder_add(struct folder *f, unsigned parent, const char *name, uint32_t mode)
{
	for (unsigned i = 1; i < FOLDER_NODES; i++)
		if (!f->node[i].name[0]) {
			memset(&f->node[i], 0, sizeof(f->node[i]));
			strcpy(f->node[i].name, name);
			f->node[i].parent = parent;
			f->node[i].mode = mode;
			return i;
		}
	return 0;
}

static void put_qid(struct p9_out *out, const struct folder *f, unsigned node)
{
	const bool is_link = (f->node[node].mode & KIND) == 0120000;

	p9_put(out, is_directory(f, node) ? P9_QID_DIRECTORY : is_link ? P9_QID_LINK : 0, 1);
	p9_put(out, 0, 4);
	p9_put(out, node + 1, 8);
}

/* The node of a fid; the client must not ask about another. */
static unsigned node_of(const struct folder *f, uint64_t fid)
{
	CHECK(fid < FOLDER_FIDS && f->fid[fid]);
	return (unsigned)f->fid[fid] - 1;
}

/* A name as a server may get it: not empty, without '/', and neither "." nor "..". */
static void get_name(struct p9_in *in, char name[FILE_NAME_MOST + 1])
{
	const uint32_t size = (uint32_t)p9_get(in, 2);
	const uint8_t *bytes = p9_get_bytes(in, size);

	CHECK(bytes && size && size <= FILE_NAME_MOST && !memchr(bytes, '/', size) && !memchr(bytes, 0, size));
	memcpy(name, bytes, size);
	name[size] = 0;
	CHECK(strcmp(name, ".") && strcmp(name, ".."));
}

static int walk(struct folder *f, struct p9_in *in, struct p9_out *out)
{
	const uint64_t from = p9_get(in, 4), to = p9_get(in, 4), names = p9_get(in, 2);
	unsigned node = node_of(f, from), done = 0;
	uint8_t *const count = out->data + out->size;

	CHECK(to < FOLDER_FIDS && (from == to || !f->fid[to]) && names <= P9_WALK_MOST && !f->opened[from]);
	p9_put(out, 0, 2);
	for (; done < names; done++) {
		char name[FILE_NAME_MOST + 1];

		get_name(in, name);
		const int next = is_directory(f, node) ? find(f, node, (uint8_t *)name, (uint32_t)strlen(name)) : -1;
		if (next < 0)
			break;
		node = (unsigned)next;
		put_qid(out, f, node);
	}
	if (names && !done)
		return is_directory(f, node) ? ENOENT : ENOTDIR;
	count[0] = (uint8_t)done;
	if (done == names)
		f->fid[to] = (int)node + 1;
	return 0;
}

static int create(struct folder *f, struct p9_in *in, struct p9_out *out, uint32_t kind)
{
	const uint64_t fid = p9_get(in, 4);
	const unsigned parent = node_of(f, fid);
	char name[FILE_NAME_MOST + 1];

	get_name(in, name);
	if (!kind)
		CHECK(p9_get(in, 4) & EXCLUSIVE);
	const uint32_t mode = (uint32_t)p9_get(in, 4);
	CHECK(!(mode & ~0777u) && p9_get(in, 4) == 7);
	if (!parent && f->removed)
		return ENOENT;
	if (find(f, parent, (uint8_t *)name, (uint32_t)strlen(name)) >= 0)
		return EEXIST;
	const unsigned node = folder_add(f, parent, name, (kind ? kind : 0100000) | mode);
	if (!node)
		return ENOSPC;
	if (!kind) {
		f->fid[fid] = (int)node + 1;
		f->opened[fid] = true;
	}
	put_qid(out, f, node);
	p9_put(out, 0, 4);
	return 0;
}

static int read_node(struct folder *f, struct p9_in *in, struct p9_out *out)
{
	const uint64_t fid = p9_get(in, 4), offset = p9_get(in, 8);
	uint64_t size = p9_get(in, 4);
	const struct folder_node *node = &f->node[node_of(f, fid)];

	CHECK(f->opened[fid] && size <= P9_DATA_MOST);
	size = offset >= node->size ? 0 : size < node->size - offset ? size : node->size - offset;
	p9_put(out, size, 4);
	p9_put_bytes(out, node->data + offset, (uint32_t)size);
	return 0;
}

static int write_node(struct folder *f, struct p9_in *in, struct p9_out *out)
{
	const uint64_t fid = p9_get(in, 4), offset = p9_get(in, 8), size = p9_get(in, 4);
	struct folder_node *node = &f->node[node_of(f, fid)];

	CHECK(f->opened[fid] && size == p9_left(in));
	if (offset >= FOLDER_DATA)
		return ENOSPC;
	const uint64_t fits = size < FOLDER_DATA - offset ? size : FOLDER_DATA - offset;
	memcpy(node->data + offset, in->data + in->at, fits);
	if (node->size < offset + fits)
		node->size = (uint32_t)(offset + fits);
	if (fits < size)
		return ENOSPC; /* as QEMU: the part is stored all the same */
	p9_put(out, fits, 4);
	return 0;
}

static int status(struct folder *f, struct p9_in *in, struct p9_out *out)
{
	const unsigned node = node_of(f, p9_get(in, 4));

	p9_put(out, 0x7ff, 8);
	put_qid(out, f, node);
	p9_put(out, f->node[node].mode, 4);
	p9_put(out, 5, 4);
	p9_put(out, 7, 4);
	p9_put(out, 1, 8);
	p9_put(out, 0, 8);
	p9_put(out, f->node[node].size, 8);
	for (int i = 0; i < 2 + 2 * 4 + 2; i++)
		p9_put(out, 8, 8);
	return 0;
}

static int list(struct folder *f, struct p9_in *in, struct p9_out *out)
{
	const unsigned node = node_of(f, p9_get(in, 4));
	const uint64_t cookie = p9_get(in, 8), most = p9_get(in, 4);
	uint8_t *const count = out->data + out->size;
	const uint32_t begin = out->size + 4;

	p9_put(out, 0, 4);
	for (unsigned i = (unsigned)cookie + 1; i < FOLDER_NODES && out->size - begin + 24 + 255 <= most; i++)
		if (f->node[i].name[0] && f->node[i].parent == node) {
			put_qid(out, f, i);
			p9_put(out, i, 8);
			p9_put(out, is_directory(f, i) ? 4 : 8, 1);
			p9_put_string(out, f->node[i].name, (uint32_t)strlen(f->node[i].name));
		}
	const uint32_t size = out->size - begin;
	memcpy(count, &size, sizeof(size));
	return 0;
}

static int take_away(struct folder *f, struct p9_in *in)
{
	const unsigned parent = node_of(f, p9_get(in, 4));
	char name[FILE_NAME_MOST + 1];

	get_name(in, name);
	const uint64_t flags = p9_get(in, 4);
	const int node = find(f, parent, (uint8_t *)name, (uint32_t)strlen(name));
	if (node < 0)
		return ENOENT;
	if (is_directory(f, (unsigned)node) != (flags == REMOVE_DIRECTORY))
		return flags ? ENOTDIR : EISDIR;
	f->node[node].name[0] = 0;
	return 0;
}

static int rename_node(struct folder *f, struct p9_in *in)
{
	const unsigned from = node_of(f, p9_get(in, 4));
	char name[FILE_NAME_MOST + 1], new_name[FILE_NAME_MOST + 1];

	get_name(in, name);
	const unsigned to = node_of(f, p9_get(in, 4));
	get_name(in, new_name);
	const int node = find(f, from, (uint8_t *)name, (uint32_t)strlen(name));
	const int old = find(f, to, (uint8_t *)new_name, (uint32_t)strlen(new_name));
	if (node < 0)
		return ENOENT;
	if (old >= 0)
		f->node[old].name[0] = 0;
	strcpy(f->node[node].name, new_name);
	f->node[node].parent = to;
	return 0;
}

static int set(struct folder *f, struct p9_in *in)
{
	struct folder_node *node = &f->node[node_of(f, p9_get(in, 4))];
	const uint64_t valid = p9_get(in, 4), mode = p9_get(in, 4);

	p9_get(in, 8);
	const uint64_t size = p9_get(in, 8);
	if (valid & 1)
		node->mode = (node->mode & KIND) | (uint32_t)mode;
	if (valid & 8 && size > FOLDER_DATA)
		return ENOSPC;
	if (valid & 8)
		node->size = (uint32_t)size;
	return 0;
}

static int open_node(struct folder *f, struct p9_in *in, struct p9_out *out)
{
	const uint64_t fid = p9_get(in, 4), flags = p9_get(in, 4);
	struct folder_node *node = &f->node[node_of(f, fid)];

	/* the client opens files and directories alone, each once */
	CHECK(!f->opened[fid] && ((node->mode & KIND) == 0100000 || (node->mode & KIND) == DIRECTORY));
	f->opened[fid] = true;
	if (flags & TRUNCATE)
		node->size = 0;
	put_qid(out, f, node_of(f, fid));
	p9_put(out, 0, 4);
	return 0;
}

static int clunk(struct folder *f, struct p9_in *in)
{
	const uint64_t fid = p9_get(in, 4);

	node_of(f, fid);
	f->fid[fid] = 0;
	f->opened[fid] = false;
	return 0;
}

static int attach(struct folder *f, struct p9_in *in, struct p9_out *out)
{
	const uint64_t fid = p9_get(in, 4);

	CHECK(fid < FOLDER_FIDS && !f->fid[fid]);
	f->fid[fid] = 1;
	put_qid(out, f, 0);
	return 0;
}

static int answer(struct folder *f, unsigned type, struct p9_in *in, struct p9_out *out)
{
	switch (type) {
	case P9_VERSION:
		p9_put(out, p9_get(in, 4), 4);
		p9_put_string(out, "9P2000.L", 8);
		return 0;
	case P9_ATTACH: return attach(f, in, out);
	case P9_WALK: return walk(f, in, out);
	case P9_OPEN: return open_node(f, in, out);
	case P9_CREATE: return create(f, in, out, 0);
	case P9_MKDIR: return create(f, in, out, DIRECTORY);
	case P9_READ: return read_node(f, in, out);
	case P9_WRITE: return write_node(f, in, out);
	case P9_GETATTR: return status(f, in, out);
	case P9_SETATTR: return set(f, in);
	case P9_READDIR: return list(f, in, out);
	case P9_UNLINK: return take_away(f, in);
	case P9_RENAME: return rename_node(f, in);
	case P9_CLUNK: return clunk(f, in);
	case P9_FSYNC: return 0;
	case P9_STATFS:
		for (int i = 0; i < 2; i++)
			p9_put(out, 4096, 4);
		for (int i = 0; i < 6; i++)
			p9_put(out, 1000, 8);
		return 0;
	default: return ENOSYS;
	}
}

static uint32_t exchange(struct p9_session *session, uint32_t size)
{
	struct folder *f = session->context;
	struct p9_in in = { .data = f->request, .size = size };
	struct p9_out out;
	const uint64_t said = p9_get(&in, 4), type = p9_get(&in, 1), tag = p9_get(&in, 2);

	CHECK(said == size && !session->broken); /* after a broken answer nothing is asked */
	f->asked[type]++;
	p9_begin(&out, f->reply, P9_MESSAGE, (enum p9_type)(type + 1), (uint16_t)tag);
	const int error = f->fail_type == (int)type ? f->fail_with : answer(f, (unsigned)type, &in, &out);
	CHECK(!in.bad);
	if (error) {
		p9_begin(&out, f->reply, P9_MESSAGE, P9_ERROR, (uint16_t)tag);
		p9_put(&out, (uint64_t)error, 4);
	}
	const uint32_t written = p9_end(&out);
	return f->lie ? f->lie(f, f->reply, written) : written;
}

void folder_start(struct folder *f, struct volume *v)
{
	memset(f, 0, sizeof(*f));
	f->node[0].mode = DIRECTORY | 0755;
	f->drawn = 1;
	f->request = malloc(P9_MESSAGE);
	f->reply = malloc(P9_MESSAGE);
	memset(f->reply, 0, P9_MESSAGE);
	memset(v, 0, sizeof(*v));
	v->session.request = f->request;
	v->session.reply = f->reply;
	v->session.exchange = exchange;
	v->session.context = f;
	CHECK(!volume_start(v) && v->uid == 5 && v->gid == 7);
}

void folder_free(struct folder *f)
{
	free(f->request);
	free(f->reply);
}
