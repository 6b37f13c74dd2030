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

extern const struct test *const __start_layer_tests[], *const __stop_layer_tests[];
extern const struct test *const __start_start_tests[], *const __stop_start_tests[];

int main(int argc, char **argv)
{
	const bool starts = argc > 1 && !strcmp(argv[1], "start");
	const struct test *const *first = starts ? __start_start_tests : __start_layer_tests;
	const struct test *const *end = starts ? __stop_start_tests : __stop_layer_tests;
	unsigned passed = 0, failed = 0;
	char json[128];

	if (argc > 2 && !strcmp(argv[1], "raise"))
		return raise(atoi(argv[2])) == 0 ? 0 : 1;
	setvbuf(stdout, 0, _IOLBF, 0); /* what was printed before a crash must be there */
	while (end-- != first) {
		bool ok = (*end)->run();
		printf("%s %s\n", ok ? "ok" : "not ok", (*end)->name);
		*(ok ? &passed : &failed) += 1;
	}
	snprintf(json, sizeof(json), "{\"test\": \"posixtest\", \"passed\": %u, \"failed\": %u}", passed, failed);
	if (manager_result(json) != 0) {
		printf("not ok result\n");
		failed++;
	}
	return failed != 0;
}
