/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's arguments and what it prints: PROGRAM [CASE] [--without CASE]... [--finds TEXT] [--all-schedules]. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "engine.h"

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* What is wrong with the outcomes that the executions had; null: nothing. */
static const char *wrong_outcomes(const struct explore_case *c, const struct engine_count *count)
{
	static char text[100];
	uint64_t seen = 0;
	for (unsigned i = 0; i < count->outcomes; i++)
		seen |= 1ull << count->outcome[i] % 64;
	if (!c->outcomes || seen == c->outcomes)
		return 0;
	snprintf(text, sizeof(text), "the outcomes of the executions are %#llx, not %#llx", (unsigned long long)seen,
	         (unsigned long long)c->outcomes);
	return text;
}

static const char *run(const struct explore_case *c, struct engine_count *count)
{
	double start = seconds();
	const char *failure = engine_explore(c, count);
	const char *shown = failure ? failure : wrong_outcomes(c, count);
	printf("%s: %s%s: %llu executions, %llu redundant, %llu states, at most %llu choices in one, %.1f s\n",
	       shown ? "FAIL" : "ok", c->name, engine_all_schedules ? ", all schedules" : "",
	       (unsigned long long)count->executions, (unsigned long long)count->redundant,
	       (unsigned long long)count->states, (unsigned long long)count->longest, seconds() - start);
	if (failure)
		report_print();
	if (shown)
		printf("  %s\n", shown);
	fflush(stdout);
	return shown;
}

/* Does the case have as many executions when no schedule is left out? */
static const char *compare(const struct explore_case *c)
{
	struct engine_count count, all;
	const char *failure = run(c, &count);
	if (failure)
		return failure;
	engine_all_schedules = true;
	failure = run(c, &all);
	engine_all_schedules = false;
	if (!failure && count.executions != all.executions)
		printf("%s: %s\n", c->name, failure = "executions are left out");
	return failure;
}

/* Whether an option tells to leave out what has this name. */
static bool left_out(int argc, char **argv, const char *name)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], "--without") && strstr(name, argv[i + 1]))
			return true;
	return false;
}

int explore_main(int argc, char **argv, const struct explore_case *cases)
{
	const char *word = "", *finds = 0;
	bool any = false, failed = false, all = false;
	struct engine_count count;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--finds") && i + 1 < argc)
			finds = argv[++i];
		else if (!strcmp(argv[i], "--without"))
			i++;
		else if (!strcmp(argv[i], "--all-schedules"))
			all = true;
		else
			word = argv[i];
	for (const struct explore_case *c = cases; c->name; c++) {
		if (!strstr(c->name, word) || left_out(argc, argv, c->name))
			continue;
		any = true;
		const char *failure = all ? compare(c) : run(c, &count);
		if (failure && finds && strstr(failure, finds))
			return 0;
		failed |= failure != 0;
	}
	if (!any)
		fprintf(stderr, "no case has \"%s\" in its name\n", word);
	if (finds)
		fprintf(stderr, "nothing found that says \"%s\": is the planted mistake still one?\n", finds);
	return !any || failed || finds;
}
