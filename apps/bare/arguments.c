/* SPDX-License-Identifier: BSD-2-Clause */
#include <libfdt.h>
#include <string.h>
#include "arguments.h"
#include "bare.h"
#include "output.h"

/* Debian's libfdt was compiled with the stack protector, which reads the thread's block. */
static uint64_t thread_block[8];

const void *experiment_begin(void)
{
	tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, MAIN_PRIORITY, 0);
	output_init();
	memory_init();
	check_ok(tcb_set_tls(ROOT_SLOT_TCB, (uint64_t)thread_block));
	return modules_map("map");
}

const char *argument(const void *map, unsigned number)
{
	int node, applications = map ? fdt_path_offset(map, "/applications") : -1;
	if (applications < 0)
		return 0;
	fdt_for_each_subnode(node, map, applications) {
		const char *program = fdt_getprop(map, node, "program", 0);
		if (program && !strcmp(program, program_name))
			return fdt_stringlist_get(map, node, "args", (int)number, 0);
	}
	return 0;
}

uint64_t argument_number(const void *map, unsigned number, uint64_t otherwise)
{
	const char *text = argument(map, number);
	uint64_t value = 0;
	for (; text && *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint64_t)(*text - '0');
	return value ? value : otherwise;
}

bool argument_list(const void *map, unsigned number, uint32_t *values, unsigned most)
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
