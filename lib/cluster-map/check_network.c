/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses, the switches, the NIC driver, and the channels that their frames take. */
#include <string.h>

#include <skerry/channel.h>
#include <skerry/port.h>

#include "draft.h"

static const struct map_cluster *home_of(const struct cluster_map *map, const struct map_application *a)
{
	return map_cluster(map, a->cluster);
}

static const char *role_name(const struct map_application *a)
{
	return a->role == MAP_SWITCH ? "switch" : a->role == MAP_NIC ? "nic" : "volume server";
}

static bool check_mac(const struct map_application *a, struct error_message *err)
{
	static const uint8_t none[6];

	if ((a->ipv4 != 0) != a->has_mac)
		return error_set_at(err, a->name, "mac", "map: %s has only one of ipv4 and mac", a->name);
	if (a->has_mac && ((a->mac[0] & 1) || memcmp(a->mac, none, 6) == 0))
		return error_set_at(err, a->name, "mac", "map: %s: its mac is not that of one station", a->name);
	return true;
}

static bool check_role(const struct map_application *a, struct error_message *err)
{
	if (map_has_device(a) != (a->pci_id.size != 0))
		return error_set_at(err, a->name, "pci-id",
		                    "map: %s: a NIC driver and a volume server have pci-id, and nothing else has",
		                    a->name);
	if (a->role != MAP_PROGRAM && a->ipv4 != 0)
		return error_set_at(err, a->name, "ipv4", "map: %s is the %s and can have no address", a->name,
		                    role_name(a));
	return true;
}

/* Finds the root switch, the one that names no other, and sees that it is the only one. */
static bool find_root(struct draft *d)
{
	struct cluster_map *map = d->map;

	map->switch_index = MAP_NONE;
	for (uint32_t i = 0; i < map->application_count; i++) {
		if (map->application[i].role != MAP_SWITCH || d->application[i].above != NULL)
			continue;
		if (map->switch_index != MAP_NONE)
			return error_set_at(d->err, map->application[i].name, "role",
					 "map: %s and %s both have role switch, and no switch above them",
					 map->application[map->switch_index].name, map->application[i].name);
		map->switch_index = (int32_t)i;
	}
	return true;
}

/* There is one NIC driver at most, and it is where the NIC is. */
static bool check_driver(const struct cluster_map *map, struct error_message *err)
{
	const struct map_application *driver = NULL;

	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (a->role != MAP_NIC)
			continue;
		if (driver != NULL)
			return error_set_at(err, a->name, "role", "map: %s and %s both have role nic", driver->name,
			                    a->name);
		driver = a;
	}
	if (driver == NULL)
		return true;
	if (!home_of(map, driver)->devices)
		return error_set_at(err, driver->name, "role", "map: %s drives the NIC, but %s has no devices",
		                    driver->name,
				 home_of(map, driver)->name);
	return home_of(map, driver)->machine == 0 ||
	       error_set_at(err, driver->name, "role", "map: %s drives the NIC, but is not on machine 0", driver->name);
}

static bool check_subnet(const struct map_network *network, struct error_message *err)
{
	uint32_t netmask = __builtin_bswap32(network->netmask), hosts = ~netmask;

	if (netmask == 0 || (hosts & (hosts + 1)) != 0)
		return error_set_at(err, "network", "netmask",
		                    "map: network: netmask 0x%08x is not ones and then zeros",
				 netmask);
	if (network->mtu < MAP_MTU_MIN || network->mtu > MAP_MTU_MAX)
		return error_set_at(err, "network", "mtu", "map: network: mtu %u is not in %u .. %u", network->mtu,
				 MAP_MTU_MIN, MAP_MTU_MAX);
	return true;
}

static bool check_address(const struct map_network *network, const struct map_application *a, struct error_message *err)
{
	uint32_t host = a->ipv4 & ~network->netmask;

	if (!network->present)
		return error_set_at(err, a->name, "ipv4", "map: %s has an address, but there is no node /network",
		                    a->name);
	if ((a->ipv4 ^ network->gateway) & network->netmask)
		return error_set_at(err, a->name, "ipv4",
		                    "map: %s: its ipv4 %u.%u.%u.%u is outside the gateway's network",
				 a->name, MAP_IPV4(a->ipv4));
	if (host == 0 || host == ~network->netmask || a->ipv4 == network->gateway)
		return error_set_at(err, a->name, "ipv4",
				 "map: %s: its ipv4 %u.%u.%u.%u is the network's, the gateway's or for broadcasts",
				 a->name, MAP_IPV4(a->ipv4));
	return true;
}

/* Joins a program and its stack: another process of the same cluster, which has lwIP of this one, and of no other. */
static bool join_stack(struct draft *d, uint32_t index)
{
	struct cluster_map *map = d->map;
	struct map_application *a = &map->application[index], *stack;
	const char *name = d->application[index].stack;

	if (name == NULL)
		return true;
	a->stack = find_application(d, name);
	if (a->stack == MAP_NONE)
		return error_set_at(d->err, a->name, "stack", "map: %s: its stack %s is no application", a->name, name);
	stack = &map->application[a->stack];
	if (stack == a || d->application[a->stack].stack != NULL || stack->role != MAP_PROGRAM || stack->processes > 1)
		return error_set_at(d->err, a->name, "stack", "map: %s: %s can be nobody's stack", a->name, name);
	if (stack->cluster != a->cluster)
		return error_set_at(d->err, a->name, "stack", "map: %s: its stack %s is in another cluster", a->name,
		                    name);
	if (a->processes > 1)
		return error_set_at(d->err, a->name, "stack", "map: %s: %u processes have no stack of their own",
		                    a->name, a->processes);
	if (a->ipv4 == 0 || stack->ipv4 != 0)
		return error_set_at(d->err, a->name, "stack",
		                    "map: %s: the program has the address, and its stack %s none",
				 a->name, name);
	if (stack->stack_of != MAP_NONE)
		return error_set_at(d->err, a->name, "stack", "map: %s and %s have the same stack %s",
				 map->application[stack->stack_of].name, a->name, name);
	stack->stack_of = (int32_t)index;
	return true;
}

/*
 * Joins what needs a network port and the switch that it is of. Switches form a
 * tree of two levels, and the NIC is the root's.
 */
static bool join_switch(struct draft *d, uint32_t index)
{
	struct cluster_map *map = d->map;
	struct map_application *a = &map->application[index];
	const char *above = d->application[index].above;

	if (a->ipv4 == 0 && a->role != MAP_NIC && (a->role != MAP_SWITCH || above == NULL))
		return above == NULL ||
		       error_set_at(d->err, a->name, "switch",
				 "map: %s has switch %s, and neither an address nor a role for it", a->name, above);
	if (map->switch_index == MAP_NONE)
		return error_set_at(d->err, a->name, NULL,
		                    "map: %s needs a network, but no application is the switch%s",
				 a->name, above ? " above all others" : "");
	a->port_of = above == NULL ? map->switch_index : find_application(d, above);
	if (a->port_of == MAP_NONE)
		return error_set_at(d->err, a->name, "switch", "map: %s: its switch %s is no application", a->name,
		                    above);
	if (map->application[a->port_of].role != MAP_SWITCH)
		return error_set_at(d->err, a->name, "switch", "map: %s: %s is no switch", a->name, above);
	if (a->ipv4 == 0 && a->port_of != map->switch_index)
		return error_set_at(d->err, a->name, "switch",
		                    "map: %s: its switch %s is not %s, which is above all others",
				 a->name, above, map->application[map->switch_index].name);
	return true;
}

/* The user's port lies in the channel between the switch's cluster and its own. */
static bool check_reach(const struct cluster_map *map, const struct map_application *user, uint64_t *used,
                        struct error_message *err)
{
	const struct map_application *of = &map->application[user->port_of];
	const struct map_cluster *from = home_of(map, of), *to = home_of(map, user);

	for (uint32_t i = 0; from != to; i++) {
		const struct map_channel *c = &map->channel[i];

		if (i == map->channel_count)
			return error_set_at(err, user->name, NULL, "map: %s: no channel joins %s to %s of %s",
			                    user->name,
					 to->name, from->name, of->name);
		if (!(c->end[0] == from->number && c->end[1] == to->number) &&
		    !(c->end[0] == to->number && c->end[1] == from->number))
			continue;
		used[i] += PORT_SIZE;
		if (CHANNEL_PORTS + used[i] > c->memory.size)
			return error_set_at(err, c->name, NULL, "map: %s has no room for the network port of %s",
			                    c->name,
					 user->name);
		break;
	}
	return true;
}

static bool names_cable(const struct cluster_map *map, const struct map_application *a, uint32_t to)
{
	for (uint32_t i = 0; i < map_named_count(&a->cables); i++)
		if (map_named(map, &a->cables, i) == to)
			return true;
	return false;
}

/* Both ends of a cable have addresses and are of one cluster, and one of the two names it. */
static bool check_cable(const struct cluster_map *map, uint32_t from, uint32_t to, struct error_message *err)
{
	const struct map_application *a = &map->application[from], *other = &map->application[to];

	if (a->ipv4 == 0 || other->ipv4 == 0)
		return error_set_at(err, a->name, "cables", "map: %s has a cable to %s, and %s has no address", a->name,
		                    other->name,
				 a->ipv4 == 0 ? a->name : other->name);
	if (a->cluster != other->cluster)
		return error_set_at(err, a->name, "cables", "map: %s has a cable to %s, which is in another cluster",
		                    a->name,
				 other->name);
	return !names_cable(map, other, from) ||
	       error_set_at(err, a->name, "cables", "map: %s and %s both have a cable to the other", a->name,
	                    other->name);
}

static bool check_cables(const struct cluster_map *map, struct error_message *err)
{
	static uint8_t ends[MAP_MAX_APPLICATIONS];

	memset(ends, 0, sizeof ends);
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		for (uint32_t k = 0; k < map_named_count(&a->cables); k++) {
			uint32_t to = map_named(map, &a->cables, k);
			const struct map_application *full = ends[i] == PROCESS_MAX_CABLES ? a : &map->application[to];

			if (!check_cable(map, i, to, err))
				return false;
			if (ends[i] == PROCESS_MAX_CABLES || ends[to] == PROCESS_MAX_CABLES)
				return error_set_at(err, a->name, "cables",
				                    "map: %s: its cable to %s is one too many for %s: there may be %u",
						 a->name, map->application[to].name, full->name, PROCESS_MAX_CABLES);
			ends[i]++;
			ends[to]++;
		}
	}
	return true;
}

bool check_network(struct draft *d)
{
	static uint64_t used[MAP_MAX_CHANNELS]; /* by ports, in bytes */
	struct cluster_map *map = d->map;
	uint32_t ports = 0;

	memset(used, 0, sizeof used);
	if ((map->network.present && !check_subnet(&map->network, d->err)) || !find_root(d) ||
	    !check_driver(map, d->err))
		return false;
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (!check_mac(a, d->err) || !check_role(a, d->err) || !join_stack(d, i) || !join_switch(d, i))
			return false;
		if (!map_has_port(a))
			continue;
		if (++ports > PROCESS_MAX_PORTS)
			return error_set_at(d->err, a->name, NULL,
					 "map: %s is one too many with a network port: there may be %u", a->name,
					 PROCESS_MAX_PORTS);
		if ((a->ipv4 != 0 && !check_address(&map->network, a, d->err)) || !check_reach(map, a, used, d->err))
			return false;
	}
	return check_cables(map, d->err);
}
