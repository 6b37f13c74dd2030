/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "bare.h"
#include "pingpong.h"

enum { ROUNDS = 1000 };

const char program_name[] = PINGPONG_NAME;

static void run_scale(const struct cluster_map *map)
{
	static struct scale args;
	if (ROOT->cluster)
		cluster_obey();
	args.unit = argument(map, 1);
	args.rounds = (unsigned)argument_number(map, 2, ROUNDS);
	check(args.unit);
	check(argument_list(map, 3, args.cores, 63));
	check(argument_list(map, 4, args.delays, 63));
	args.section = (unsigned)argument_number(map, 5, 0);
	scale_measure(&args);
}

static void run_caches(const struct cluster_map *map)
{
	static struct caches args;
	check(PINGPONG_CORES == FEW_CORES || ROOT->cpu_count <= FEW_CORES);
	args.end_mib = argument_number(map, 1, 0);
	check(argument_list(map, 2, args.writers, 63));
	check(argument_list(map, 3, args.readers, 63));
	check(argument_list(map, 4, args.pages, 63));
	caches_measure(&args);
}

static bool last_is(const struct cluster_map *map, const char *word)
{
	const char *last = 0;
	for (unsigned i = 0; argument(map, i); i++)
		last = argument(map, i);
	return last && !strcmp(last, word);
}

static void run_forkjoin(const struct cluster_map *map)
{
	static uint32_t cores[64];
	check(PINGPONG_CORES == FEW_CORES || ROOT->cpu_count <= FEW_CORES);
	check(argument_list(map, 2, cores, 63));
	forkjoin_measure((unsigned)argument_number(map, 1, ROUNDS), cores, last_is(map, "set"));
}

static void run_unmap(const struct cluster_map *map)
{
	static const char *const guards[] = { "kernel", "domain", "mapping" }; /* as enum frame_guard */
	static uint32_t cores[64], pages[64];
	const char *name = argument(map, 4);
	unsigned guard = 0;
	check(argument_list(map, 2, cores, 63));
	check(argument_list(map, 3, pages, 63));
	check(name);
	while (guard < sizeof(guards) / sizeof(guards[0]) && strcmp(name, guards[guard]))
		guard++;
	check(guard < sizeof(guards) / sizeof(guards[0]));
	unmap_measure((unsigned)argument_number(map, 1, ROUNDS), cores, pages, (enum frame_guard)guard);
}

/*
 * Arguments: ipc [ROUNDS], latency, scale UNIT ROUNDS CORES,... DELAY,... [SECTION],
 * forkjoin ROUNDS CORES,..., unmap ROUNDS CORES,... PAGES,... kernel|domain|mapping,
 * caches END_MIB WRITERS,... READERS,... PAGES,...,
 * or, in the program for more than 60 cores, shootdown ROUNDS CORES,...
 * `local` behind those of ipc, scale and forkjoin: object_of(); `set` behind those of forkjoin: SYS_SIGNAL_SET.
 */
_Noreturn void bare_main(void)
{
	const struct cluster_map *map = experiment_begin();
	const char *what = argument(map, 0);
	if (what && !strcmp(what, "scale"))
		clusters_init();
	at_home = last_is(map, "local");
	memory_reset();
	if (what && strcmp(what, "ipc") && ROOT->cpu_count > PINGPONG_CORES)
		fail(__FILE_NAME__, __LINE__, "the cluster has more than 60 cores");
	if (!what || !strcmp(what, "ipc"))
		ipc_measure(argument_number(map, 1, ROUNDS));
	else if (!strcmp(what, "latency"))
		latency_measure();
	else if (!strcmp(what, "scale"))
		run_scale(map);
	else if (!strcmp(what, "forkjoin"))
		run_forkjoin(map);
	else if (!strcmp(what, "unmap"))
		run_unmap(map);
	else if (!strcmp(what, "caches"))
		run_caches(map);
	else if (PINGPONG_CORES > FEW_CORES && !strcmp(what, "shootdown"))
		shootdown_measure(map);
	else
		fail(__FILE_NAME__, __LINE__, what);
	output_exit(EXIT_GOOD);
}
