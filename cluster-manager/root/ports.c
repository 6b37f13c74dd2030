/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/channel.h>
#include "channel.h"
#include "channel-memory.h"
#include "memory.h"
#include "port.h"
#include "ports.h"
#include "root.h"
#include "slots.h"
#include "string.h"
#include "vspace.h"

enum { PORT_FRAMES = PORT_SIZE / SIZE_4K };

struct port {
	bool exists;       /* one end, at least, is here */
	uint32_t index;    /* among the switch's ports */
	int channel;       /* index, or -1 when both ends are here */
	uint32_t number;   /* on that channel */
	int frames;        /* for the stack, where it is here */
	int switch_frames; /* for the switch, where it is here */
};

static struct port port[MAP_MAX_APPLICATIONS];
static int wake[MAP_MAX_APPLICATIONS];

/* Doorbells of a channel's port (channel.h) */
static unsigned bell_of_switch(const struct port *p) { return 1 + 2 * p->number; }
static unsigned bell_of_stack(const struct port *p) { return 2 + 2 * p->number; }

static uint64_t switch_badge(const struct port *p) { return 1ull << p->index % 64; }

int ports_wake(uint32_t application) { return wake[application]; }

/* Who has the port of an application with an address: its stack, where that is a process of its own. */
static uint32_t holder(uint32_t application)
{
	int stack = map.application[application].stack;
	return stack >= 0 ? (uint32_t)stack : application;
}

static void port_open(uint32_t application, uint32_t number, uint32_t index)
{
	const struct application *a = &map.application[application];
	uint32_t switch_cluster = map.application[map.switch_index].cluster;
	bool stack_here = a->cluster == ROOT->cluster, switch_here = switch_cluster == ROOT->cluster;
	struct port *p = &port[application];
	*p = (struct port){ .exists = stack_here || switch_here, .index = index, .number = number, .channel = -1 };
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
}

void ports_init(void)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < map.application_count; i++) {
		if (map.application[i].cluster != ROOT->cluster)
			continue;
		wake[i] = memory_object(OBJECT_NOTIFICATION, 0);
		if (wake[i] < 0)
			manager_panic("no memory for notifications");
	}
	if (map.switch_index < 0)
		return;
	for (uint32_t i = 0; i < map.application_count; i++) {
		uint32_t number = 0;
		if (!application_has_port(&map.application[i]))
			continue;
		for (uint32_t j = 0; j < i; j++)
			number += application_has_port(&map.application[j]) &&
				  map.application[j].cluster == map.application[i].cluster;
		if (count == PROCESS_MAX_PORTS)
			manager_panic("more than %u network ports", PROCESS_MAX_PORTS);
		port_open(i, number, count++);
	}
}

/* Doorbell `bell` of the port's channel shall signal a notification with this badge. */
static int listen(const struct port *p, unsigned bell, unsigned core, int notification, uint64_t badge)
{
	int badged = slots_take(1);
	int error = badged < 0 ? badged : cnode_mint(IPC, ROOT_SLOT_CNODE, (uint64_t)badged, ROOT_SLOT_CNODE,
						     (uint64_t)notification, RIGHT_ALL, badge);
	return error ? error : channel_listen(IPC, ROOT_SLOT_CHANNEL + (uint64_t)p->channel, bell, core,
					      (uint64_t)badged);
}

static int give_doorbell(const struct process *process, unsigned slot, const struct port *p, unsigned bell)
{
	return process_give_badged(process, slot, ROOT_SLOT_CHANNEL + p->channel, RIGHT_WRITE, bell);
}

/* `process` holds the port of this application. */
static int attach_stack(uint32_t application, struct process *process, struct process_info *info)
{
	const struct application *a = &map.application[application];
	const struct port *p = &port[application];
	info->network = (struct process_network){
		.present = 1, .ipv4 = a->ipv4, .netmask = map.netmask, .gateway = map.gateway, .mtu = map.mtu,
	};
	memcpy(info->network.mac, a->mac, sizeof(a->mac));
	int error = vspace_map_range(process->vspace, p->frames, PORT_FRAMES, SIZE_4K, PROCESS_PORT_VADDR,
				     RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
	if (error)
		return error;
	if (p->channel < 0) {
		process->memory += PORT_SIZE;
		return process_give_badged(process, PROCESS_SLOT_PEER, wake[map.switch_index], RIGHT_WRITE,
					   switch_badge(p));
	}
	uint32_t by = holder(application);
	error = listen(p, bell_of_stack(p), map.application[by].core, wake[by], PORT_BADGE);
	return error ? error : give_doorbell(process, PROCESS_SLOT_PEER, p, bell_of_switch(p));
}

static int attach_port_to_switch(uint32_t application, struct process *process, struct process_info *info)
{
	const struct application *a = &map.application[application];
	const struct application *s = &map.application[map.switch_index];
	const struct port *p = &port[application];
	struct process_port *described = &info->port[p->index];
	unsigned slot = PROCESS_SLOT_PORT_WAKE + p->index;
	*described = (struct process_port){ .uplink = a->role == ROLE_NIC, .remote = p->channel >= 0, .ipv4 = a->ipv4 };
	memcpy(described->mac, a->mac, sizeof(a->mac));
	info->port_count = p->index + 1;
	int error = vspace_map_range(process->vspace, p->switch_frames, PORT_FRAMES, SIZE_4K,
				     PROCESS_PORTS_VADDR + (uint64_t)p->index * PORT_SIZE, RIGHT_READ | RIGHT_WRITE,
				     CACHE_WRITE_BACK);
	if (error)
		return error;
	if (p->channel < 0)
		return process_give_badged(process, slot, wake[holder(application)], RIGHT_WRITE, PORT_BADGE);
	error = listen(p, bell_of_switch(p), s->core, wake[map.switch_index], switch_badge(p));
	return error ? error : give_doorbell(process, slot, p, bell_of_stack(p));
}

int ports_attach(uint32_t application, struct process *process, struct process_info *info)
{
	int served = map.application[application].stack_of;
	uint32_t owner = served >= 0 ? (uint32_t)served : application;
	int error = process_give(process, PROCESS_SLOT_WAKE, wake[application]);
	if (!error && port[owner].exists && holder(owner) == application)
		error = attach_stack(owner, process, info);
	if ((int)application != map.switch_index)
		return error;
	for (uint32_t i = 0; !error && i < map.application_count; i++)
		if (port[i].exists)
			error = attach_port_to_switch(i, process, info);
	return error;
}
