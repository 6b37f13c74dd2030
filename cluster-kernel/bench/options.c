/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void refuse_argument(const char *argument, const char *reason)
{
	fprintf(stderr, "%s: %s\n", argument, reason);
	exit(2);
}

static void read_cpus(struct options *options, const char *argument, const char *list)
{
	options->cores = 0;
	for (char *end; *list; list = *end ? end + 1 : end) {
		unsigned long cpu = strtoul(list, &end, 10);
		if (end == list || (*end && *end != ',') || options->cores == TEAM_MAX)
			refuse_argument(argument, "not a list of up to 60 processors");
		for (unsigned i = 0; i < options->cores; i++)
			if (options->cpu[i] == cpu)
				refuse_argument(argument, "one processor twice"); /* they would wait for each other */
		options->cpu[options->cores++] = (unsigned)cpu;
	}
	if (!options->cores)
		refuse_argument(argument, "no processors");
}

void options_read(struct options *o, int argc, char **argv, int first)
{
	const struct {
		const char *name;
		uint64_t *value;
	} known[] = {
		{ "rounds=", &o->rounds }, { "window=", &o->window }, { "delay=", &o->delay },
		{ "section=", &o->section },
		{ "lines=", &o->lines }, { "nap=", &o->nap }, { "exclusive=", &o->exclusive },
		{ "unlocked=", &o->unlocked }, { "irrevocable=", &o->irrevocable }, { "seed=", &o->seed },
	};
	*o = (struct options){ .cores = 1, .rounds = 100000, .window = 50000000, .delay = 4000, .section = 300,
	                       .lines = 4 };
	for (int i = first; i < argc; i++) {
		char *end;
		unsigned k = 0;
		if (!strncmp(argv[i], "cpus=", 5)) {
			read_cpus(o, argv[i], argv[i] + 5);
			continue;
		}
		while (k < sizeof(known) / sizeof(known[0]) && strncmp(argv[i], known[k].name, strlen(known[k].name)))
			k++;
		if (k == sizeof(known) / sizeof(known[0]))
			refuse_argument(argv[i], "no such option");
		*known[k].value = strtoull(argv[i] + strlen(known[k].name), &end, 10);
		if (*end || end == argv[i] + strlen(known[k].name))
			refuse_argument(argv[i], "not a number");
	}
	if (!o->rounds || !o->window)
		refuse_argument(o->rounds ? "window=0" : "rounds=0", "nothing to measure");
}
