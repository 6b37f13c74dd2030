/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "arguments.h"
#include "output.h"
#include "pingpong.h"

enum { ROUNDS = 1000 };

/* Arguments: ipc [ROUNDS]. */
_Noreturn void bare_main(void)
{
	tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, MAIN_PRIORITY, 0);
	output_init();
	memory_init();
	const void *map = modules_map("map");
	memory_reset();
	const char *what = argument(map, 0);
	check(!what || !strcmp(what, "ipc"));
	ipc_measure(argument_number(map, 1, ROUNDS));
	output_exit(EXIT_GOOD);
}
