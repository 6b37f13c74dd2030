/* SPDX-License-Identifier: BSD-2-Clause */
#include "files.h"
#include <string.h>
#include <skerry/format.h>
#include "memory.h"
#include "modules.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

/* The text of /etc/hosts: made for the first program that has a network, the same frames for all. */
enum {
	LINE_MOST = sizeof("255.255.255.255 \n ") + 2 * PROCESS_NAME,
	HOSTS_PAGES = (32 + PROCESS_MAX_PORTS * LINE_MOST + SIZE_4K - 1) / SIZE_4K,
};
_Static_assert(PROCESS_HOSTS_VADDR + HOSTS_PAGES * SIZE_4K <= PROCESS_IPC_VADDR, "below the IPC buffers");

static int hosts_frames;
static uint32_t hosts_size;

/* Each application with an address, by its name in the map and by that without its number. */
static uint32_t write_hosts(char *window)
{
	struct text text = { .data = window, .size = HOSTS_PAGES * SIZE_4K };
	text_format(&text, "127.0.0.1 localhost\n");
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];
		char plain[PROCESS_NAME] = "";
		if (!a->ipv4)
			continue;
		for (unsigned c = 0; a->name[c] != '@' && a->name[c]; c++)
			plain[c] = a->name[c];
		text_format(&text, "%u.%u.%u.%u %s %s\n", a->ipv4 & 255, a->ipv4 >> 8 & 255, a->ipv4 >> 16 & 255,
		            a->ipv4 >> 24, a->name,
		    plain);
	}
	return (uint32_t)text.length;
}

static int make_hosts(void)
{
	int frames = memory_frames(OBJECT_FRAME_4K, HOSTS_PAGES);
	char *window = frames < 0 ? NULL : window_open(frames, HOSTS_PAGES);
	if (!window)
		return frames < 0 ? frames : -SKERRY_NO_MEMORY;
	hosts_size = write_hosts(window);
	window_close();
	hosts_frames = frames;
	return 0;
}

static int map_hosts(const struct process *p, struct process_info *info)
{
	uint32_t before = owner_set(OWNER_SHARED + OWNERS_SHARED - 1); /* they stay for the others */
	int error = hosts_frames ? 0 : make_hosts();
	owner_set(before);
	if (error)
		memory_return(OWNER_SHARED + OWNERS_SHARED - 1);
	int frames = error ? error : slots_copy(hosts_frames, HOSTS_PAGES);
	if (frames < 0)
		return frames;
	info->hosts_size = hosts_size;
	return vspace_map_range(p->vspace, frames, HOSTS_PAGES, SIZE_4K, PROCESS_HOSTS_VADDR, RIGHT_READ,
	                        CACHE_WRITE_BACK);
}

int files_attach(const struct map_application *a, const struct process *p, struct process_info *info)
{
	int error = a->ipv4 && a->role == MAP_PROGRAM ? map_hosts(p, info) : 0;
	if (error || !a->files[0])
		return error;
	const struct module module = module_find(a->files);
	if (module.index < 0)
		return -SKERRY_NOT_FOUND;
	info->files_size = module.size;
	return module_map(&module, p->vspace, PROCESS_FILES_VADDR);
}
