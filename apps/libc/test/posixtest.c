/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests of the POSIX layer from a program's side, or with `start` of what a deployment gives it. Prints `ok NAME` or
 * `not ok NAME` for each, then one JSON object to the results port; exits with 0 when
 * all have passed. `posixtest raise NUMBER` only sends itself a signal.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <skerry/manager.h>
#include "posixtest.h"

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const struct test *const alone[] = { start_tests };
	const struct test *const all[] = { memory_tests, thread_tests, file_tests, poll_tests, clock_tests,
	                                   string_tests, malloc_tests,
	                                       protect_tests, cancel_tests, direct_tests, direct_cancel_tests,
	                                       socketpair_tests, signal_tests };
	const bool starts = argc > 1 && !strcmp(argv[1], "start");
	const struct test *const *groups = starts ? alone : all;
	const unsigned count = starts ? 1 : sizeof(all) / sizeof(all[0]);
	unsigned passed = 0, failed = 0;
	char json[128];

	if (argc > 2 && !strcmp(argv[1], "raise"))
		return raise(atoi(argv[2])) == 0 ? 0 : 1;
	setvbuf(stdout, 0, _IOLBF, 0); /* what was printed before a crash must be there */
	for (unsigned g = 0; g < count; g++)
		for (const struct test *t = groups[g]; t->name; t++) {
			bool ok = t->run();
			printf("%s %s\n", ok ? "ok" : "not ok", t->name);
			*(ok ? &passed : &failed) += 1;
		}
	snprintf(json, sizeof(json), "{\"test\": \"posixtest\", \"passed\": %u, \"failed\": %u}", passed, failed);
	if (manager_result(json) != 0) {
		printf("not ok result\n");
		failed++;
	}
	return failed != 0;
}
