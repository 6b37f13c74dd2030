/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and directories in memory: nodes by absolute path, and their content. */
#pragma once

#include "layer.h"

enum { RAMFS_PATH = 256, RAMFS_CHUNK = 65536 };

struct ramfs_node {
	struct ramfs_node *next;
	char path[RAMFS_PATH]; /* absolute, no trailing slash but for "/"; empty once unlinked */
	uint32_t mode;         /* S_IFREG or S_IFDIR, and permissions */
	uint32_t opened;       /* open files of it */
	uint64_t inode;
	uint64_t changed;      /* real time, ns */
	size_t size;
	char **chunk;          /* RAMFS_CHUNK bytes each; null reads as zero */
	size_t chunks;
};

/* ramfs-node.c */
struct ramfs_node *ramfs_first(void); /* all nodes, by `next` */
struct ramfs_node *ramfs_find(const char *path);
struct ramfs_node *ramfs_create(const char *path, uint32_t mode); /* null: no memory */
void ramfs_unlink(struct ramfs_node *); /* freed when nobody has it open any more */
void ramfs_release(struct ramfs_node *); /* one open file less */
bool ramfs_has_children(const char *path);
bool ramfs_is_child(const struct ramfs_node *, const char *directory);
int ramfs_resize(struct ramfs_node *, size_t size);
ssize_t ramfs_read(const struct ramfs_node *, void *, size_t size, size_t offset);
ssize_t ramfs_write(struct ramfs_node *, const void *, size_t size, size_t offset);
void ramfs_stat(const struct ramfs_node *, struct stat *);

/* path.c: `path` made absolute by the current directory, without "." and "..". */
int path_resolve(int directory_fd, const char *path, char out[RAMFS_PATH]);
int path_parent_check(const char *path); /* 0 when the directory that holds it exists */
