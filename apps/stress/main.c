/* SPDX-License-Identifier: BSD-2-Clause */
#include "bare.h"
#include "stress.h"

const char program_name[] = "stress";

static unsigned number(const struct cluster_map *map, unsigned which, unsigned most)
{
	uint64_t value = argument_number(map, which, 0);
	check(value && value <= most);
	return (unsigned)value;
}

/* Arguments: messages CLIENTS ROUNDS, or memory TASKS PAGES ROUNDS PAGERS */
_Noreturn void bare_main(void)
{
	const struct cluster_map *map = experiment_begin();
	memory_reset();
	clusters_init();
	const char *what = argument(map, 0);
	if (ROOT->cpu_count > STRESS_CORES)
		fail(__FILE_NAME__, __LINE__, "the cluster has more than 60 cores");
	if (what && !strcmp(what, "messages"))
		messages_measure(number(map, 1, TASKS_MAX), number(map, 2, 100000000));
	else if (what && !strcmp(what, "memory"))
		memory_measure(number(map, 1, TASKS_MAX), number(map, 2, 256), number(map, 3, 1000000),
		               number(map, 4, STRESS_CORES));
	else
		fail(__FILE_NAME__, __LINE__, what ? what : "no arguments");
	output_exit(EXIT_GOOD);
}
