/* SPDX-License-Identifier: BSD-2-Clause */
/* From a devicetree to a checked map. */
#include <libfdt.h>
#include <string.h>

#include "draft.h"

static bool read_network(struct draft *d)
{
	struct map_network *network = &d->map->network;
	int node = fdt_subnode_offset(d->fdt, 0, "network");

	network->present = node >= 0;
	if (node >= 0 && !has_property(d, node, "gateway"))
		return error_set_at(d->err, "network", "gateway", "map: network has no gateway");
	return node < 0 || (read_ipv4(d, node, "netmask", &network->netmask) &&
			    read_ipv4(d, node, "gateway", &network->gateway) &&
			    read_u32(d, node, "mtu", &network->mtu));
}

static bool read_patience(struct draft *d, int node)
{
	uint32_t *patience = &d->map->patience;

	if (!has_property(d, node, "patience"))
		return true;
	return read_u32(d, node, "patience", patience) &&
	       ((*patience >= MAP_PATIENCE_MIN && *patience <= MAP_PATIENCE_MAX) ||
		error_set_at(d->err, "run", "patience", "map: run: patience is %u to %u ms, not %u", MAP_PATIENCE_MIN,
		             MAP_PATIENCE_MAX,
			     *patience));
}

static bool read_run(struct draft *d)
{
	int node = fdt_subnode_offset(d->fdt, 0, "run");
	const char *shutdown = NULL;

	if (node >= 0 && (!read_option(d, node, "shutdown", &shutdown) || !read_patience(d, node)))
		return false;
	d->map->shutdown_when_done = shutdown != NULL && strcmp(shutdown, "when-done") == 0;
	return shutdown == NULL || d->map->shutdown_when_done || strcmp(shutdown, "never") == 0 ||
	       error_set_at(d->err, "run", "shutdown", "map: run: shutdown \"%s\" is neither when-done nor never",
	                    shutdown);
}

/* The container, and what says that it holds a map. */
static bool check_tree(const void *blob, uint64_t size, struct error_message *err)
{
	int error;

	if (size > MAP_MAX_SIZE)
		return error_set(err, "map: %lu bytes are more than %u", size, MAP_MAX_SIZE);
	if (!check_blob(blob, size, err))
		return false;
	error = fdt_check_full(blob, size);
	if (error != 0)
		return error_set(err, "map: not a sound devicetree: %s", fdt_strerror(error));
	if (fdt_node_check_compatible(blob, 0, "skerry,cluster-map-v1") != 0)
		return error_set_at(err, "/", NULL, "map: / is not compatible with skerry,cluster-map-v1");
	if (fdt_address_cells(blob, 0) != 2 || fdt_size_cells(blob, 0) != 2)
		return error_set_at(err, "/", NULL, "map: / needs #address-cells and #size-cells of 2");
	return true;
}

bool cluster_map_read(struct cluster_map *map, const void *blob, uint64_t size, struct error_message *err)
{
	static struct draft draft;
	struct draft *d = &draft;

	memset(d, 0, sizeof *d);
	d->fdt = blob;
	d->map = map;
	d->err = err;
	memset(map, 0, offsetof(struct cluster_map, application)); /* the rest as far as it is used */
	if (!check_tree(blob, size, err) || !read_clusters(d) || !check_clusters(d) || !check_machines(d) ||
	    !check_memory(d) ||
	    !read_applications(d) || !check_applications(d) || !check_volumes(d) ||
	    !read_network(d) || !check_network(d) || !read_run(d))
		return false;
	map->magic = MAP_MAGIC;
	map->version = MAP_VERSION;
	map->size = (uint32_t)(offsetof(struct cluster_map, pool) + d->pool_used);
	return true;
}
