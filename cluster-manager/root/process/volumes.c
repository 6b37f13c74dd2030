/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <skerry/file_port.h>
#include "homes.h"
#include "map.h"
#include "memory.h"
#include "ports.h"
#include "root.h"
#include "slots.h"
#include "volumes.h"
#include "vspace.h"

enum { FRAMES = FILE_PORT_SIZE / SIZE_4K };

/*
 * By the volume server's place in the map. The manager keeps a port's memory: each side gets copies of its
 * capabilities, so that neither loses the port when the other ends.
 */
static struct file_port_state {
	int frames; /* first slot; 0: there is no port yet */
	int head;   /* the first page once more, for the manager's window */
	int answer; /* notification that the server raises */
	int turn;   /* the same, that processes of a family raise for each other; 0: the program is one process */
} port[MAP_MAX_APPLICATIONS];

static int port_make(struct file_port_state *p)
{
	const int frames = memory_frames(OBJECT_FRAME_4K, FRAMES);
	const int head = frames < 0 ? frames : slots_copy(frames, 1);
	const int answer = head < 0 ? head : memory_object(OBJECT_NOTIFICATION, 0);
	if (answer >= 0)
		*p = (struct file_port_state){ .frames = frames, .head = head, .answer = answer };
	return answer < 0 ? answer : 0;
}

static int port_open(uint32_t server)
{
	if (port[server].frames)
		return 0;
	const uint32_t before = owner_set(OWNER_MANAGER);
	const int error = port_make(&port[server]);
	owner_set(before);
	return error;
}

static int port_map(uint32_t server, const struct process *process, uint32_t index)
{
	const int error = port_open(server);
	const int frames = error ? error : slots_copy(port[server].frames, FRAMES);
	return frames < 0 ? frames : vspace_map_range(process->vspace, frames, FRAMES, SIZE_4K,
						      PROCESS_VOLUMES_VADDR + (uint64_t)index * FILE_PORT_SIZE,
						      RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
}

/* Makes the notification that processes of a family wait on for their turn, unless it is there. */
static int turn_make(struct file_port_state *p, uint32_t core)
{
	if (p->turn)
		return 0;
	const uint32_t before = owner_set(OWNER_MANAGER);
	const int turn = memory_object(OBJECT_NOTIFICATION, 0);
	owner_set(before);
	if (turn > 0)
		p->turn = turn;
	return turn < 0 ? turn : home_set(ROOT_SLOT_CNODE, (uint64_t)turn, core);
}

/* Stores whether the server of a port has ended. */
static void port_mark(uint32_t server, uint32_t gone)
{
	struct file_port *head = window_open(port[server].head, 1);
	if (!head)
		return;
	atomic_store_explicit(&head->gone, gone, memory_order_release);
	window_close();
}

static int attach_server(uint32_t server, const struct process *process, struct process_info *info)
{
	int error = port_map(server, process, 0);
	info->volume_count = 1;
	if (!error)
		error = process_give_badged(process, PROCESS_SLOT_PEER, port[server].answer, RIGHT_WRITE, PORT_BADGE);
	if (!error)
		port_mark(server, 0);
	return error;
}

static int attach_volume(uint32_t server, const struct process *process, uint32_t index, uint32_t core)
{
	int error = port_map(server, process, index);
	if (!error)
		error = home_set(ROOT_SLOT_CNODE, (uint64_t)port[server].answer, core);
	if (!error)
		error = process_give(process, PROCESS_SLOT_VOLUME_ANSWER + index, port[server].answer);
	if (!error)
		error = process_give_badged(process, PROCESS_SLOT_VOLUME_WAKE + index, ports_wake(server), RIGHT_WRITE,
					    PORT_BADGE);
	if (error || map->application[map->application[server].volume_of].processes == 1)
		return error;
	error = turn_make(&port[server], core);
	return error ? error : process_give(process, PROCESS_SLOT_VOLUME_TURN + index, port[server].turn);
}

int volumes_attach(uint32_t application, struct process *process, struct process_info *info)
{
	const struct map_application *a = &map->application[application];
	if (a->role == MAP_VOLUME)
		return attach_server(application, process, info);
	int error = 0;
	for (; !error && info->volume_count < map_named_count(&a->volumes); info->volume_count++)
		error = attach_volume(map_named(map, &a->volumes, info->volume_count), process, info->volume_count,
				      info->core);
	return error;
}

void volumes_left(uint32_t application)
{
	const struct map_list *volumes = &map->application[application].volumes;
	for (uint32_t i = 0; i < map_named_count(volumes); i++)
		notification_signal((uint64_t)port[map_named(map, volumes, i)].turn);
}

void volumes_ended(uint32_t application)
{
	if (map->application[application].role != MAP_VOLUME || port_open(application))
		return;
	port_mark(application, 1);
	notification_signal((uint64_t)port[application].answer);
}
