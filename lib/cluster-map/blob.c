/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The devicetree's container, checked before libfdt reads it. libfdt 1.6.1 adds
 * a property's length to an offset as an int: a length near 2^32 leads back to
 * the same property, and libfdt never ends. Here every length is compared with
 * what is left of its block.
 */
#include <libfdt.h>
#include <string.h>

#include "draft.h"

enum { HEADER = 40, VERSION = 17, PROPERTY = 8, NODES_DEEP = 16, NODE_NAME = 63, PROPERTIES = 64, TOP_NODES = 1024 };

struct walk {
	const char *blob;
	uint32_t at, end;                /* of the structure block: the next byte, and the first behind it */
	uint32_t strings, strings_size;
	uint32_t depth;
	const char *node[NODES_DEEP];    /* names, from the root to the current node */
	const char *property[PROPERTIES]; /* names, of the current node */
	uint32_t properties;
	bool had_child;                  /* the current node; no property may follow */
	const char *top[TOP_NODES];      /* names of the root's children */
	uint32_t tops;
	struct error_message *err;
};

static uint32_t cell_at(const char *blob, uint32_t offset)
{
	return fdt32_ld((const fdt32_t *)(const void *)(blob + offset));
}

static const char *node_of(const struct walk *w)
{
	return w->depth <= 1 ? "/" : w->node[w->depth - 1];
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static bool note_top(struct walk *w, const char *name)
{
	if (w->tops == TOP_NODES)
		return error_set_at(w->err, "/", NULL, "map: / has more than %u nodes", TOP_NODES);
	for (uint32_t i = 0; i < w->tops; i++)
		if (strcmp(w->top[i], name) == 0)
			return error_set(w->err, "map: there are two nodes /%s", name);
	w->top[w->tops++] = name;
	return true;
}

static bool open_node(struct walk *w)
{
	const char *name = w->blob + w->at;
	uint32_t room = w->end - w->at, length = (uint32_t)strnlen(name, room);

	if (length == room)
		return error_set(w->err, "map: the name of a node of %s runs over the end, at byte %u", node_of(w),
		                 w->at);
	if (w->depth == 0 && length != 0)
		return error_set(w->err, "map: the root node has a name, %s", name);
	if (w->depth != 0 && length == 0)
		return error_set(w->err, "map: a node of %s has no name, at byte %u", node_of(w), w->at);
	if (w->depth == NODES_DEEP)
		return error_set_at(w->err, name, NULL, "map: %s: nodes are nested more than %u deep", name,
		                    NODES_DEEP);
	if (length > NODE_NAME)
		return error_set(w->err, "map: the node name %s has %u bytes, more than %u", name, length, NODE_NAME);
	if (!is_printable(name))
		return error_set(w->err, "map: the node name %s at byte %u is not of printable characters", name,
		                 w->at);
	if (w->depth == 1 && !note_top(w, name))
		return false;
	w->node[w->depth++] = name;
	w->properties = 0;
	w->had_child = false;
	w->at += (length + 1 + 3) & ~3u;
	return true;
}

static bool read_property(struct walk *w)
{
	uint32_t length, offset, room;
	const char *name;

	if (w->end - w->at < PROPERTY)
		return error_set_at(w->err, node_of(w), NULL, "map: %s: a property is cut short at byte %u", node_of(w),
		                    w->at);
	length = cell_at(w->blob, w->at);
	offset = cell_at(w->blob, w->at + 4);
	room = w->end - w->at - PROPERTY;
	name = w->blob + w->strings + offset;
	if (offset >= w->strings_size || strnlen(name, w->strings_size - offset) == w->strings_size - offset)
		return error_set_at(w->err, node_of(w), NULL, "map: %s: the property at byte %u has no name",
		                    node_of(w),
				 w->at);
	if (length > room)
		return error_set_at(w->err, node_of(w), name, "map: %s: %s of %u bytes runs over the end, %u are left",
				 node_of(w), name, length, room);
	if (w->had_child)
		return error_set_at(w->err, node_of(w), name, "map: %s: %s comes after a node", node_of(w), name);
	if (w->properties == PROPERTIES)
		return error_set_at(w->err, node_of(w), NULL, "map: %s has more than %u properties", node_of(w),
		                    PROPERTIES);
	for (uint32_t i = 0; i < w->properties; i++)
		if (strcmp(w->property[i], name) == 0)
			return error_set_at(w->err, node_of(w), name, "map: %s: there are two properties %s",
			                    node_of(w), name);
	w->property[w->properties++] = name;
	w->at += PROPERTY + ((length + 3) & ~3u);
	return true;
}

/* Checks one tag and its data; all but the root's BEGIN_NODE are inside a node. */
static bool walk_step(struct walk *w, uint32_t tag)
{
	switch (tag) {
	case FDT_NOP:
		return true;
	case FDT_BEGIN_NODE:
		return open_node(w);
	case FDT_PROP:
		return read_property(w);
	case FDT_END_NODE:
		w->depth--; /* is not 0: check_structure() */
		w->had_child = true;
		return true;
	default:
		return error_set_at(w->err, node_of(w), NULL, "map: %s: 0x%x at byte %u is no tag of a devicetree",
				 node_of(w), tag, w->at - 4);
	}
}

/* One root, and nothing but NOPs outside it. */
static bool check_structure(struct walk *w)
{
	bool done = false;

	while (w->at <= w->end && w->end - w->at >= 4) {
		uint32_t tag = cell_at(w->blob, w->at);

		if (done && tag == FDT_END)
			return true;
		w->at += 4;
		if (w->depth == 0 && tag != FDT_NOP && (done || tag != FDT_BEGIN_NODE))
			return error_set(w->err, "map: 0x%x at byte %u is outside the root node", tag, w->at - 4);
		if (!walk_step(w, tag))
			return false;
		done |= w->depth == 0 && tag == FDT_END_NODE;
	}
	return error_set_at(w->err, node_of(w), NULL, "map: %s: the devicetree ends early, at byte %u", node_of(w),
	                    w->end);
}

bool check_blob(const void *blob, uint64_t size, struct error_message *err)
{
	static struct walk w; /* too large for the loader's stack */
	uint32_t total, structure, structure_size;

	if (size < HEADER || fdt_magic(blob) != FDT_MAGIC)
		return error_set(err, "map: not a sound devicetree: it does not begin as one");
	if (fdt_version(blob) < VERSION || fdt_last_comp_version(blob) > VERSION)
		return error_set(err, "map: not a sound devicetree: its version %u is not %u", fdt_version(blob),
		                 VERSION);
	total = fdt_totalsize(blob);
	if (total != size)
		return error_set(err, "map: not a sound devicetree: it says %u bytes and has %lu", total, size);
	structure = fdt_off_dt_struct(blob);
	structure_size = fdt_size_dt_struct(blob);
	w = (struct walk){ .blob = blob, .err = err, .strings = fdt_off_dt_strings(blob),
			   .strings_size = fdt_size_dt_strings(blob) };
	if (structure % 4 != 0 || structure < HEADER || structure > total || structure_size > total - structure)
		return error_set(err, "map: not a sound devicetree: its structure block is at byte %u with %u",
		                 structure,
			      structure_size);
	if (w.strings < HEADER || w.strings > total || w.strings_size > total - w.strings)
		return error_set(err, "map: not a sound devicetree: its strings are at byte %u with %u", w.strings,
			      w.strings_size);
	w.at = structure;
	w.end = structure + structure_size;
	return check_structure(&w);
}
