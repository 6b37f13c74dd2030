/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the memory that the map gives away: in whole pages, and nothing twice. */
#include <skerry/span.h>
#include "draft.h"

enum { SMALL_PAGE = 4096 };

/* One thing that the map gives away. */
struct grant {
	const char *to;
	uint32_t machine;
	struct boot_range range;
};

static bool ranges_overlap(const struct boot_range *a, const struct boot_range *b)
{
	return spans_overlap(a->base, a->size, b->base, b->size);
}

static bool check_shape(const struct grant *g, uint64_t align, struct error_message *err)
{
	const struct boot_range *r = &g->range;

	if (r->size == 0)
		return error_set_at(err, g->to, "memory", "map: %s: memory at 0x%lx is empty", g->to, r->base);
	if (r->base + r->size < r->base)
		return error_set_at(err, g->to, "memory",
		                    "map: %s: memory at 0x%lx goes past the end of the address space",
				 g->to, r->base);
	if ((r->base | r->size) & (align - 1))
		return error_set_at(err, g->to, "memory",
		                    "map: %s: memory 0x%lx, size 0x%lx is not a multiple of %lu KiB",
				 g->to, r->base, r->size, align / 1024);
	return true;
}

static bool check_disjoint(const struct grant *grant, uint32_t count, struct error_message *err)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t j = 0; j < i; j++)
			if (grant[i].machine == grant[j].machine && ranges_overlap(&grant[i].range, &grant[j].range))
				return error_set_at(err, grant[i].to, "memory",
						 "map: memory 0x%lx .. 0x%lx of %s overlaps 0x%lx .. 0x%lx of %s",
						 grant[j].range.base, grant[j].range.base + grant[j].range.size - 1,
						 grant[j].to, grant[i].range.base,
						 grant[i].range.base + grant[i].range.size - 1, grant[i].to);
	return true;
}

bool check_memory(const struct draft *d)
{
	/* static: too large for the loader's stack */
	static struct grant grant[BOOT_MAX_CLUSTERS * BOOT_MAX_RANGES + MAP_MAX_CHANNELS];
	const struct cluster_map *map = d->map;
	uint32_t count = 0;

	for (uint32_t i = 0; i < map->cluster_count; i++)
		for (uint32_t j = 0; j < map->cluster[i].memory_count; j++, count++) {
			grant[count] = (struct grant){ map->cluster[i].name, map->cluster[i].machine,
			                               map->cluster[i].memory[j] };
			if (!check_shape(&grant[count], SMALL_PAGE, d->err))
				return false;
		}
	for (uint32_t i = 0; i < map->channel_count; i++) {
		const struct map_channel *channel = &map->channel[i];

		if (channel->remote) /* a device's memory */
			continue;
		grant[count] = (struct grant){ channel->name, map_cluster(map, channel->end[0])->machine,
		                               channel->memory };
		if (!check_shape(&grant[count++], MAP_HUGE_PAGE, d->err))
			return false;
	}
	return check_disjoint(grant, count, d->err);
}
