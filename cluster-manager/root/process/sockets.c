/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/socket_port.h>
#include "map.h"
#include "memory.h"
#include "ports.h"
#include "root.h"
#include "slots.h"
#include "sockets.h"
#include "vspace.h"

enum { HEAD_FRAMES = SOCKET_PORT_HEAD / SIZE_4K, BUFFER_FRAMES = SOCKET_PORT_BUFFERS_SIZE / SIZE_2M };

enum side_state { SIDE_NEW, SIDE_ATTACHED, SIDE_ENDED };

/* First slots of the frames, for each side; by the program's place in the map. */
static struct socket_port {
	bool exists;
	enum side_state state[2];
	int head[2], buffers[2];
	int header; /* its first page, for the manager */
} port[MAP_MAX_APPLICATIONS];

/* The program whose sockets these are, or -1: neither a program with a stack nor a stack. */
static int program_of(uint32_t application)
{
	const struct map_application *a = &map->application[application];

	return a->stack >= 0 ? (int)application : a->stack_of;
}

static void give_back(uint32_t program)
{
	memory_return(owner_sockets(program));
	port[program] = (struct socket_port){ 0 };
}

static int socket_port_make(struct socket_port *p)
{
	int error = 0;

	p->head[0] = memory_frames(OBJECT_FRAME_4K, HEAD_FRAMES);
	p->buffers[0] = p->head[0] < 0 ? p->head[0] : memory_frames(OBJECT_FRAME_2M, BUFFER_FRAMES);
	if (p->buffers[0] < 0)
		return p->buffers[0];
	p->head[1] = slots_copy(p->head[0], HEAD_FRAMES);
	p->buffers[1] = slots_copy(p->buffers[0], BUFFER_FRAMES);
	p->header = slots_copy(p->head[0], 1);
	error = p->head[1] < 0 ? p->head[1] : p->buffers[1] < 0 ? p->buffers[1] : p->header;
	return error < 0 ? error : 0;
}

static int socket_port_open(uint32_t program)
{
	struct socket_port *p = &port[program];
	uint32_t before;
	int error;

	if (p->exists)
		return 0;
	before = owner_set(owner_sockets(program));
	error = socket_port_make(p);
	owner_set(before);
	if (error)
		give_back(program);
	p->exists = !error;
	return error;
}

static enum socket_side side_of(uint32_t application)
{
	return map->application[application].stack >= 0 ? SOCKET_SIDE_PROGRAM : SOCKET_SIDE_STACK;
}

static uint32_t peer_of(uint32_t application)
{
	const struct map_application *a = &map->application[application];

	return (uint32_t)(a->stack >= 0 ? a->stack : a->stack_of);
}

int sockets_attach(uint32_t application, struct process *process, struct process_info *info)
{
	int program = program_of(application);
	enum socket_side side = side_of(application);
	int error;

	if (program < 0)
		return 0;
	if (sockets_used(application) && port[program].state[!side] != SIDE_ATTACHED)
		give_back((uint32_t)program);
	error = sockets_used(application) ? -SKERRY_BUSY : socket_port_open((uint32_t)program);
	if (!error)
		error = vspace_map_range(process->vspace, port[program].head[side], HEAD_FRAMES, SIZE_4K,
					 PROCESS_SOCKETS_VADDR, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK);
	if (!error)
		error = vspace_map_range(process->vspace, port[program].buffers[side], BUFFER_FRAMES, SIZE_2M,
					 PROCESS_SOCKETS_VADDR + SOCKET_PORT_BUFFERS, RIGHT_READ | RIGHT_WRITE,
					 CACHE_WRITE_BACK);
	info->sockets = 1;
	if (!error)
		port[program].state[side] = SIDE_ATTACHED;
	return error ? error : process_give_badged(process, PROCESS_SLOT_SOCKETS, ports_wake(peer_of(application)),
						   RIGHT_WRITE, PORT_BADGE);
}

bool sockets_used(uint32_t application)
{
	int program = program_of(application);

	return program >= 0 && port[program].state[side_of(application)] == SIDE_ENDED;
}

int sockets_peer(uint32_t application) { return program_of(application) < 0 ? -1 : (int)peer_of(application); }

void sockets_ended(uint32_t application)
{
	int program = program_of(application);
	enum socket_side side = side_of(application);
	struct socket_port_header *header;

	if (program < 0 || socket_port_open((uint32_t)program)) /* a peer that starts later shall see it, too */
		return;
	port[program].state[side] = SIDE_ENDED;
	if (port[program].state[!side] == SIDE_ENDED) {
		give_back((uint32_t)program);
		port[program].state[side] = port[program].state[!side] = SIDE_ENDED;
		return;
	}
	header = window_open(port[program].header, 1);
	if (!header)
		return;
	atomic_store_explicit(&header->gone[side], 1, memory_order_release);
	window_close();
	notification_signal((uint64_t)ports_wake(peer_of(application)));
}
