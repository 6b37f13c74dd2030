/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "bare.h"

const struct cluster_map *experiment_begin(void)
{
	tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, MAIN_PRIORITY, 0);
	output_init();
	memory_init();
	const struct cluster_map *map = modules_map("map");
	check(map && map_is_valid(map, map->size));
	enum granularity wanted = map_cluster(map, ROOT->cluster)->granularity;
	if (wanted != GRANULARITY_COARSE)
		check_ok(control_granularity_wait(ROOT_SLOT_CONTROL, wanted));
	return map;
}

const char *argument(const struct cluster_map *map, unsigned number)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct map_application *a = &map->application[i];
		if (strcmp(a->program, program_name))
			continue;
		const char *text = map_next_string(map, &a->args, 0);
		while (text && number--)
			text = map_next_string(map, &a->args, text);
		return text;
	}
	return 0;
}

uint64_t argument_number(const struct cluster_map *map, unsigned number, uint64_t otherwise)
{
	const char *text = argument(map, number);
	uint64_t value = 0;
	for (; text && *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value ? value : otherwise;
}

bool argument_list(const struct cluster_map *map, unsigned number, uint32_t *values, unsigned most)
{
	const char *text = argument(map, number);
	unsigned count = 0;
	for (values[0] = 0; text && count < most; text++)
		if (*text >= '0' && *text <= '9') {
			values[count] = values[count] * 10 + (uint32_t)(*text - '0');
		} else if (*text == ',' && values[count]) {
			values[++count] = 0;
		} else {
			values[count + 1] = 0;
			return !*text && values[count];
		}
	return false;
}
