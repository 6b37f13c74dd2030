/* SPDX-License-Identifier: BSD-2-Clause */
/*
 *     kernel-bench-<regime> idle|contended|ipc|scale [NAME=NUMBER ...] [cpus=0,1,...]
 *
 * Run, many times and in turn with those of other regimes, by `skerry bench lock`, `bench ipc --native` and
 * `bench scale --native`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch_transaction.h"
#include "bench.h"
#include "team.h"

void bench_begin(const struct team *team)
{
	printf("{\"regime\":\"%.*s\",\"cores\":%u,\"share\":%.4f,\"privileged\":%s", (int)strlen(REGIME_HEADER) - 2,
	       REGIME_HEADER, team->count, team_share(team), team->privileged == team->count ? "true" : "false");
	if (regime_is("rtm") && arch_no_transactions())
		printf(",\"no_transactions\":\"%s\"", arch_no_transactions());
}

void *bench_array(uint64_t count, uint64_t size)
{
	uint64_t bytes = (count * size + 63) & ~63ull;
	void *array = count <= UINT32_MAX ? aligned_alloc(64, bytes) : 0;
	if (!array) {
		fprintf(stderr, "no memory for %llu measurements\n", (unsigned long long)count);
		exit(2);
	}
	return memset(array, 0, bytes);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct options *);
	} benches[] = { { "idle", bench_idle }, { "contended", bench_contended }, { "ipc", bench_ipc },
	                { "scale", bench_scale } };
	struct options options;
	for (unsigned i = 0; argc > 1 && i < sizeof(benches) / sizeof(benches[0]); i++)
		if (!strcmp(argv[1], benches[i].name)) {
			options_read(&options, argc, argv, 2);
			return benches[i].run(&options);
		}
	fprintf(stderr, "usage: %s idle|contended|ipc|scale [NAME=NUMBER ...] [cpus=0,1,...]\n", argv[0]);
	return 2;
}
