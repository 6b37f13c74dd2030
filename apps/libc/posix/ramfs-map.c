/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared mappings of files that can be written: the program gets the file's own pages. For that the chunks that are
 * mapped lie in a row, and neither move nor go while they are: what the file loses meanwhile is zeroed. Mappings of the
 * same part have the same address. Their pages can always be written, whatever the mapping asks for, since the file is.
 */
#include <errno.h>
#include <sys/mman.h>
#include "ramfs.h"

struct mapping {
	struct mapping *next;
	struct ramfs_node *node;
	uintptr_t address;
	size_t offset, size; /* whole pages */
};

static struct mapping *mappings;

static size_t whole_pages(size_t size) { return (size + PAGE - 1) & -(size_t)PAGE; }

static bool mapping_overlaps(const struct mapping *m, uintptr_t address, size_t size)
{
	return address < m->address + m->size && m->address < address + size;
}

bool ramfs_map_overlaps(uintptr_t address, size_t size)
{
	for (const struct mapping *m = mappings; m; m = m->next)
		if (mapping_overlaps(m, address, size))
			return true;
	return false;
}

/* Returns whether any of these chunks must stay where it is. */
static bool is_pinned(const struct ramfs_node *node, size_t first, size_t last)
{
	for (const struct mapping *m = mappings; m; m = m->next)
		if (m->node == node && m->offset / RAMFS_CHUNK <= last &&
		    first <= (m->offset + m->size - 1) / RAMFS_CHUNK)
			return true;
	return false;
}

static int mapping_add(struct ramfs_node *node, uintptr_t address, size_t offset, size_t size)
{
	require(address % PAGE == 0 && offset % PAGE == 0 && size && size % PAGE == 0);
	struct mapping *m = layer_allocate(sizeof(*m));

	if (!m)
		return -ENOMEM;
	*m = (struct mapping){ mappings, node, address, offset, size };
	mappings = m;
	node->mapped = true;
	node->opened++; /* it stays when it has no name and no descriptor any more */
	return 0;
}

long ramfs_map(struct file *file, size_t offset, size_t size)
{
	struct ramfs_node *node = ramfs_node_of(file);
	char *at;

	if (!node || !S_ISREG(node->mode) || node->read_only)
		return -ENODEV;
	if (size > SIZE_MAX - offset - PAGE)
		return -EOVERFLOW;
	size = whole_pages(size);
	const size_t first = offset / RAMFS_CHUNK, last = (offset + size - 1) / RAMFS_CHUNK;
	int error = ramfs_row(node, first, last, !is_pinned(node, first, last), &at);
	const uintptr_t address = (uintptr_t)at + offset % RAMFS_CHUNK;
	if (!error)
		error = mapping_add(node, address, offset, size);
	return error ? error : (long)address;
}

static void mapping_drop(struct mapping **link)
{
	struct mapping *m = *link;
	struct ramfs_node *node = m->node;

	require(node->mapped && node->opened);
	*link = m->next;
	layer_free(m);
	node->mapped = is_pinned(node, 0, SIZE_MAX);
	if (!node->mapped)
		ramfs_resize(node, node->size); /* gives back what lies behind the end */
	ramfs_release(node);
}

/* The smallest mapping with all of this; null: there is none. */
static struct mapping **mapping_of(uintptr_t address, size_t size)
{
	struct mapping **found = 0;

	for (struct mapping **link = &mappings; *link; link = &(*link)->next) {
		const struct mapping *m = *link;

		if (address >= m->address && address - m->address < m->size &&
		    size <= m->size - (address - m->address) && (!found || m->size < (*found)->size))
			found = link;
	}
	return found;
}

/* Pages of one mapping: all of them, or from its begin or up to its end, or a piece between two that stay. */
long ramfs_unmap(uintptr_t address, size_t size)
{
	size = whole_pages(size);
	struct mapping **link = mapping_of(address, size), *m = link ? *link : 0;
	if (!m)
		return -EINVAL;
	const size_t before = address - m->address, after = m->size - before - size;
	require(before + size <= m->size);
	if (!before && !after) {
		mapping_drop(link);
		return 0;
	}
	if (before && after && mapping_add(m->node, address + size, m->offset + before + size, after))
		return -ENOMEM;
	if (!before) {
		m->address += size;
		m->offset += size;
	}
	m->size = before ? before : after;
	return 0;
}

/* A shared mapping is the file. */
long sys_msync(const long *a)
{
	const uintptr_t address = (uintptr_t)a[0];
	const size_t size = whole_pages((size_t)a[1]);

	if (address % PAGE || a[2] & ~(long)(MS_ASYNC | MS_SYNC | MS_INVALIDATE) || (a[2] & MS_ASYNC && a[2] & MS_SYNC))
		return -EINVAL;
	return !size || memory_is_mapped(address, size) || memory_in_files(address, size) ? 0 : -ENOMEM;
}
