/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses, the switch, the NIC driver, and the channels that their frames take. */
#include <string.h>

#include <port.h>
#include <skerry/channel.h>

#include "map.h"

enum { MTU_MIN = 576, MTU_MAX = 1500 }; /* what every IPv4 host takes; Ethernet */

static bool has_role(const struct map_application *a, const char *role)
{
	return a->role != NULL && strcmp(a->role, role) == 0;
}

static const struct map_cluster *home_of(const struct map *map, const struct map_application *a)
{
	return map_cluster_of_cpu(map, (uint32_t)map_cpu_by_phandle(map, a->phandle));
}

static bool check_mac(const struct map_application *a, struct refusal *why)
{
	static const uint8_t none[6];

	if ((a->ipv4 != 0) != (a->mac != NULL))
		return refuse(why, "map: %s has only one of ipv4 and mac", a->name);
	if (a->mac != NULL && ((a->mac[0] & 1) || memcmp(a->mac, none, 6) == 0))
		return refuse(why, "map: %s: its mac is not that of one station", a->name);
	return true;
}

static bool check_role(const struct map_application *a, struct refusal *why)
{
	if (a->role != NULL && !has_role(a, "switch") && !has_role(a, "nic"))
		return refuse(why, "map: %s: role \"%s\" is neither switch nor nic", a->name, a->role);
	if (has_role(a, "nic") != a->has_pci_id)
		return refuse(why, "map: %s: a NIC driver has pci-id, and nothing else has", a->name);
	if (a->role != NULL && a->ipv4 != 0)
		return refuse(why, "map: %s is the %s and can have no address", a->name, a->role);
	return true;
}

/* The only application of a role; NULL where there is none. False: there are two. */
static bool find_role(const struct map *map, const char *role, const struct map_application **found,
		      struct refusal *why)
{
	*found = NULL;
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (!has_role(a, role))
			continue;
		if (*found != NULL)
			return refuse(why, "map: %s and %s both have role %s", (*found)->name, a->name, role);
		*found = a;
	}
	return true;
}

static bool check_network(const struct map_network *network, struct refusal *why)
{
	uint32_t hosts = ~network->netmask;

	if (network->netmask == 0 || (hosts & (hosts + 1)) != 0)
		return refuse(why, "map: network: netmask 0x%08x is not ones and then zeros", network->netmask);
	if (network->mtu < MTU_MIN || network->mtu > MTU_MAX)
		return refuse(why, "map: network: mtu %u is not in %u .. %u", network->mtu, MTU_MIN, MTU_MAX);
	return true;
}

static bool check_address(const struct map_network *network, const struct map_application *a, struct refusal *why)
{
	uint32_t host = a->ipv4 & ~network->netmask;

	if (!network->present)
		return refuse(why, "map: %s has an address, but there is no node /network", a->name);
	if ((a->ipv4 ^ network->gateway) & network->netmask)
		return refuse(why, "map: %s: its ipv4 is outside the gateway's network", a->name);
	if (host == 0 || host == ~network->netmask || a->ipv4 == network->gateway)
		return refuse(why, "map: %s: its ipv4 is the network's, the gateway's or for broadcasts", a->name);
	return true;
}

static const struct map_application *find_application(const struct map *map, const char *name)
{
	for (uint32_t i = 0; i < map->application_count; i++)
		if (strcmp(map->application[i].name, name) == 0)
			return &map->application[i];
	return NULL;
}

/* Another process that has lwIP of this one, and of no other. */
static bool check_stack(const struct map *map, const struct map_application *a, struct refusal *why)
{
	const struct map_application *stack;

	if (a->stack == NULL)
		return true;
	stack = find_application(map, a->stack);
	if (stack == NULL)
		return refuse(why, "map: %s: its stack %s is no application", a->name, a->stack);
	if (stack == a || stack->stack != NULL || stack->role != NULL)
		return refuse(why, "map: %s: %s can be nobody's stack", a->name, a->stack);
	if (home_of(map, stack) != home_of(map, a))
		return refuse(why, "map: %s: its stack %s is in another cluster", a->name, a->stack);
	if (a->ipv4 == 0 || stack->ipv4 != 0)
		return refuse(why, "map: %s: the program has the address, and its stack %s none", a->name, a->stack);
	for (const struct map_application *other = map->application; other < a; other++)
		if (other->stack != NULL && strcmp(other->stack, a->stack) == 0)
			return refuse(why, "map: %s and %s have the same stack %s", other->name, a->name, a->stack);
	return true;
}

/* The user's port lies in the channel from the switch's cluster to its own. */
static bool check_reach(const struct map *map, const struct map_application *the_switch,
			const struct map_application *user, uint64_t *used, struct refusal *why)
{
	const struct map_cluster *from = home_of(map, the_switch), *to = home_of(map, user);

	for (uint32_t i = 0; from != to; i++) {
		const struct map_channel *c = &map->channel[i];

		if (i == map->channel_count)
			return refuse(why, "map: %s: no channel joins %s to %s of %s", user->name, to->name,
				      from->name, the_switch->name);
		if (!(c->end[0] == from->id && c->end[1] == to->id) && !(c->end[0] == to->id && c->end[1] == from->id))
			continue;
		used[i] += PORT_SIZE;
		if (CHANNEL_PORTS + used[i] > c->memory.size)
			return refuse(why, "map: %s has no room for the network port of %s", c->name, user->name);
		break;
	}
	return true;
}

bool map_check_network(const struct map *map, struct refusal *why)
{
	static uint64_t used[MAP_MAX_CHANNELS]; /* by ports, in bytes */
	const struct map_application *the_switch, *driver;

	memset(used, 0, sizeof used);
	if ((map->network.present && !check_network(&map->network, why)) ||
	    !find_role(map, "switch", &the_switch, why) || !find_role(map, "nic", &driver, why))
		return false;
	if (driver != NULL && !home_of(map, driver)->devices)
		return refuse(why, "map: %s drives the NIC, but %s has no devices", driver->name,
			      home_of(map, driver)->name);
	if (driver != NULL && home_of(map, driver)->machine != 0)
		return refuse(why, "map: %s drives the NIC, but is not on machine 0", driver->name);
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];

		if (!check_mac(a, why) || !check_role(a, why) || !check_stack(map, a, why))
			return false;
		if (a->ipv4 == 0 && a != driver)
			continue;
		if (the_switch == NULL)
			return refuse(why, "map: %s needs a network, but no application is the switch", a->name);
		if ((a->ipv4 != 0 && !check_address(&map->network, a, why)) ||
		    !check_reach(map, the_switch, a, used, why))
			return false;
	}
	return true;
}
