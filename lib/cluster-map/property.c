/* SPDX-License-Identifier: BSD-2-Clause */
#include <libfdt.h>
#include <string.h>

#include "draft.h"

const char *node_name(const struct draft *d, int node)
{
	const char *name = fdt_get_name(d->fdt, node, NULL);
	return name != NULL && name[0] != '\0' ? name : "/";
}

bool has_property(const struct draft *d, int node, const char *property)
{
	return fdt_getprop(d->fdt, node, property, NULL) != NULL;
}

bool read_children(struct draft *d, const char *parent, bool required, bool (*read)(struct draft *, int node))
{
	int top = fdt_subnode_offset(d->fdt, 0, parent), node;

	if (top < 0)
		return required ? error_set(d->err, "map: there is no node /%s", parent) : true;
	fdt_for_each_subnode(node, d->fdt, top)
		if (!read(d, node))
			return false;
	return true;
}

bool read_flag(struct draft *d, int node, const char *property, bool *out)
{
	int size = 0;

	*out = fdt_getprop(d->fdt, node, property, &size) != NULL;
	return !*out || size == 0 ||
	       error_set_at(d->err, node_name(d, node), property, "map: %s: %s takes no value", node_name(d, node),
	                    property);
}

bool read_u32(struct draft *d, int node, const char *property, uint32_t *out)
{
	int size;
	const fdt32_t *cell = fdt_getprop(d->fdt, node, property, &size);

	if (cell == NULL)
		return error_set_at(d->err, node_name(d, node), property, "map: %s has no %s", node_name(d, node),
		                    property);
	if (size != 4)
		return error_set_at(d->err, node_name(d, node), property, "map: %s: %s is not one cell",
		                    node_name(d, node),
				 property);
	*out = fdt32_ld(cell);
	return true;
}

bool read_string(struct draft *d, int node, const char *property, const char **out)
{
	int size;
	const char *text = fdt_getprop(d->fdt, node, property, &size);

	if (text == NULL)
		return error_set_at(d->err, node_name(d, node), property, "map: %s has no %s", node_name(d, node),
		                    property);
	if (size < 2 || strnlen(text, (size_t)size) != (size_t)size - 1)
		return error_set_at(d->err, node_name(d, node), property, "map: %s: %s is not one string", node_name(d,
				 node), property);
	for (const char *p = text; *p != '\0'; p++)
		if (*p < ' ' || *p > '~')
			return error_set_at(d->err, node_name(d, node), property,
					 "map: %s: %s \"%s\" is not of printable characters", node_name(d, node),
					 property, text);
	*out = text;
	return true;
}

bool read_option(struct draft *d, int node, const char *property, const char **out)
{
	*out = NULL;
	return !has_property(d, node, property) || read_string(d, node, property, out);
}

bool read_name(struct draft *d, int node, const char *property, char out[BOOT_NAME_SIZE])
{
	const char *text;

	if (!read_string(d, node, property, &text))
		return false;
	if (strlen(text) >= BOOT_NAME_SIZE)
		return error_set_at(d->err, node_name(d, node), property, "map: %s: %s \"%s\" is longer than %u bytes",
				 node_name(d, node), property, text, BOOT_NAME_SIZE - 1);
	memcpy(out, text, strlen(text) + 1);
	return true;
}

bool read_strings(struct draft *d, int node, const char *property, const char **data, uint32_t *size)
{
	int length;

	*data = fdt_getprop(d->fdt, node, property, &length);
	*size = *data == NULL ? 0 : (uint32_t)length;
	return *data == NULL || (length > 0 && (*data)[length - 1] == '\0') ||
	       error_set_at(d->err, node_name(d, node), property, "map: %s: %s is not a list of strings",
	                    node_name(d, node),
			 property);
}

bool read_ranges(struct draft *d, int node, struct boot_range *out, uint32_t max, uint32_t *count)
{
	int size;
	const uint8_t *p = fdt_getprop(d->fdt, node, "memory", &size);

	if (p == NULL)
		return error_set_at(d->err, node_name(d, node), "memory", "map: %s has no memory", node_name(d, node));
	if (size == 0 || size % 16 != 0)
		return error_set_at(d->err, node_name(d, node), "memory",
				 "map: %s: memory is not base and size of two cells each", node_name(d, node));
	if ((uint32_t)size / 16 > max)
		return error_set_at(d->err, node_name(d, node), "memory", "map: %s has more than %u memory range%s",
				 node_name(d, node), max, max == 1 ? "" : "s");
	*count = (uint32_t)size / 16;
	for (uint32_t i = 0; i < *count; i++, p += 16)
		out[i] = (struct boot_range){ fdt64_ld((const fdt64_t *)(const void *)p),
					      fdt64_ld((const fdt64_t *)(const void *)(p + 8)) };
	return true;
}

bool read_ipv4(struct draft *d, int node, const char *property, uint32_t *out)
{
	const char *text, *p;
	uint32_t address = 0;

	if (!has_property(d, node, property))
		return true;
	if (!read_string(d, node, property, &text))
		return false;
	p = text;
	for (unsigned field = 0; field < 4; field++) {
		unsigned value = 0, digits = 0;
		bool padded = p[0] == '0' && p[1] >= '0' && p[1] <= '9';

		for (; *p >= '0' && *p <= '9' && digits < 3; p++, digits++)
			value = value * 10 + (unsigned)(*p - '0');
		if (digits == 0 || padded || value > 255 || *p != (field < 3 ? '.' : '\0'))
			return error_set_at(d->err, node_name(d, node), property,
					 "map: %s: %s \"%s\" is not an IPv4 address", node_name(d, node), property,
					 text);
		address = address << 8 | value;
		p++;
	}
	if (address == 0)
		return error_set_at(d->err, node_name(d, node), property, "map: %s: %s \"%s\" is no address",
		                    node_name(d,
				 node), property, text);
	*out = __builtin_bswap32(address);
	return true;
}

struct map_list pool_add(struct draft *d, const void *bytes, uint32_t size)
{
	struct map_list list = { d->pool_used, size };

	/* Each list has fewer bytes than the property that it comes from takes in the devicetree. */
	if (size > MAP_MAX_SIZE - d->pool_used)
		__builtin_trap();
	if (size > 0)
		memcpy(d->map->pool + d->pool_used, bytes, size);
	d->pool_used += (size + 3) & ~3u;
	return list;
}
