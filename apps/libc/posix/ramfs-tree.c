/* SPDX-License-Identifier: BSD-2-Clause */
/* Names: directories with their entries in the order in which they came, and one hash table to find an entry by its
 * name. */
#include <errno.h>
#include <string.h>
#include "ramfs.h"

enum { BUCKETS_FIRST = 64 };

static struct ramfs_node root;
static struct ramfs_node *first_buckets[BUCKETS_FIRST];
static struct ramfs_node **bucket = first_buckets;
static size_t buckets = BUCKETS_FIRST, linked; /* a power of two; nodes in the table */
static uint64_t last_order = 2; /* "." and ".." come before all */
#ifdef LAYER_FAMILY
bool ramfs_begun;
static uint64_t order_begun; /* the last one from the start, but for those of directories that are not looked into */
#endif

struct ramfs_node *ramfs_root(void)
{
	if (!root.parent) {
		root.parent = &root;
		root.name = "";
		root.mode = S_IFDIR | 0755;
		root.inode = 1;
		root.opened = 1;
		list_init(&root.directory.nodes);
		ramfs_touch(&root);
		ramfs_image_start(&root);
#ifdef LAYER_FAMILY
		ramfs_begun = true;
		order_begun = last_order;
#endif
	}
	return &root;
}

/* FNV-1a, from the directory's address on. */
static uint64_t hash_of(const struct ramfs_node *directory, const char *name, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ (uintptr_t)directory;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3ull;
	return hash ^ hash >> 32;
}

static struct ramfs_node **bucket_of(const struct ramfs_node *directory, const char *name, size_t length)
{
	return &bucket[hash_of(directory, name, length) & (buckets - 1)];
}

static void table_put(struct ramfs_node *node)
{
	require(node->parent && node != &root);
	struct ramfs_node **at = bucket_of(node->parent, node->name, strlen(node->name));

	node->same_hash = *at;
	*at = node;
}

/* Without memory for a larger table chains grow longer. */
static void table_grow(void)
{
	struct ramfs_node **old = bucket;
	const size_t count = buckets;
	struct ramfs_node **larger = layer_allocate(2 * count * sizeof(*larger));

	if (!larger)
		return;
	bucket = larger;
	buckets = 2 * count;
	for (size_t i = 0; i < count; i++)
		for (struct ramfs_node *node = old[i], *next; node; node = next) {
			next = node->same_hash;
			table_put(node);
		}
	if (old != first_buckets)
		layer_free(old);
}

void ramfs_link(struct ramfs_node *node, struct ramfs_node *directory)
{
	require(S_ISDIR(directory->mode) && !node->parent);
	if (++linked > buckets)
		table_grow();
	node->parent = directory;
	node->order = ++last_order;
	list_append(&directory->directory.nodes, &node->in_directory);
	table_put(node);
}

static void unlink_from_parent(struct ramfs_node *node)
{
	struct ramfs_node *directory = node->parent;
	struct ramfs_node **at = bucket_of(directory, node->name, strlen(node->name));

	require(directory && node != &root && linked);
	while (*at != node) {
		require(*at);
		at = &(*at)->same_hash;
	}
	*at = node->same_hash;
	linked--;
	list_remove(&node->in_directory);
	node->parent = 0;
}

int ramfs_child(struct ramfs_node *directory, const char *name, size_t length, struct ramfs_node **out)
{
	require(S_ISDIR(directory->mode));
	int error = ramfs_image_fill(directory);

	if (error)
		return error;
	for (*out = *bucket_of(directory, name, length); *out; *out = (*out)->same_hash)
		if ((*out)->parent == directory && !strncmp((*out)->name, name, length) && !(*out)->name[length])
			break;
	return 0;
}

static struct ramfs_node *entry_at(const struct ramfs_node *directory, struct list *link)
{
	return link == &directory->directory.nodes ? 0 : LIST_OF(link, struct ramfs_node, in_directory);
}

struct ramfs_node *ramfs_entry_next(const struct ramfs_node *node)
{
	return entry_at(node->parent, node->in_directory.next);
}

struct ramfs_node *ramfs_entry_after(const struct ramfs_node *directory, uint64_t order)
{
	struct ramfs_node *node = entry_at(directory, directory->directory.nodes.next);

	while (node && node->order <= order)
		node = ramfs_entry_next(node);
	return node;
}

struct ramfs_node *ramfs_node_make(const char *name, uint32_t mode)
{
	static uint32_t last_inode = 1;
	struct ramfs_node *node = layer_allocate(sizeof(*node));

	if (node) {
		node->name = name;
		node->mode = mode;
		node->inode = ++last_inode;
		if (S_ISDIR(mode))
			list_init(&node->directory.nodes);
	}
	return node;
}

static char *copy_name(const char *name, size_t length)
{
	char *copy = layer_allocate(length + 1);

	if (copy)
		memcpy(copy, name, length);
	return copy;
}

static void free_name(const struct ramfs_node *node)
{
	if (!ramfs_image_holds(node->name))
		layer_free((void *)(uintptr_t)node->name);
}

int ramfs_create(struct ramfs_node *directory, const char *name, size_t length, uint32_t mode, struct ramfs_node **out)
{
	require(length && S_ISDIR(directory->mode));
	char *own = copy_name(name, length);
	struct ramfs_node *node = own ? ramfs_node_make(own, mode) : 0;

	if (!node) {
		layer_free(own);
		return -ENOSPC;
	}
	ramfs_link(node, directory);
	ramfs_touch(node);
	ramfs_touch(directory);
	*out = node;
	return 0;
}

int ramfs_move(struct ramfs_node *node, struct ramfs_node *directory, const char *name, size_t length)
{
	require(length && node->parent && !node->read_only);
	char *own = copy_name(name, length);

	if (!own)
		return -ENOSPC;
	ramfs_touch(node->parent);
	unlink_from_parent(node);
	free_name(node);
	node->name = own;
	ramfs_link(node, directory);
	ramfs_touch(directory);
	return 0;
}

int ramfs_name(struct ramfs_node *file, struct ramfs_node *directory, const char *name, size_t length)
{
	require(length && S_ISREG(file->mode) && S_ISDIR(directory->mode));
	if (file->links == RAMFS_LINKS)
		return -EMLINK;
	char *own = copy_name(name, length);
	struct ramfs_node *node = own ? layer_allocate(sizeof(*node)) : 0;

	if (!node) {
		layer_free(own);
		return -ENOSPC;
	}
	node->name = own;
	node->same = file;
	file->links++;
	ramfs_link(node, directory);
	ramfs_touch(directory);
	return 0;
}

static void destroy_unused(struct ramfs_node *node)
{
	if (ramfs_is_linked(node) || node->opened || node->links)
		return;
	if (S_ISREG(node->mode))
		ramfs_resize(node, 0);
	free_name(node);
	layer_free(node->times);
	layer_free(node);
}

void ramfs_unlink(struct ramfs_node *node)
{
	require(!S_ISDIR(node->mode) || list_is_empty(&node->directory.nodes));
	struct ramfs_node *file = ramfs_named(node);

	ramfs_touch(node->parent);
	unlink_from_parent(node);
	if (file != node) {
		require(file->links);
		file->links--;
		free_name(node);
		layer_free(node);
	}
	destroy_unused(file);
}

void ramfs_release(struct ramfs_node *node)
{
	require(node->opened);
	node->opened--;
	destroy_unused(node);
}

#ifdef LAYER_FAMILY
bool ramfs_is_made(const struct ramfs_node *node)
{
	return node->order > order_begun && !ramfs_image_holds(node->name);
}

bool ramfs_path(const struct ramfs_node *node, char *path, size_t room)
{
	size_t length = node == &root;

	for (const struct ramfs_node *n = node; n != &root; n = n->parent) {
		if (!ramfs_is_linked(n))
			return false;
		length += strlen(n->name) + 1;
	}
	if (length >= room)
		return false;
	path[length] = 0;
	path[0] = '/';
	for (const struct ramfs_node *n = node; n != &root; n = n->parent) {
		length -= strlen(n->name) + 1;
		path[length] = '/';
		memcpy(path + length + 1, n->name, strlen(n->name));
	}
	return true;
}
#endif
