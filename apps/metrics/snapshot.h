/* SPDX-License-Identifier: BSD-2-Clause */
/* All that one scrape tells. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <skerry/sample.h>

/* Fields of Redis's INFO, in the order of redis_fields in redis.c. */
enum redis_field {
	REDIS_COMMANDS,
	REDIS_CONNECTIONS,
	REDIS_CLIENTS,
	REDIS_MEMORY,
	REDIS_MEMORY_RESIDENT,
	REDIS_HITS,
	REDIS_MISSES,
	REDIS_EXPIRED,
	REDIS_EVICTED,
	REDIS_FIELDS,
};

struct redis_info {
	bool asked; /* it is a Redis */
	bool up;    /* it answered */
	uint32_t known; /* bit i: field[i] holds */
	uint64_t field[REDIS_FIELDS];
};

struct snapshot_core {
	unsigned cpu;
	bool counted; /* its kernel is a +stat image */
	struct core_stat stat;
};

struct snapshot_cluster {
	struct sample_cluster about;
	unsigned cores;
	struct snapshot_core *core;
};

struct snapshot {
	unsigned clusters, applications;
	struct snapshot_cluster *cluster;
	struct sample_application *application;
	struct redis_info *redis; /* of each application */
	double seconds;           /* that it took */
};
