/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "birth.h"
#include "family.h"
#include "family-stream.h"
#include "platform.h"
#include "ramfs.h"
#include "signals.h"
#include "volume.h"

#define MAGIC 0x3148545249424b53ull /* "SKBIRTH1": the version is its last digit */

enum { UNLINKED = 1 /* flags of a node: it has no name, but is open */ };
enum kind { KIND_FILE = 1, KIND_DEVICE, KIND_PIPE, KIND_PAIR };

struct node_record {
	uint32_t mode, flags;
	uint64_t size, changed;
	struct timespec accessed, modified; /* as the program has set them; else tv_nsec UTIME_OMIT */
};

struct descriptor_record {
	uint32_t fd, same; /* the first one of the same open file; another one than `fd`: nothing else counts */
	uint32_t kind, flags;
	int64_t place[2];  /* of a file its position; of a stream the numbers of its rings, -1: none */
};

/* --- writing --- */

/* Without memory it only counts. */
struct writer {
	char *to;
	size_t length;
	uint32_t nodes, descriptors;
	long error;
};

static void put(struct writer *w, const void *from, size_t size)
{
	if (w->to)
		memcpy(w->to + w->length, from, size);
	w->length += (size + 7) & ~7ul;
}

static void put_text(struct writer *w, const char *text)
{
	const uint64_t length = strlen(text);

	put(w, &length, sizeof(length));
	put(w, text, length + 1);
}

static void put_content(struct writer *w, const struct ramfs_node *node)
{
	if (w->to)
		ramfs_read(node, w->to + w->length, node->size, 0);
	w->length += (node->size + 7) & ~7ul;
}

static void put_node(struct writer *w, const struct ramfs_node *node, const char *path, uint32_t flags)
{
	const bool is_file = S_ISREG(node->mode);
	struct node_record r = { .mode = node->mode, .flags = flags, .size = is_file ? node->size : 0,
	                         .changed = node->changed };

	if (node->times) {
		r.accessed = node->times->accessed;
		r.modified = node->times->modified;
	} else {
		r.accessed.tv_nsec = UTIME_OMIT;
	}
	w->nodes++;
	put(w, &r, sizeof(r));
	put_text(w, path);
	if (is_file)
		put_content(w, node);
}

/* All below a directory that the program has made or changed. `path` has PATH_MAX bytes, `length` of which are used. */
static void put_directory(struct writer *w, struct ramfs_node *directory, bool all, char *path, size_t length)
{
	for (struct ramfs_node *node = ramfs_entry_after(directory, 0); node; node = ramfs_entry_next(node)) {
		const bool made = all || ramfs_is_made(node);
		const size_t more = strlen(node->name) + 1;

		if (node->special)
			continue;
		if (length + more >= PATH_MAX) {
			w->error = -ENAMETOOLONG;
			return;
		}
		path[length] = '/';
		memcpy(path + length + 1, node->name, more);
		if (made || node->altered || (S_ISREG(node->mode) && node->mapped))
			put_node(w, node, path, 0);
		if (S_ISDIR(node->mode))
			put_directory(w, node, made, path, length + more);
		path[length] = 0;
	}
}

/* Returns the node of a descriptor's file that has no name, or null. */
static struct ramfs_node *unlinked_of(int fd)
{
	struct ramfs_node *node = ramfs_node_of(descriptor_file(fd));

	return node && !ramfs_is_linked(node) && S_ISREG(node->mode) ? node : 0;
}

/* A name for a file without one, by the first descriptor that has it. */
static const char *name_unlinked(char name[32], const struct ramfs_node *node)
{
	struct text text = { .data = name, .size = 31 };
	int fd = descriptor_inherited(0);

	while (unlinked_of(fd) != node)
		fd = descriptor_inherited(fd + 1);
	text_format(&text, "/.exec-%d-%lu", fd, node->changed % 1000000007);
	name[text.length] = 0;
	return name;
}

static void put_unlinked(struct writer *w)
{
	char name[32];

	for (int fd = descriptor_inherited(0); fd >= 0; fd = descriptor_inherited(fd + 1)) {
		const struct ramfs_node *node = unlinked_of(fd);
		int first = node ? descriptor_inherited(0) : fd;

		while (first < fd && unlinked_of(first) != node)
			first = descriptor_inherited(first + 1);
		if (node && first == fd)
			put_node(w, node, name_unlinked(name, node), UNLINKED);
	}
}

static const char *path_of(const struct ramfs_node *node, char path[PATH_MAX])
{
	char unlinked[32];

	if (ramfs_path(node, path, PATH_MAX))
		return path;
	if (ramfs_is_linked(node) || !S_ISREG(node->mode))
		return 0;
	strcpy(path, name_unlinked(unlinked, node));
	return path;
}

/* Describes a file in a record. Returns false if no other program can have it. *path: null unless it has one. */
static bool describe(struct file *file, struct descriptor_record *r, char room[PATH_MAX], const char **path)
{
	struct ramfs_node *node = ramfs_node_of(file);

	*path = 0;
	r->flags = file->flags;
	if (node) {
		r->kind = KIND_FILE;
		r->place[0] = file->ops->seek(file, 0, SEEK_CUR);
		*path = path_of(node, room);
		return *path;
	}
	if (device_is(file, room)) {
		r->kind = KIND_DEVICE;
		*path = room;
		return true;
	}
	r->kind = socket_is_pair(file) ? KIND_PAIR : KIND_PIPE;
	return (r->kind == KIND_PAIR || pipe_is(file)) && family_stream_rings(file, r->place);
}

static void put_descriptors(struct writer *w)
{
	char room[PATH_MAX];
	const char *path;

	for (int fd = descriptor_inherited(0); fd >= 0; fd = descriptor_inherited(fd + 1)) {
		struct file *file = descriptor_file(fd);
		int first = file->references > 1 ? descriptor_inherited(0) : fd;

		while (descriptor_file(first) != file)
			first = descriptor_inherited(first + 1);
		struct descriptor_record r = { .fd = (uint32_t)fd, .same = (uint32_t)first };
		if (!describe(file, &r, room, &path))
			continue;
		w->descriptors++;
		put(w, &r, sizeof(r));
		if (path && r.same == r.fd)
			put_text(w, path);
	}
}

static void put_all(struct writer *w, struct birth *head)
{
	struct pending_signal pending[SIGNALS];
	char path[PATH_MAX];

	put(w, head, sizeof(*head));
	if (sys_getcwd((const long[]){ (long)path, sizeof(path) }) < 0)
		strcpy(path, "/");
	put_text(w, path);
	head->signals = signal_list(signal_state_of(thread_self()), pending, SIGNALS);
	put(w, pending, head->signals * sizeof(pending[0]));
	w->nodes = w->descriptors = 0;
	path[0] = 0;
	put_directory(w, ramfs_root(), false, path, 0);
	put_unlinked(w);
	put_descriptors(w);
	head->nodes = w->nodes;
	head->descriptors = w->descriptors;
}

long birth_make(struct birth **made)
{
	struct writer count = { 0 };
	struct birth head = { .magic = MAGIC, .pid = process_id, .parent = family_parent(),
	                      .break_end = memory_break(), .blocked = signal_state_of(thread_self())->blocked };

	require(layer_is_locked());
	put_all(&count, &head);
	if (count.error)
		return count.error;
	head.size = count.length;
	head.pages = (count.length + PAGE - 1) / PAGE;
	for (int number = 1; number <= SIGNALS; number++)
		if (signal_actions[number].handler == (void *)SIG_IGN)
			head.ignored |= SIGNAL_BIT(number);
	random_bytes(head.random, sizeof(head.random));
	user_get(head.id);
	*made = heap_map(head.pages);
	if (!*made)
		return -ENOMEM;
	struct writer w = { .to = (char *)*made };
	put_all(&w, &head);
	require(w.length == count.length && !w.error);
	memcpy(*made, &head, sizeof(head));
	return 0;
}

void birth_forget(struct birth *b) { heap_unmap(b, b->pages); }

/* --- reading --- */

struct reader {
	const char *from;
	size_t size, at;
	bool bad;
};

/* Returns null where the record has no so many bytes any more. */
static const void *take(struct reader *r, uint64_t size)
{
	const void *there = r->from + r->at;
	const uint64_t whole = (size + 7) & ~7ull;

	if (r->bad || whole < size || whole > r->size - r->at) {
		r->bad = true;
		return 0;
	}
	r->at += whole;
	return there;
}

static const char *take_text(struct reader *r)
{
	const uint64_t *length = take(r, sizeof(*length));
	const char *text = length && *length < PATH_MAX ? take(r, *length + 1) : 0;

	r->bad |= !text || strnlen(text, *length + 1) != *length;
	return r->bad ? 0 : text;
}

const struct birth *birth_found(void)
{
	const uint64_t heap = PROCESS_HEAP_VADDR, size = platform_info()->heap_size;
	const unsigned long *aux;
	char **end = environ;

	while (end && *end)
		end++;
	if (!end)
		return 0;
	for (aux = (const unsigned long *)(end + 1); aux[0] && aux[0] != AT_SKERRY_BIRTH; aux += 2)
		;
	const struct birth *b = aux[0] ? (const struct birth *)aux[1] : 0;
	if (!b || (uintptr_t)b % PAGE || (uintptr_t)b - heap >= size || b->magic != MAGIC ||
	    b->pages > (size - ((uintptr_t)b - heap)) / PAGE || b->size > b->pages * PAGE || b->size < sizeof(*b))
		return 0;
	return b;
}

static void make_node(const struct node_record *n, const char *path, const char *content)
{
	struct place there;

	if (path_walk(ramfs_root(), path, &there) || !there.name || there.volume)
		return;
	if (!there.node && ramfs_create(there.directory, there.name, there.length,
	                                n->mode & (S_IFMT | 0777), &there.node))
		return;
	struct ramfs_node *node = there.node;
	if (node->special || node->read_only || (node->mode & S_IFMT) != (n->mode & S_IFMT))
		return;
	node->mode = n->mode & (S_IFMT | 0777);
	if (S_ISREG(node->mode)) {
		ramfs_resize(node, 0);
		if (ramfs_write(node, content, n->size, 0) < (ssize_t)n->size && ramfs_resize(node, n->size))
			return;
	}
	ramfs_touch(node);
	node->changed = n->changed;
	if (n->accessed.tv_nsec != UTIME_OMIT)
		ramfs_set_times(node, (const struct timespec[]){ n->accessed, n->modified });
}

static void make_nodes(struct reader *r, uint32_t count)
{
	for (uint32_t i = 0; i < count && !r->bad; i++) {
		const struct node_record *n = take(r, sizeof(*n));
		const char *path = n ? take_text(r) : 0;
		const char *content = path ? take(r, n->size) : 0;

		r->bad |= !content || (!S_ISREG(n->mode) && !S_ISDIR(n->mode));
		if (!r->bad)
			make_node(n, path, content);
	}
}

/* The files that have no name any more lose it again. */
static void unlink_nodes(struct reader r, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct node_record *n = take(&r, sizeof(*n));
		const char *path = n ? take_text(&r) : 0;
		struct place there;

		if (!path || !take(&r, n->size))
			return;
		if (n->flags & UNLINKED && !path_walk(ramfs_root(), path, &there) && there.node && there.name &&
		    S_ISREG(there.node->mode) && !there.node->read_only)
			ramfs_unlink(there.node);
	}
}

static struct file *open_path(const struct descriptor_record *d, const char *path)
{
	struct place there;
	struct file *file;

	if (path_walk(ramfs_root(), path, &there) || !there.node || there.volume)
		return 0;
	const int flags = (int)d->flags & (O_ACCMODE | O_APPEND | O_NONBLOCK);
	if (there.node->special && S_ISDIR(there.node->mode))
		return 0;
	if (there.node->special ? device_open(there.node->special, flags, &file) : ramfs_open(there.node, flags, &file))
		return 0;
	if (d->kind == KIND_FILE && file->ops->seek)
		file->ops->seek(file, d->place[0], SEEK_SET);
	return file;
}

static void make_descriptors(struct reader *r, uint32_t count)
{
	for (uint32_t i = 0; i < count && !r->bad; i++) {
		const struct descriptor_record *d = take(r, sizeof(*d));
		const bool first = d && d->same == d->fd;
		const bool named = first && (d->kind == KIND_FILE || d->kind == KIND_DEVICE);
		const char *path = named ? take_text(r) : 0;
		struct file *file = 0;

		if (r->bad || (int)d->fd >= descriptor_count_max() || descriptor_file((int)d->fd)) {
			r->bad = true;
			return;
		}
		if (!first)
			file = descriptor_file((int)d->same) ? file_hold(descriptor_file((int)d->same)) : 0;
		else
			file = named ? open_path(d, path) : d->kind == KIND_PAIR ? pair_inherit(d->flags, d->place)
			       : d->kind == KIND_PIPE ? pipe_inherit(d->flags, d->place) : 0;
		if (file)
			descriptor_open(file, (int)d->fd);
	}
}

static bool read_all(struct reader *r, const struct birth *b)
{
	const char *cwd = take(r, sizeof(*b)) ? take_text(r) : 0;
	const struct pending_signal *pending = b->signals <= SIGNALS ? take(r, b->signals * sizeof(*pending)) : 0;

	if (!cwd || !pending)
		return false;
	for (uint32_t i = 0; i < b->signals; i++)
		if (pending[i].number >= 1 && pending[i].number <= SIGNALS) {
			struct pending_signal p = pending[i];
			p.to = 0;
			signal_put(&p);
		}
	const struct reader nodes = *r;
	make_nodes(r, b->nodes);
	make_descriptors(r, b->descriptors);
	unlink_nodes(nodes, b->nodes);
	sys_chdir((const long[]){ (long)cwd });
	return !r->bad;
}

bool birth_begin(void)
{
	const struct birth *b = birth_found();

	if (!b)
		return false;
	struct reader r = { .from = (const char *)b, .size = b->size };
	layer_lock();
	family_born(b->pid, b->parent);
	user_set(b->id);
	random_seed(b->random);
	for (int number = 1; number <= SIGNALS; number++)
		if (b->ignored & SIGNAL_BIT(number))
			signal_actions[number].handler = (void *)SIG_IGN;
	signal_state_of(thread_self())->blocked = b->blocked & ~SIGNALS_NEVER_BLOCKED;
	if (!read_all(&r, b))
		console_log("posix: what the program before has left is damaged");
	family_streams_born();
	heap_unmap((void *)(uintptr_t)b, b->pages);
	family_signals_start();
	layer_unlock();
	return true;
}
