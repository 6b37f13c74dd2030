/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A YCSB client for Redis: the core workloads of Cooper et al. 2010 with every
 * value checked. Exit status 0: all operations were done and every answer was
 * right; 1: not so; 2: wrong usage.
 */
#include <stdio.h>

#include "client.h"

enum { BARRIER_LOADED = 1, BARRIER_DONE };

int main(int argc, char **argv)
{
	struct options options;
	struct measurement measurement;
	struct client client;
	int status;

	options_parse(&options, argc, argv);
	platform_identify(&options);
	if (!measurement_init(&measurement)) {
		fputs("ycsb: no memory for a histogram\n", stderr);
		return 1;
	}

	/* Whoever fails goes to the barriers all the same: the others wait there. */
	status = platform_await(&options);
	client_open(&client, &options);
	if (options.load && !client.lost) {
		phase_load(&client, &measurement);
		phase_warm(&client, &measurement);
	}
	status |= platform_barrier(&options, BARRIER_LOADED);
	if (!client.lost && (!options.survive || client_survive(&client)))
		phase_run(&client, &measurement);
	status |= platform_barrier(&options, BARRIER_DONE);
	phase_expect(&client);
	phase_memory(&client);
	status |= report(&client, &measurement);
	if (measurement.operations + measurement.gaps.reads + measurement.gaps.updates != options.operations ||
	    client.errors || client.wrong)
		status = 1;
	client_close(&client);
	return status ? 1 : 0;
}
