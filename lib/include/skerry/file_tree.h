/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that a program has from the start: a module that the host makes of
 * `files` in a deployment (deploy/deployment/file_tree.py), and that every program which
 * names it has mapped read-only at PROCESS_FILES_VADDR, in the same frames.
 *
 * The head is followed by `count` entries. Entry 0 is the root directory; the
 * entries of a directory stand side by side, behind the directory's own. Then
 * come names, each ended by a NUL, and contents: those of at least
 * FILE_TREE_ALIGNED bytes begin at a page and end with zeroes up to the next
 * page, so that they can be mapped as they are.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define FILE_TREE_MAGIC 0x53454c4946594b53ull /* "SKYFILES" */
enum {
	FILE_TREE_VERSION = 1,
	FILE_TREE_ALIGNED = 65536, /* bytes of a file that begins at a page */
	FILE_TREE_ENTRIES = 65536, /* at most, directories among them */
	FILE_TREE_NAME = 255,      /* bytes of a name, without its NUL: NAME_MAX */
};
#define FILE_TREE_BYTES (1ull << 30) /* of a module at most */

enum { FILE_TREE_DIRECTORY = 1u << 31, FILE_TREE_WRITABLE = 1u << 30, FILE_TREE_PERMISSIONS = 0777 };

struct file_tree_entry {
	uint64_t data;    /* offset of a file's content; of a directory the number of its first entry */
	uint64_t size;    /* bytes of a file; of a directory how many entries it has */
	uint64_t changed; /* nanoseconds since 1970 */
	uint32_t name;    /* offset of its name */
	uint32_t mode;    /* permissions, and the bits above */
};

struct file_tree {
	uint64_t magic;
	uint32_t version, count;
	uint64_t size;     /* of all of it, in bytes */
	uint64_t reserved;
	struct file_tree_entry entry[];
};
_Static_assert(sizeof(struct file_tree) == 32 && sizeof(struct file_tree_entry) == 32, "as the host writes it");

/* Returns whether `bytes` from `tree` on are a tree of this version whose head and entries are all there. */
static inline bool file_tree_is_valid(const struct file_tree *tree, uint64_t bytes)
{
	return bytes >= sizeof *tree + sizeof *tree->entry && tree->magic == FILE_TREE_MAGIC &&
	       tree->version == FILE_TREE_VERSION && tree->size <= bytes && tree->size <= FILE_TREE_BYTES &&
	       tree->count > 0 &&
	       tree->count <= FILE_TREE_ENTRIES && sizeof *tree + tree->count * sizeof *tree->entry <= tree->size &&
	       (tree->entry[0].mode & FILE_TREE_DIRECTORY);
}

/*
 * Returns whether entry `number` of a valid tree keeps to the form: its name and content
 * lie inside the tree, its entries behind it. The root's name is of no account.
 */
static inline bool file_tree_entry_is_valid(const struct file_tree *tree, uint32_t number)
{
	const struct file_tree_entry *e = &tree->entry[number];
	const uint64_t most = tree->size - (e->name < tree->size ? e->name : tree->size);
	const char *name = (const char *)tree + e->name;
	const char *end = most == 0 ? NULL
	           : (const char *)memchr(name, 0, most <= FILE_TREE_NAME ? most : FILE_TREE_NAME + 1);

	if (number > 0 && (end == NULL || end == name || memchr(name, '/', (uint64_t)(end - name)) != NULL ||
			   strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		return false;
	if (e->mode & FILE_TREE_DIRECTORY)
		return e->size == 0 || (e->data > number && e->data < tree->count && e->size <= tree->count - e->data);
	return e->data <= tree->size && e->size <= tree->size - e->data;
}
