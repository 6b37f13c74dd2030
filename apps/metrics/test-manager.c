/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cluster-manager for tests on the build machine: two clusters of two cores,
 * of which the second is lost in its third life, one that is lost for a reason that
 * the endpoint does not know, and a Redis at 127.0.0.1. What comes from the
 * first cluster is as bad as another cluster can make it.
 */
#include <arpa/inet.h>
#include <string.h>

#include <skerry/errors.h>
#include <skerry/manager.h>
#include <skerry/sample.h>

static uint64_t samples;

int manager_sample(void)
{
	samples++;
	return 0;
}

static void make_core(unsigned cluster, unsigned core, struct sample_core *to)
{
	static struct core_stat stat;

	stat = (struct core_stat){
		.started = 5, .updated = 5 + 2000 * samples, .idle_cycles = 1000 * samples,
		.entries = UINT64_MAX, .syscalls = samples,
		.transactions = { .begun = 3, .committed = 2, .aborted = { 1 } },
	};
	stat.lock[LOCK_CLASS_KERNEL] = (struct lock_stat){
		.instances = core ? -1 : 2, .acquisitions = 10 * samples, .conflicts = 1, .wait = 500 * samples,
		.hold = 7,
	};
	*to = (struct sample_core){ .cpu = 2 * cluster + core };
	to->words = stat_pack(to->word, &stat, true);
}

int manager_sample_read(unsigned kind, unsigned index, unsigned core, void *record, size_t size)
{
	static const struct sample_cluster cluster[] = {
		{ 0, 1, 1000, 1 << 20, 1 << 19, "clh\"\\\n\xff{}", .life = 1 },
		{ 1, 0, 0, 0, 0, "?", .life = 3, .lost = SAMPLE_LOSS_MANAGER },
		{ 2, 0, 0, 0, 0, "?", .lost = SAMPLE_LOSSES },
	};
	static struct sample_application application[] = {
		{ 0, 0, SAMPLE_STARTED, 0, 4096, "metrics@0", "metrics", 0 },
		{ 0, 1, SAMPLE_SERVING, 0, 8192, "redis@1", "redis-server", 0 },
		{ 1, 2, SAMPLE_ENDED, 0, 8192, "valkey@2", "valkey-server", 3 },
	};

	application[1].ipv4 = application[2].ipv4 = htonl(INADDR_LOOPBACK);
	if (index >= 3 || core >= (index < 2 ? 2u : 1u))
		return -SKERRY_NOT_FOUND;
	if (kind == SAMPLE_CLUSTER)
		memcpy(record, &cluster[index], size);
	else if (kind == SAMPLE_CORE)
		make_core(index, core, record);
	else
		memcpy(record, &application[index], size);
	return 0;
}
