/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /plan: lines of fields that tabs separate (an empty field is an empty word):
 *
 *     serve CPU NAME PORT PROGRAM ARGUMENT...
 *     run CPU NAME PROGRAM ARGUMENT...
 *     rendezvous FILE
 *     symbols
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

static char *field(char **rest)
{
	char *found = strsep(rest, "\t");

	if (!found)
		fail("/plan: a line ends early");
	return found;
}

static void add_process(struct plan *plan, bool server, char *rest)
{
	if (plan->count == MAX_PROCESSES)
		fail("/plan: more than %d processes", MAX_PROCESSES);
	struct process *p = &plan->processes[plan->count++];
	p->cpu = atoi(field(&rest));
	p->name = field(&rest);
	p->port = server ? atoi(field(&rest)) : 0;
	plan->clients += !server;
	for (int i = 0; rest; i++) {
		if (i == MAX_ARGUMENTS)
			fail("/plan: %s has more than %d arguments", p->name, MAX_ARGUMENTS);
		p->argv[i] = field(&rest);
	}
	if (!p->argv[0])
		fail("/plan: %s has no program", p->name);
}

void read_plan(struct plan *plan, const char *path)
{
	static char text[PLAN_BYTES];
	size_t length = 0;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	for (ssize_t n = 1; fd >= 0 && n > 0; length += n > 0 ? (size_t)n : 0)
		n = read(fd, text + length, sizeof(text) - 1 - length);
	if (length == 0 || length == sizeof(text) - 1)
		fail("%s: absent, empty or too long", path);
	close(fd);

	char *lines = text;
	for (char *line = strsep(&lines, "\n"); line && *line; line = strsep(&lines, "\n")) {
		const char *verb = field(&line);
		if (!strcmp(verb, "serve") || !strcmp(verb, "run"))
			add_process(plan, verb[0] == 's', line);
		else if (!strcmp(verb, "rendezvous"))
			plan->rendezvous = field(&line);
		else if (!strcmp(verb, "symbols"))
			plan->symbols = true;
		else
			fail("%s: unknown line '%s'", path, verb);
	}
}
