/* SPDX-License-Identifier: BSD-2-Clause */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <skerry/manager.h>
#include <skerry/process.h>

_Static_assert((int)RESULT_BYTES < (int)MANAGER_BYTES, "a result fits into one message");

/* "ycsb@3": names are unique in the map, and so is what follows the @. */
void platform_identify(struct options *o)
{
	const struct process_info *info = (const void *)getauxval(AT_SKERRY);
	const char *at = strchr(info->name, '@');

	if (o->name[0] == '\0')
		snprintf(o->name, sizeof(o->name), "%s", info->name);
	if (o->writer == 0)
		o->writer = at ? strtoul(at + 1, NULL, 16) % MAX_WRITER + 1 : 1;
}

static int check_answer(const char *what, int error)
{
	if (error == 0)
		return 0;
	fprintf(stderr, "ycsb: %s: the cluster-manager refuses, error %d\n", what, error);
	return -1;
}

int platform_await(const struct options *o)
{
	return o->await ? check_answer(o->await, manager_await(o->await)) : 0;
}

int platform_barrier(const struct options *o, unsigned number)
{
	if (o->rendezvous) {
		fputs("ycsb: --rendezvous: clients meet at the cluster-manager here\n", stderr);
		return -1;
	}
	return o->alone ? 0 : check_answer("barrier", manager_barrier(number));
}

int platform_result(const char *json)
{
	return check_answer("result", manager_result(json));
}
