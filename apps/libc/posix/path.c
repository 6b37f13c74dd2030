/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a path leads. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include "ramfs.h"

/* One step from a directory; *node is null where it has no such entry. */
static int path_step(struct ramfs_node *directory, const char *name, size_t length, struct ramfs_node **node)
{
	if (!S_ISDIR(directory->mode))
		return -ENOTDIR;
	if (!ramfs_is_linked(directory))
		return -ENOENT;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	return ramfs_child(directory, name, length, node);
}

/* Behind the ".." that leaves a volume, from a directory of it on; null: the path stays there. */
static const char *behind_volume(const char *before, const char *path)
{
	size_t depth = 0;

	for (size_t length; *(before += strspn(before, "/")); before += length, depth++)
		length = strcspn(before, "/");
	for (size_t length; *(path += strspn(path, "/")); path += length) {
		length = strcspn(path, "/");
		if (length == 2 && path[0] == '.' && path[1] == '.' && !depth--)
			return path + length;
		depth += !(path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.')));
	}
	return 0;
}

static bool is_mount_point(const struct ramfs_node *node) { return node && S_ISDIR(node->mode) && node->special; }

/* At a mount point the walk ends, unless the rest of the path leaves the volume: that is returned. */
static const char *pass_volume(struct place *out, const char *before, const char *path)
{
	const char *behind;

	if (!is_mount_point(out->node))
		return path;
	behind = behind_volume(before, path);
	if (!behind) {
		out->volume = out->node->special;
		out->before = before;
		out->rest = path;
		return path + strlen(path);
	}
	out->name = 0;
	out->node = out->node->parent;
	return is_mount_point(out->node) ? pass_volume(out, "", behind) : behind;
}

int path_walk_from(struct ramfs_node *from, const char *before, const char *path, struct place *out)
{
	*out = (struct place){ .directory = from, .node = from };
	for (size_t length; path = pass_volume(out, before, path), *(path += strspn(path, "/")); path += length) {
		struct ramfs_node *directory = out->node;

		length = strcspn(path, "/");
		before = "";
		if (!directory)
			return -ENOENT;
		out->slash = path[length];
		out->name = 0;
		out->entry = 0;
		if (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))) {
			if (!S_ISDIR(directory->mode))
				return -ENOTDIR;
			if (!ramfs_is_linked(directory))
				return -ENOENT;
			out->node = length == 1 ? directory : directory->parent;
			continue;
		}
		int error = path_step(directory, path, length, &out->node);
		if (error)
			return error;
		out->entry = out->node;
		if (out->node)
			out->node = ramfs_named(out->node);
		out->directory = directory;
		out->name = path;
		out->length = length;
	}
	return out->node && out->slash && !S_ISDIR(out->node->mode) ? -ENOTDIR : 0;
}

int path_walk(struct ramfs_node *from, const char *path, struct place *out)
{
	return path_walk_from(from, "", path, out);
}
