/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/channel.h>
#include <skerry/port.h>
#include <skerry/require.h>
#include "bells.h"
#include "channel-memory.h"
#include "homes.h"
#include "map.h"
#include "memory.h"
#include "ports.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

enum { PORT_FRAMES = PORT_SIZE / SIZE_4K };

struct port {
	bool exists;       /* one end, at least, is here */
	uint32_t index;    /* among its switch's ports */
	int channel;       /* index, or -1 when both ends are here */
	uint32_t number;   /* on that channel */
	int frames;        /* for the stack, where it is here */
	int switch_frames; /* for the switch, where it is here */
	int epochs;        /* the page with PORT_EPOCHS, for the manager */
	int bell;          /* wakes the end in the other cluster */
	bool open[2];      /* its end is a program of this cluster, which runs; by enum port_direction */
	bool listens;      /* the other cluster's bell wakes this one's end */
};

static struct port port[MAP_MAX_APPLICATIONS];
static int wake[MAP_MAX_APPLICATIONS];

/* Doorbells of a channel's port (channel.h) */
static unsigned bell_of_switch(const struct port *p) { return 1 + 2 * p->number; }
static unsigned bell_of_stack(const struct port *p) { return 2 + 2 * p->number; }

static uint64_t switch_badge(const struct port *p) { return 1ull << p->index % 64; }

int ports_wake(uint32_t application) { return wake[application]; }

/* The process that has the port of an application with an address: its stack, where that is a process of its own. */
static uint32_t port_holder(uint32_t application)
{
	int stack = map->application[application].stack;
	return stack >= 0 ? (uint32_t)stack : application;
}

int ports_wake_of_holder(uint32_t application) { return wake[port_holder(application)]; }

int ports_bell_of_holder(uint32_t application, struct process *process, unsigned page)
{
	return bell_give(port_holder(application), process, page);
}

int ports_owner(uint32_t application)
{
	int served = map->application[application].stack_of;
	uint32_t owner = served >= 0 ? (uint32_t)served : application;
	return port_holder(owner) == application ? (int)owner : MAP_NONE;
}

/* Returns whether the program has ends of network ports, in any of its lives. */
static bool has_ends(uint32_t application)
{
	int owner = ports_owner(application);
	return map->application[application].role == MAP_SWITCH ||
	       (owner != MAP_NONE && map_has_port(&map->application[owner]));
}

static const struct map_application *switch_of(uint32_t application)
{
	return &map->application[map->application[application].port_of];
}

static bool switch_is_here(uint32_t application) { return switch_of(application)->cluster == ROOT->cluster; }

/* The ports of a switch whose users stand before `before` in the map: all managers count alike. */
static uint32_t ports_of(int of, uint32_t before)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < before; i++)
		count += map->application[i].port_of == of;
	return count;
}

/* As the port lies between the clusters `a` and `b`, whichever has the switch. */
static bool port_joins(uint32_t application, uint32_t a, uint32_t b)
{
	uint32_t user = map->application[application].cluster, of = switch_of(application)->cluster;
	return (user == a && of == b) || (user == b && of == a);
}

/* The ports in the channel of this port's clusters that stand before it in the map: both managers count alike. */
static uint32_t number_of(uint32_t application)
{
	uint32_t number = 0;
	for (uint32_t i = 0; i < application; i++)
		number += map_has_port(&map->application[i]) &&
			  port_joins(i, map->application[application].cluster, switch_of(application)->cluster);
	return number;
}

static int make_bell(const struct port *p, unsigned bell)
{
	int slot = slots_take(1);
	int error = slot < 0 ? slot : cnode_mint(IPC, ROOT_SLOT_CNODE, (uint64_t)slot, ROOT_SLOT_CNODE,
						 ROOT_SLOT_CHANNEL + (uint64_t)p->channel, RIGHT_WRITE, bell);
	return error ? error : slot;
}

static void port_make(uint32_t application)
{
	const struct map_application *a = &map->application[application];
	uint32_t switch_cluster = switch_of(application)->cluster;
	bool stack_here = a->cluster == ROOT->cluster, switch_here = switch_cluster == ROOT->cluster;
	struct port *p = &port[application];
	*p = (struct port){ .exists = stack_here || switch_here, .index = ports_of(a->port_of, application),
			    .number = number_of(application), .channel = -1 };
	if (!p->exists)
		return;
	if (stack_here && switch_here) {
		p->frames = memory_frames(OBJECT_FRAME_4K, PORT_FRAMES);
		p->switch_frames = p->frames < 0 ? p->frames : slots_copy(p->frames, PORT_FRAMES);
	} else {
		p->channel = channel_to(stack_here ? switch_cluster : a->cluster);
		if (p->channel < 0)
			manager_panic("%s has no channel to the switch", a->name);
		if (bell_of_stack(p) > 255)
			manager_panic("%s is one network port too many for the channel", a->name);
		p->frames = p->switch_frames = channel_memory_port((uint32_t)p->channel);
	}
	if (p->frames < 0 || p->switch_frames < 0)
		manager_panic("no memory for the network port of %s", a->name);
	p->epochs = slots_copy(p->frames + PORT_EPOCHS / SIZE_4K, 1);
	p->bell = p->channel < 0 ? 0 : make_bell(p, stack_here ? bell_of_switch(p) : bell_of_stack(p));
	if (p->epochs < 0 || p->bell < 0)
		manager_panic("no memory for the epochs of the network port of %s", a->name);
}

void ports_init(void)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < map->application_count; i++) {
		if (map->application[i].cluster != ROOT->cluster)
			continue;
		wake[i] = memory_object(OBJECT_NOTIFICATION, 0);
		if (wake[i] < 0)
			manager_panic("no memory for notifications");
		if (has_ends(i))
			bell_make(i);
	}
	if (map->switch_index < 0)
		return;
	for (uint32_t i = 0; i < map->application_count; i++) {
		if (!map_has_port(&map->application[i]))
			continue;
		if (count++ == PROCESS_MAX_PORTS)
			manager_panic("more than %u network ports", PROCESS_MAX_PORTS);
		port_make(i);
	}
}

/* Doorbell `bell` of the port's channel shall signal a notification with this badge, in all lives of its holder. */
static int port_listen(struct port *p, unsigned bell, unsigned core, int notification, uint64_t badge)
{
	require(p->exists && p->channel >= 0 && bell && bell < 256);
	if (p->listens)
		return 0;
	uint32_t before = owner_set(OWNER_MANAGER);
	int badged = slots_take(1);
	owner_set(before);
	int error = badged < 0 ? badged : cnode_mint(IPC, ROOT_SLOT_CNODE, (uint64_t)badged, ROOT_SLOT_CNODE,
						     (uint64_t)notification, RIGHT_ALL, badge);
	if (!error)
		error = channel_listen(IPC, ROOT_SLOT_CHANNEL + (uint64_t)p->channel, bell, core, (uint64_t)badged);
	p->listens = !error;
	return error;
}

/* This end's frames, from `address` on in its program. */
static int map_end(struct port *p, enum port_direction out, int vspace, uint64_t address)
{
	require(p->exists && !p->open[out]);
	p->open[out] = true;
	return vspace_map_range(vspace, out == PORT_TO_SWITCH ? p->frames : p->switch_frames, PORT_FRAMES, SIZE_4K,
	                        address,
				RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
}

static int give_doorbell(const struct process *process, unsigned slot, const struct port *p, unsigned bell)
{
	return process_give_badged(process, slot, ROOT_SLOT_CHANNEL + p->channel, RIGHT_WRITE, bell);
}

/* `process` holds the port of this application. */
static int attach_stack(uint32_t application, struct process *process, struct process_info *info)
{
	const struct map_application *a = &map->application[application];
	struct port *p = &port[application];
	info->network = (struct process_network){
		.present = 1, .ipv4 = a->ipv4, .netmask = map->network.netmask, .gateway = map->network.gateway,
		.mtu = (uint16_t)map->network.mtu,
	};
	memcpy(info->network.mac, a->mac, sizeof(a->mac));
	int error = map_end(p, PORT_TO_SWITCH, process->vspace, PROCESS_PORT_VADDR);
	if (error)
		return error;
	if (p->channel < 0) {
		process->memory += PORT_SIZE;
		error = bell_give((uint32_t)a->port_of, process, PROCESS_BELL_PORT);
		return error ? error : process_give_badged(process, PROCESS_SLOT_PEER, wake[a->port_of], RIGHT_WRITE,
		                                           switch_badge(p));
	}
	info->network.remote = 1;
	uint32_t by = port_holder(application);
	error = port_listen(p, bell_of_stack(p), map->application[by].core, wake[by], PORT_BADGE);
	return error ? error : give_doorbell(process, PROCESS_SLOT_PEER, p, bell_of_switch(p));
}

static int attach_port_to_switch(uint32_t application, struct process *process, struct process_info *info)
{
	const struct map_application *a = &map->application[application];
	struct port *p = &port[application];
	struct process_port *described = &info->port[p->index];
	unsigned slot = PROCESS_SLOT_PORT_WAKE + p->index;
	*described = (struct process_port){ .uplink = a->role == MAP_NIC, .lower = a->role == MAP_SWITCH,
					      .remote = p->channel >= 0, .ipv4 = a->ipv4 };
	memcpy(described->mac, a->mac, sizeof(a->mac));
	info->port_count = p->index + 1;
	int error = map_end(p, PORT_FROM_SWITCH, process->vspace, PROCESS_PORTS_VADDR + (uint64_t)p->index * PORT_SIZE);
	if (error)
		return error;
	if (p->channel < 0) {
		error = bell_give(port_holder(application), process, PROCESS_BELL_PORTS + p->index);
		return error ? error : process_give_badged(process, slot, wake[port_holder(application)], RIGHT_WRITE,
		                                           PORT_BADGE);
	}
	error = port_listen(p, bell_of_switch(p), switch_of(application)->core, wake[a->port_of], switch_badge(p));
	return error ? error : give_doorbell(process, slot, p, bell_of_stack(p));
}

/* A lower switch has the stack's end of its port; it is the last of its ports. */
static int attach_upper(uint32_t application, struct process *process, struct process_info *info)
{
	const struct map_application *a = &map->application[application];
	struct port *p = &port[application];
	uint32_t index = ports_of((int)application, map->application_count);
	unsigned slot = PROCESS_SLOT_PORT_WAKE + index;
	info->port[index] = (struct process_port){ .upper = 1, .remote = p->channel >= 0 };
	info->port_count = index + 1;
	int error = map_end(p, PORT_TO_SWITCH, process->vspace, PROCESS_PORTS_VADDR + (uint64_t)index * PORT_SIZE);
	if (error)
		return error;
	if (p->channel < 0) {
		process->memory += PORT_SIZE;
		error = bell_give((uint32_t)a->port_of, process, PROCESS_BELL_PORTS + index);
		return error ? error : process_give_badged(process, slot, wake[a->port_of], RIGHT_WRITE,
		                                           switch_badge(p));
	}
	error = port_listen(p, bell_of_stack(p), a->core, wake[application], 1ull << index % 64);
	return error ? error : give_doorbell(process, slot, p, bell_of_switch(p));
}

/* The applications behind the lower switches of this one. */
static void describe_routes(uint32_t application, struct process_info *info)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];
		if (!a->ipv4 || !map_has_port(a) || switch_of(i)->port_of != (int)application)
			continue;
		require(info->route_count < PROCESS_MAX_PORTS);
		struct process_route *route = &info->route[info->route_count++];
		*route = (struct process_route){ .port = (uint16_t)port[a->port_of].index, .ipv4 = a->ipv4 };
		memcpy(route->mac, a->mac, sizeof(a->mac));
	}
}

/* The notification of this cluster's end, or the other cluster's bell. */
static uint64_t wakes_end(uint32_t application, enum port_direction out)
{
	bool here = out == PORT_TO_SWITCH ? map->application[application].cluster == ROOT->cluster
	            : switch_is_here(application);
	if (!here)
		return (uint64_t)port[application].bell;
	return (uint64_t)wake[out == PORT_TO_SWITCH ? port_holder(application)
	                      : (uint32_t)map->application[application].port_of];
}

void port_end_close(int epochs, enum port_direction side)
{
	char *page = window_open(epochs, 1);
	if (page) {
		port_close((struct port_epochs *)(page + PORT_EPOCHS % SIZE_4K), side);
		window_close();
	}
}

static void close_end(uint32_t application, enum port_direction out)
{
	struct port *p = &port[application];
	require(p->exists && p->epochs > 0);
	if (p->open[out])
		vspace_unmap_range(out == PORT_TO_SWITCH ? p->frames : p->switch_frames, PORT_FRAMES);
	p->open[out] = false;
	port_end_close(p->epochs, out);
	notification_signal(wakes_end(application, out == PORT_TO_SWITCH ? PORT_FROM_SWITCH : PORT_TO_SWITCH));
}

/* All ends that it has, or only those that no running program of this cluster has. */
static void close_all(uint32_t application, bool running)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		if (!port[i].exists)
			continue;
		if (port_holder(i) == application && (running || !port[i].open[PORT_TO_SWITCH]))
			close_end(i, PORT_TO_SWITCH);
		if (map->application[i].port_of == (int)application && (running || !port[i].open[PORT_FROM_SWITCH]))
			close_end(i, PORT_FROM_SWITCH);
	}
}

void ports_close(uint32_t application) { close_all(application, true); }

void ports_ended(uint32_t application) { close_all(application, false); }

int ports_attach(uint32_t application, struct process *process, struct process_info *info)
{
	int owner = ports_owner(application);
	int error = home_set(ROOT_SLOT_CNODE, (uint64_t)wake[application], info->core);
	if (!error)
		error = process_give(process, PROCESS_SLOT_WAKE, wake[application]);
	info->life = (read_tsc() | 1) + 1; /* later than all before, those of managers before this one, too */
	bool is_switch = map->application[application].role == MAP_SWITCH;
	if (!error && has_ends(application))
		error = bell_give_own(application, process);
	if (!error && !is_switch && owner != MAP_NONE && port[owner].exists)
		error = attach_stack((uint32_t)owner, process, info);
	if (error || !is_switch)
		return error;
	for (uint32_t i = 0; !error && i < map->application_count; i++)
		if (port[i].exists && map->application[i].port_of == (int)application)
			error = attach_port_to_switch(i, process, info);
	describe_routes(application, info);
	return error || !port[application].exists ? error : attach_upper(application, process, info);
}
