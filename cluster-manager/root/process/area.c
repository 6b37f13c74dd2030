/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/family_area.h>
#include <skerry/require.h>
#include "area.h"
#include "homes.h"
#include "map.h"
#include "memory.h"
#include "ports.h"
#include "root.h"
#include "volumes.h"
#include "vspace.h"

static struct area {
	int frame;                 /* 0: the program is no family, or has ended */
	int wake;                  /* notification of place 1; those of others follow */
	struct family_area *shared;
} area[MAP_MAX_APPLICATIONS];

static int wake_of(uint32_t application, uint32_t place)
{
	return place ? area[application].wake + (int)place - 1 : ports_wake(application);
}

/* Makes a notification for each place but the first, which has one. Returns the first one's slot, or an error. */
static int make_wakes(uint32_t count, uint32_t core)
{
	struct memory_reserve reserve;
	const int first = memory_reserve(&reserve, OBJECT_NOTIFICATION, 0, count);
	int error = first < 0 ? first : memory_commit(&reserve, first, count, 0);
	for (uint32_t i = 0; i < count && !error; i++)
		error = home_set(ROOT_SLOT_CNODE, (uint64_t)first + i, core);
	return error ? error : first;
}

/* Maps the frame for the manager, at an address of the application's own. Returns 0 or an error. */
static int map_own(uint32_t application, int frame)
{
	const uint64_t address = AREAS_VADDR + application * (uint64_t)FAMILY_AREA_SIZE;
	const int copy = slots_copy(frame, 1);
	const int error = copy < 0 ? copy : vspace_map(ROOT_SLOT_VSPACE, copy, address, RIGHT_READ | RIGHT_WRITE,
	                                               CACHE_WRITE_BACK);
	area[application].shared = error ? NULL : (struct family_area *)address;
	return error;
}

/* Gives a process the area and the right to signal each place. Returns 0 or an error. */
static int give(uint32_t application, uint32_t place, const struct process *p, struct process_info *info)
{
	const uint32_t places = map->application[application].processes;
	const int copy = slots_copy(area[application].frame, 1);
	int error = copy < 0 ? copy : vspace_map(p->vspace, copy, PROCESS_FAMILY_VADDR, RIGHT_READ | RIGHT_WRITE,
	                                         CACHE_WRITE_BACK);
	for (uint32_t i = 0; i < places && !error; i++)
		error = process_give_badged(p, PROCESS_SLOT_MEMBER_WAKE + i, wake_of(application, i), RIGHT_WRITE,
		                            PORT_BADGE);
	info->place = place;
	info->places = places;
	return error;
}

int area_make(uint32_t application, struct process *p, struct process_info *info)
{
	const uint32_t places = map->application[application].processes;
	struct area *a = &area[application];
	info->places = 1;
	if (places == 1)
		return 0;
	*a = (struct area){ .frame = memory_frames(OBJECT_FRAME_2M, 1) };
	a->wake = a->frame < 0 ? a->frame : make_wakes(places - 1, info->core);
	const int error = a->wake < 0 ? a->wake : map_own(application, a->frame);
	return error ? error : give(application, 0, p, info);
}

int area_give(uint32_t application, uint32_t place, struct process *p, struct process_info *info)
{
	require(place && place < map->application[application].processes && area[application].frame > 0);
	const int error = process_give(p, PROCESS_SLOT_WAKE, wake_of(application, place));
	return error ? error : give(application, place, p, info);
}

void area_inherit(uint32_t application, uint32_t from, uint32_t to)
{
	require(area[application].shared && from != to);
	family_area_inherit(area[application].shared, from, to);
}

void area_left(uint32_t application, uint32_t place)
{
	require(area[application].shared && place);
	const uint32_t places = family_area_leave(area[application].shared, place);
	for (uint32_t i = 0; i < map->application[application].processes; i++)
		if (places >> i & 1)
			notification_signal((uint64_t)wake_of(application, i));
	volumes_left(application);
}

void area_forget(uint32_t application) { area[application] = (struct area){ 0 }; }
