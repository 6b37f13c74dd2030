/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/port.h>
#include "cables.h"
#include "map.h"
#include "memory.h"
#include "ports.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

enum { CABLE_FRAMES = CABLE_SIZE / SIZE_4K, CABLES = MAP_MAX_APPLICATIONS };
_Static_assert(PROCESS_MAX_PORTS * PROCESS_MAX_CABLES / 2 <= CABLES, "each end has an address, and so a network port");

/* An end's number is that of its direction: the application that names the cable has the place of a stack. */
struct cable {
	uint32_t end[2]; /* applications with the addresses */
	int frames[2];
	int epochs;      /* the page with PORT_EPOCHS, for the manager */
	bool open[2];
};

static struct cable cable[CABLES];
static uint32_t cables;

static void cable_make(uint32_t from, uint32_t to)
{
	if (cables == CABLES)
		manager_panic("more than %u cables", CABLES);
	struct cable *c = &cable[cables++];
	*c = (struct cable){ .end = { from, to }, .frames[0] = memory_frames(OBJECT_FRAME_4K, CABLE_FRAMES) };
	c->frames[1] = c->frames[0] < 0 ? c->frames[0] : slots_copy(c->frames[0], CABLE_FRAMES);
	c->epochs = c->frames[1] < 0 ? c->frames[1] : slots_copy(c->frames[0] + PORT_EPOCHS / SIZE_4K, 1);
	if (c->epochs < 0)
		manager_panic("no memory for the cable between %s and %s", map->application[from].name,
		              map->application[to].name);
}

void cables_init(void)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];
		for (uint32_t k = 0; a->cluster == ROOT->cluster && k < map_named_count(&a->cables); k++)
			cable_make(i, map_named(map, &a->cables, k));
	}
}

static int cable_attach(struct cable *c, unsigned end, struct process *process, struct process_info *info)
{
	const struct map_application *peer = &map->application[c->end[!end]];
	uint32_t number = info->port_count++;
	info->port[number] = (struct process_port){ .upper = end == PORT_TO_SWITCH, .ipv4 = peer->ipv4 };
	memcpy(info->port[number].mac, peer->mac, sizeof(peer->mac));
	c->open[end] = true;
	if (end == PORT_TO_SWITCH)
		process->memory += CABLE_SIZE;
	int error = vspace_map_range(process->vspace, c->frames[end], CABLE_FRAMES, SIZE_4K,
				     PROCESS_CABLES_VADDR + (uint64_t)number * CABLE_SIZE, RIGHT_READ | RIGHT_WRITE,
				     CACHE_WRITE_BACK);
	if (!error)
		error = ports_bell_of_holder(c->end[!end], process, PROCESS_BELL_PORTS + number);
	return error ? error : process_give_badged(process, PROCESS_SLOT_CABLE_WAKE + number,
	                                           ports_wake_of_holder(c->end[!end]),
						   RIGHT_WRITE, PORT_BADGE);
}

int cables_attach(uint32_t application, struct process *process, struct process_info *info)
{
	int error = 0, owner = ports_owner(application);
	for (uint32_t i = 0; !error && i < cables; i++)
		for (unsigned end = 0; !error && end < 2; end++)
			if ((int)cable[i].end[end] == owner)
				error = cable_attach(&cable[i], end, process, info);
	return error;
}

static void close_end(struct cable *c, unsigned end)
{
	vspace_unmap_range(c->frames[end], CABLE_FRAMES);
	c->open[end] = false;
	port_end_close(c->epochs, end);
	notification_signal((uint64_t)ports_wake_of_holder(c->end[!end]));
}

void cables_close(uint32_t application)
{
	int owner = ports_owner(application);
	for (uint32_t i = 0; i < cables; i++)
		for (unsigned end = 0; end < 2; end++)
			if ((int)cable[i].end[end] == owner && cable[i].open[end])
				close_end(&cable[i], end);
}
