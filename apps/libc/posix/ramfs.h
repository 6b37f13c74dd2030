/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files and directories in memory: a tree of nodes, and their content. What the
 * deployment gave the program (skerry/file_tree.h) is in it from the start: a
 * directory's entries become nodes when it is first looked into, and a file's
 * content stays where it is, shared with other programs, until the program
 * writes to it, which takes memory for the parts that differ.
 */
#pragma once

#include <skerry/list.h>
#include "layer.h"

enum {
	RAMFS_CHUNK = 65536,
	/* unless the deployment says more, files may hold a sixteenth of the heap, and never less than this */
	RAMFS_LEAST = 1 << 20,
	RAMFS_NAME = 0, /* no mode: the node is one more name of a file */
	RAMFS_OPENED = (1 << 22) - 1,
	RAMFS_LINKS = (1 << 10) - 1,
};

/* Times that a program has set. */
struct ramfs_times {
	struct timespec accessed, modified;
	uint64_t set; /* the node's `changed` then: while it is the same, nothing has been written since */
};

struct ramfs_node {
	struct ramfs_node *parent;          /* the root's is the root; null once unlinked */
	struct list in_directory;           /* link in the parent's list */
	struct ramfs_node *same_hash;
	/* the node's own memory unless it is in the tree of the deployment's files */
	const char *name;
	union {
		struct {
			struct list nodes;       /* by `order` */
			uint32_t entry, entries; /* of the deployment's tree: those that are no nodes yet */
		} directory;
		struct {
			const char *image;   /* content that no chunk has replaced; `image_size` is at most `size` */
			char **chunk;        /* RAMFS_CHUNK bytes each; null is as the image, or zero behind that */
			uint32_t image_size;
			uint32_t chunks;
		} file;
		struct ramfs_node *same; /* RAMFS_NAME: the file that has this name, too */
	};
	size_t size;
	uint64_t changed;  /* real time, ns */
	struct ramfs_times *times; /* null: as `changed` says */
	uint64_t order;    /* in which entries came into their directories */
	uint32_t mode;     /* S_IFREG, S_IFDIR or S_IFCHR, and permissions; RAMFS_NAME */
	uint32_t opened : 22; /* open files of it, at most RAMFS_OPENED */
	uint32_t links : 10;  /* of a file: its names but for the first one, at most RAMFS_LINKS */
	uint32_t inode;
	/* device_open()'s number, or a directory's: the volume, from 1 on, that is mounted there; 0: none of these */
	uint16_t special;
	bool read_only : 1; /* shared: neither written nor removed */
	bool mapped : 1;    /* ramfs-map.c: its chunks stay where they are */
	bool altered : 1;   /* LAYER_FAMILY: by the program, or a directory in which it made or removed something */
	uint8_t head_pages; /* of a file's chunk 0, which begins small */
};

_Static_assert(sizeof(struct ramfs_node) <= 112, "with the header of its block it has 128 bytes");

/* ramfs-tree.c: names. */
struct ramfs_node *ramfs_root(void); /* with all that is there from the start */
/* The entry of this name, or null, and 0; or -ENOMEM. */
int ramfs_child(struct ramfs_node *directory, const char *name, size_t length, struct ramfs_node **out);
/* A new entry, of a name that is not in the directory; -ENOSPC: no memory. */
int ramfs_create(struct ramfs_node *directory, const char *name, size_t length, uint32_t mode, struct ramfs_node **out);
int ramfs_move(struct ramfs_node *, struct ramfs_node *directory, const char *name, size_t length);
/* The first entry whose order is above, or null. */
struct ramfs_node *ramfs_entry_after(const struct ramfs_node *directory, uint64_t order);
/* The one behind an entry in its directory, or null. */
struct ramfs_node *ramfs_entry_next(const struct ramfs_node *);
void ramfs_unlink(struct ramfs_node *);  /* freed when nobody has it open any more */
void ramfs_release(struct ramfs_node *); /* one open file less */
static inline bool ramfs_is_linked(const struct ramfs_node *node) { return node->parent; }
/* One more name of a file, which is not in the directory; -EMLINK: it has RAMFS_LINKS. */
int ramfs_name(struct ramfs_node *file, struct ramfs_node *directory, const char *name, size_t length);
/* The file or directory of an entry. */
static inline struct ramfs_node *ramfs_named(struct ramfs_node *entry)
{
	return entry->mode == RAMFS_NAME ? entry->same : entry;
}

#ifdef LAYER_FAMILY
extern bool ramfs_begun; /* what is there from the start is there */
/* Returns whether the program has made or moved it. */
bool ramfs_is_made(const struct ramfs_node *);
/* Stores its path. Returns false: it has none, or one that is longer. */
bool ramfs_path(const struct ramfs_node *, char *path, size_t room);
#endif

/* ramfs-image.c: what is there from the start. */
void ramfs_image_start(struct ramfs_node *root);
/* Makes nodes of what the deployment's tree has in the directory: 0 or -ENOMEM. */
int ramfs_image_fill(struct ramfs_node *directory);
bool ramfs_image_holds(const void *); /* an address in the tree of the deployment's files */
/* A node without a place; `name` stays where it is. Null: no memory. */
struct ramfs_node *ramfs_node_make(const char *name, uint32_t mode);
void ramfs_link(struct ramfs_node *, struct ramfs_node *directory);

/* ramfs-node.c: content. */
/* Pages that all files together may hold, and that they hold: never more. */
void ramfs_usage(size_t *most, size_t *held);
int ramfs_resize(struct ramfs_node *, size_t size);
ssize_t ramfs_read(const struct ramfs_node *, void *, size_t size, size_t offset);
ssize_t ramfs_write(struct ramfs_node *, const void *, size_t size, size_t offset);
/* The chunks from `first` to `last` in a row of memory, at *at: 0 or an error. `may_move`: nobody has mapped one of
 * them. */
int ramfs_row(struct ramfs_node *, size_t first, size_t last, bool may_move, char **at);
void ramfs_stat(const struct ramfs_node *, struct stat *);
void ramfs_touch(struct ramfs_node *);
/* Sets the times of the last access and the last change, as utimensat() has them; null: now. Returns 0 or an error. */
int ramfs_set_times(struct ramfs_node *, const struct timespec *times);

/* ramfs.c: an open file of a node; null: it is something else. */
struct ramfs_node *ramfs_node_of(struct file *);
int ramfs_open(struct ramfs_node *, int flags, struct file **out);

/* path.c, directory.c: where a path leads. */
struct place {
	struct ramfs_node *directory; /* that holds it */
	struct ramfs_node *node;      /* null: nothing has this name there */
	struct ramfs_node *entry;     /* of `name`: the node, or another name of it; null: as `node` */
	const char *name;             /* the last component; null: the path ends with "/", "." or ".." alone */
	size_t length;
	bool slash;                   /* behind the name: only a directory will do */
	/* a volume's number, or 0. If there is one, all above is of its mount point, and the place is behind that: */
	unsigned volume;
	const char *before; /* the path where the walk began, in the volume; names with '/' between two, or empty */
	const char *rest;   /* the path from there on; its ".."s do not leave the volume */
};
int path_find(int directory_fd, const char *path, struct place *);
/* The node of a place, or -ENOENT; -EXDEV: it is in a volume. */
int path_node(const struct place *, struct ramfs_node **);
/* The same from a directory on, whoever has it open. */
int path_walk(struct ramfs_node *from, const char *path, struct place *);
/* The same, from the path `before` on in the volume that is mounted at `from`; `before` may be empty. */
int path_walk_from(struct ramfs_node *from, const char *before, const char *path, struct place *);
