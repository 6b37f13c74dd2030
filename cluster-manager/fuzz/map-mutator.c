/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutations that know what a devicetree is: most leave it whole, so that what
 * is wrong with it is what it says. One in eight damages its bytes instead.
 */
#include <libfdt.h>
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "draft.h"

enum { ROOM = 96 * 1024, NODES_MOST = 1024, PROPERTIES_MOST = 64, VALUE_MOST = 2048 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static const char *const names[] = {
	"args", "await", "barrier", "cables", "compatible", "cpu", "cpus", "cwd", "device_type", "devices", "ends",
	"env", "files", "gateway", "heap", "ipv4", "ivshmem", "kernel", "mac", "memory", "modules", "mount", "mtu",
	"netmask", "numa-node-id", "pci-id", "phandle", "placement", "processes", "program", "reg", "role",
	"root", "shutdown",
	"size", "stack", "statistics", "storage", "switch", "threads", "user", "volumes",
	"#address-cells", "#size-cells",
};
static const char *const words[] = {
	"", "10.0.2.101", "10.0.2.2", "10.0.2.255", "255.255.255.0", "0.0.0.0", "clh+stat", "never", "nic", "none",
	"volume", "/data",
	"redis-server", "redis@2", "root", "stack", "switch", "switch@0", "virtio-net", "when-done", "ycsb", "ycsb@3",
	"map", "skerry,cluster-map-v1",
};
static const uint32_t cells[] = {
	0, 1, 2, 3, 4, 5, 31, 32, 60, 61, 63, 64, 254, 255, 256, 576, 1500, 4096, 0x1af4, 0x1041, 0x200000, 0x100000,
	0x40000000, 0x7f000000, 0x7ffdf000, 0x80000000, 0xfffff000, 0xfffffff0, 0xfffffffc, 0xffffffff,
};
static const char *const nodes_known[] = { "cpu@", "cluster@", "channel@", "redis@", "ycsb@", "switch@", "memory@" };
static const char *const tops[] = { "cpus", "clusters", "channels", "applications", "network", "run", "machine" };

static _Alignas(8) char tree[ROOM];
static int node[NODES_MOST];
static uint32_t state;

static uint32_t below(uint32_t count)
{
	state = state * 1664525u + 1013904223u;
	return count ? (state >> 8) % count : 0;
}

#define ONE_OF(list) ((list)[below(sizeof(list) / sizeof *(list))])

static int any_node(void)
{
	uint32_t count = 0;

	for (int at = 0; at >= 0 && count < NODES_MOST; at = fdt_next_node(tree, at, NULL))
		node[count++] = at;
	return node[below(count)];
}

/* NULL: the node has none. */
static struct fdt_property *any_property(int of, const char **name)
{
	int offset[PROPERTIES_MOST];
	uint32_t count = 0;
	const struct fdt_property *p;
	int at;

	fdt_for_each_property_offset(at, tree, of)
		if (count < PROPERTIES_MOST)
			offset[count++] = at;
	if (count == 0)
		return NULL;
	p = fdt_get_property_by_offset(tree, offset[below(count)], NULL);
	*name = fdt_string(tree, (int)fdt32_ld(&p->nameoff));
	return (struct fdt_property *)(uintptr_t)p;
}

static uint32_t length_of(const struct fdt_property *p) { return fdt32_ld(&p->len); }

static uint32_t any_cell(uint32_t old)
{
	const char *name;
	const struct fdt_property *p = any_property(any_node(), &name);

	switch (below(4)) {
	case 0:
		return old + below(9) - 4;
	case 1:
		return old ^ 1u << below(32);
	case 2:
		if (p != NULL && length_of(p) >= 4)
			return fdt32_ld((const fdt32_t *)(const void *)(p->data + below(length_of(p) / 4) * 4));
		/* fall through */
	default:
		return ONE_OF(cells);
	}
}

static void change_cell(struct fdt_property *p)
{
	fdt32_t *cell;

	if (p == NULL || length_of(p) < 4)
		return;
	cell = (fdt32_t *)(void *)(p->data + below(length_of(p) / 4) * 4);
	*cell = cpu_to_fdt32(any_cell(fdt32_ld(cell)));
}

/* Replaces a property's value by that of another one, or by a part of it. */
static void copy_value(int to, const char *name)
{
	const char *from_name;
	const struct fdt_property *from = any_property(any_node(), &from_name);
	char value[VALUE_MOST];
	uint32_t length;

	if (from == NULL || (length = length_of(from)) > sizeof value)
		return;
	memcpy(value, from->data, length);
	fdt_setprop(tree, to, below(2) ? name : from_name, value, (int)(below(4) ? length : below(length + 1)));
}

static void set_known(int to)
{
	const char *name = ONE_OF(names), *word = ONE_OF(words); /* libfdt's macros use a string twice */

	switch (below(5)) {
	case 0:
		fdt_setprop_string(tree, to, name, word);
		break;
	case 1:
		fdt_appendprop_string(tree, to, name, word);
		break;
	case 2:
		fdt_setprop_u32(tree, to, name, ONE_OF(cells));
		break;
	case 3:
		fdt_appendprop_u32(tree, to, name, ONE_OF(cells));
		break;
	default:
		fdt_setprop_u64(tree, to, name, (uint64_t)below(16) << 32 | ONE_OF(cells));
		break;
	}
}

static void change_length(int of, struct fdt_property *p, const char *name)
{
	char value[VALUE_MOST] = { 0 };
	uint32_t length;

	if (p == NULL || length_of(p) > sizeof value - 16)
		return;
	length = length_of(p);
	memcpy(value, p->data, length);
	fdt_setprop(tree, of, name, value, (int)(below(2) ? below(length + 1) : length + 1 + below(16)));
}

static void change_value(struct fdt_property *p)
{
	if (p != NULL && length_of(p) > 0)
		LLVMFuzzerMutate((uint8_t *)p->data, length_of(p), length_of(p));
}

static void make_name(char *name, size_t size)
{
	if (below(8) == 0)
		snprintf(name, size, "%s", ONE_OF(tops));
	else
		snprintf(name, size, "%s%x", ONE_OF(nodes_known), below(8) ? below(8) : below(70));
}

/* A sibling with the same properties, which come in reverse order. */
static void copy_node(int from)
{
	static const char *name[PROPERTIES_MOST];
	static char value[PROPERTIES_MOST][VALUE_MOST];
	static int length[PROPERTIES_MOST];
	int parent = fdt_parent_offset(tree, from), count = 0, at, copy;
	char fresh[32];

	fdt_for_each_property_offset(at, tree, from) {
		const void *data = fdt_getprop_by_offset(tree, at, &name[count], &length[count]);

		if (data != NULL && length[count] <= VALUE_MOST && count < PROPERTIES_MOST - 1)
			memcpy(value[count], data, (size_t)length[count]), count++;
	}
	make_name(fresh, sizeof fresh);
	copy = parent < 0 ? -1 : fdt_add_subnode(tree, parent, fresh);
	for (int i = count - 1; copy >= 0 && i >= 0; i--)
		fdt_setprop(tree, copy, name[i], value[i], length[i]);
}

static void rename_node(int which)
{
	char name[32];

	make_name(name, sizeof name);
	if (which != 0)
		fdt_set_name(tree, which, name);
}

static void edit(void)
{
	int which = any_node();
	const char *name = NULL;
	struct fdt_property *p = any_property(which, &name);

	switch (below(12)) {
	case 0:
		copy_node(which);
		break;
	case 1:
		rename_node(which);
		break;
	case 2:
		if (which != 0 && below(2))
			fdt_del_node(tree, which);
		break;
	case 3:
		if (p != NULL)
			fdt_delprop(tree, which, name);
		break;
	case 4:
		set_known(which);
		break;
	case 5:
		change_length(which, p, name);
		break;
	case 6:
		change_value(p);
		break;
	case 7:
	case 8:
		if (p != NULL)
			copy_value(which, name);
		break;
	default:
		change_cell(p);
		break;
	}
}

/* Writes a length or a name's offset that does not fit, or changes any byte. */
static void damage(void)
{
	const char *name;
	struct fdt_property *p = any_property(any_node(), &name);

	if (p != NULL && below(2))
		p->len = cpu_to_fdt32(below(2) ? ONE_OF(cells) : 0u - below(64));
	else if (p != NULL && below(2))
		p->nameoff = cpu_to_fdt32(ONE_OF(cells));
	else
		tree[below(fdt_totalsize(tree))] ^= 1 << below(8);
}

static bool is_sound(const uint8_t *data, size_t size)
{
	static _Alignas(8) char copy[ROOM];
	struct error_message err;

	if (size > sizeof copy)
		return false;
	memcpy(copy, data, size);
	return check_blob(copy, size, &err) && fdt_check_full(copy, size) == 0 &&
	       fdt_open_into(copy, tree, sizeof tree) == 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	state = seed;
	if (size < 2 || !is_sound(data + 1, size - 1))
		return LLVMFuzzerMutate(data, size, max_size);
	if (below(16) == 0)
		data[0] = (uint8_t)below(4);
	for (uint32_t times = 1 + below(4); times > 0; times--)
		edit();
	if (fdt_pack(tree) != 0 || fdt_totalsize(tree) > max_size - 1)
		return size;
	if (below(8) == 0)
		damage();
	size = fdt_totalsize(tree);
	if (size > max_size - 1 || size > sizeof tree)
		size = max_size - 1 < sizeof tree ? max_size - 1 : sizeof tree;
	memcpy(data + 1, tree, size);
	return 1 + size;
}
