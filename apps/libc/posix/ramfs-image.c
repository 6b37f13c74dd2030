/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The initial file system: the deployment's files, and then, where these have nothing of the same name, devices, /proc,
 * /tmp, and the files of /etc without which the C library knows neither users nor hosts.
 */
#include <errno.h>
#include <string.h>
#include <skerry/file_tree.h>
#include <skerry/process.h>
#include "platform.h"
#include "ramfs.h"

#define TREE ((const struct file_tree *)platform_files())

static const char passwd[] = "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n";
static const char group[] = "root:x:0:\nnogroup:x:65534:\n";
static const char hosts[] = "127.0.0.1 localhost\n";
/* Names that /etc/hosts does not have are not found, at once: musl would ask 127.0.0.1 for ten seconds. */
static const char resolver[] = "options timeout:0\n# no name server; the deployment can bring another "
                               "/etc/resolv.conf\n";

bool ramfs_image_holds(const void *address)
{
	return (uintptr_t)address - (uintptr_t)TREE < platform_info()->files_size;
}

static struct ramfs_node *node_make(const struct file_tree_entry *e)
{
	const bool directory = e->mode & FILE_TREE_DIRECTORY;
	struct ramfs_node *node =
		ramfs_node_make((const char *)TREE + e->name,
		                (directory ? S_IFDIR : S_IFREG) | (e->mode & FILE_TREE_PERMISSIONS));

	if (!node)
		return 0;
	node->changed = e->changed;
	if (directory) {
		node->directory.entry = (uint32_t)e->data;
		node->directory.entries = (uint32_t)e->size;
	} else {
		node->file.image = (const char *)TREE + e->data;
		node->size = e->size;
		node->file.image_size = (uint32_t)e->size;
		node->read_only = !(e->mode & FILE_TREE_WRITABLE);
	}
	return node;
}

int ramfs_image_fill(struct ramfs_node *directory)
{
	require(S_ISDIR(directory->mode));
	for (; directory->directory.entries; directory->directory.entry++, directory->directory.entries--) {
		const uint32_t number = directory->directory.entry;

		if (!file_tree_entry_is_valid(TREE, number) || TREE->entry[number].size > UINT32_MAX)
			continue;
		struct ramfs_node *node = node_make(&TREE->entry[number]);
		if (!node)
			return -ENOMEM;
		ramfs_link(node, directory);
	}
	return 0;
}

/* All of `path`, an absolute one, with what is missing of it; null where a file is in the way or no name can be had. */
static struct ramfs_node *node_add(const char *path, uint32_t mode)
{
	struct ramfs_node *node = ramfs_root();

	for (size_t length; *(path += strspn(path, "/")); path += length) {
		struct ramfs_node *parent = node;

		length = strcspn(path, "/");
		if (length > FILE_TREE_NAME || (path[0] == '.' && (length == 1 || (length == 2 && path[1] == '.'))))
			return 0;
		if (!S_ISDIR(parent->mode) || ramfs_child(parent, path, length, &node))
			return 0;
		const bool last = !path[length + strspn(path + length, "/")];
		if (!node && ramfs_create(parent, path, length, last ? mode : S_IFDIR | 0755, &node))
			return 0;
	}
	return node;
}

static void add_text(const char *path, const char *text, size_t size)
{
	struct ramfs_node *node = node_add(path, S_IFREG | 0644);

	if (node && S_ISREG(node->mode) && !node->file.image && !node->size) {
		node->file.image = text;
		node->size = size;
		node->file.image_size = (uint32_t)size;
	}
}

/* An empty file of the deployment's stays one. */
static bool is_missing(const char *path)
{
	struct place there;

	return path_walk(ramfs_root(), path, &there) || !there.node;
}

static void add_texts(void)
{
	const struct process_info *info = platform_info();

	if (is_missing("/etc/passwd"))
		add_text("/etc/passwd", passwd, sizeof(passwd) - 1);
	if (is_missing("/etc/group"))
		add_text("/etc/group", group, sizeof(group) - 1);
	if (is_missing("/etc/hosts"))
		add_text("/etc/hosts", info->hosts_size ? (const char *)PROCESS_HOSTS_VADDR : hosts,
		         info->hosts_size ? info->hosts_size : sizeof(hosts) - 1);
	if (is_missing("/etc/resolv.conf"))
		add_text("/etc/resolv.conf", resolver, sizeof(resolver) - 1);
}

void ramfs_image_start(struct ramfs_node *root)
{
	const struct process_info *info = platform_info();
	const char *path;
	uint32_t mode;

	if (info->files_size && !file_tree_is_valid(TREE, info->files_size)) {
		console_log("posix: what should be this program's files is not a tree of version %u",
		            FILE_TREE_VERSION);
	} else if (info->files_size && file_tree_entry_is_valid(TREE, 0)) {
		root->directory.entry = (uint32_t)TREE->entry[0].data;
		root->directory.entries = (uint32_t)TREE->entry[0].size;
	}
	node_add("/tmp", S_IFDIR | 0777);
	node_add("/dev/shm", S_IFDIR | 0777); /* shm_open(), sem_open() */
	for (unsigned number = 1; (path = device_path(number, &mode)); number++) {
		struct ramfs_node *node = is_missing(path) ? node_add(path, mode) : 0;
		if (node)
			node->special = (uint16_t)number;
	}
	add_texts();
	if (info->cwd)
		node_add((const char *)info->cwd, S_IFDIR | 0755);
	path = (const char *)info->volumes;
	for (unsigned volume = 1; volume <= info->volume_count; volume++, path += strlen(path) + 1) {
		struct ramfs_node *node = node_add(path, S_IFDIR | 0755);
		if (node && S_ISDIR(node->mode))
			node->special = (uint16_t)volume;
		else
			console_log("posix: no volume at %s: a file is in the way", path);
	}
}
