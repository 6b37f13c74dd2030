/* SPDX-License-Identifier: BSD-2-Clause */
#include "prices.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct name {
	const char *name;
	size_t offset;
	double scale;
	bool optional;
} names[] = {
#define PRICE(name, what) { #name, offsetof(struct machine, price.name), UNIT, false },
#define PLANTED(name, scale, what) { #name, offsetof(struct machine, price.name), scale, true },
#include "prices.def"
#undef PRICE
#undef PLANTED
	{ "khz", offsetof(struct machine, khz), 1, false },
	{ "cores", offsetof(struct machine, cores), 1, false },
	{ "clusters", offsetof(struct machine, clusters), 1, false },
	{ "sockets", offsetof(struct machine, sockets), 1, false },
	{ "l1_sets", offsetof(struct machine, l1.sets), 1, false },
	{ "l1_ways", offsetof(struct machine, l1.ways), 1, false },
	{ "l1i_sets", offsetof(struct machine, l1i.sets), 1, false },
	{ "l1i_ways", offsetof(struct machine, l1i.ways), 1, false },
	{ "l2_sets", offsetof(struct machine, l2.sets), 1, false },
	{ "l2_ways", offsetof(struct machine, l2.ways), 1, false },
	{ "l3_sets", offsetof(struct machine, l3.sets), 1, false },
	{ "l3_ways", offsetof(struct machine, l3.ways), 1, false },
	{ "l3_inclusive", offsetof(struct machine, l3_inclusive), 1, false },
	{ "store_buffer", offsetof(struct machine, store_buffer), 1, false },
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

unsigned home_of(const struct machine *m, uint64_t line)
{
	unsigned socket = 0;
	for (uint64_t i = 0; i < m->nodes && m->node[i].start <= line << 6; i++)
		socket = (unsigned)m->node[i].socket;
	return socket;
}

static const char *take_price(struct machine *m, bool *seen, char *text)
{
	char *name = strtok(text, " \t\n"), *first = strtok(NULL, " \t\n"), *second = strtok(NULL, " \t\n"), *end;
	if (!name)
		return NULL;
	if (!first)
		return "has no value";
	if (!strcmp(name, "node")) {
		if (m->nodes == MOST_NODES)
			return "is one node too many";
		struct node *node = &m->node[m->nodes++];
		node->start = strtoull(first, &end, 0);
		if (*end || !second)
			return "is not `node START SOCKET`";
		node->socket = strtoull(second, &end, 0);
		return *end ? "is not `node START SOCKET`" : m->nodes > 1 &&
		       node[-1].start >= node->start ? "is not sorted by start" : NULL;
	}
	double value = strtod(first, &end);
	if (*end || second || !(value >= 0) || !(value < 1e9))
		return "is not a number from 0 to 1e9";
	for (unsigned i = 0; i < NAMES; i++)
		if (!strcmp(name, names[i].name)) {
			if (seen[i])
				return "occurs twice";
			seen[i] = true;
			*(uint64_t *)((char *)m + names[i].offset) = (uint64_t)llround(value * names[i].scale);
			return NULL;
		}
	return "is no price or property of a machine";
}

_Static_assert(MOST_CORES == 1024, "as check_prices() says");
static const char *check_prices(const struct machine *m)
{
	if (!m->cores || m->cores > MOST_CORES)
		return "cores: from 1 to 1024";
	if (m->khz < 100000 || m->khz > 10000000)
		return "khz: from 100000 to 10000000";
	if (!m->clusters || !m->sockets || m->cores % m->clusters || m->clusters % m->sockets)
		return "cores divide into clusters, and clusters into sockets, without remainder";
	const struct cache_shape *shape[] = { &m->l1, &m->l1i, &m->l2, &m->l3 };
	for (unsigned i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
		if (!shape[i]->sets || shape[i]->sets > 1 << 20 || !shape[i]->ways || shape[i]->ways > 64)
			return "a cache has from 1 to 1048576 sets of 1 to 64 ways";
	if (m->price.planted_less > 90)
		return "planted_less: from 0 to 90 percent";
	if (!m->store_buffer || m->store_buffer > 256)
		return "store_buffer: from 1 to 256";
	for (uint64_t i = 0; i < m->nodes; i++)
		if (m->node[i].socket >= m->sockets)
			return "a node belongs to a socket that the machine does not have";
	return NULL;
}

const char *machine_read(const char *path, struct machine *machine, unsigned *line_number)
{
	FILE *file = fopen(path, "r");
	char text[256];
	bool seen[NAMES] = { false };
	const char *wrong = NULL;
	*machine = (struct machine){ .nodes = 0 };
	*line_number = 0;
	if (!file)
		return strerror(errno);
	while (!wrong && fgets(text, sizeof(text), file)) {
		++*line_number;
		wrong = take_price(machine, seen, text);
	}
	fclose(file);
	if (wrong)
		return wrong;
	*line_number = 0;
	for (unsigned i = 0; i < NAMES; i++)
		if (!seen[i] && !names[i].optional)
			return names[i].name;
	return check_prices(machine);
}
