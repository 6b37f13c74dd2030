/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters that a program may read if its application node has `statistics`: of all clusters' kernels, of memory,
 * and the state of applications. MANAGER_SAMPLE has them taken, MANAGER_SAMPLE_READ reads one record of them. The
 * counters of another cluster are as it reports them, unchecked.
 */
#pragma once

#include <stdint.h>
#include <skerry/boot.h>
#include <skerry/process.h>
#include <skerry/stat_pack.h>

/* m0 of MANAGER_SAMPLE_READ. The records of a kind are numbered from 0 on without gaps. */
enum sample_kind {
	SAMPLE_CLUSTER,     /* struct sample_cluster: m1 its place in the map */
	SAMPLE_CORE,        /* struct sample_core: m1 its cluster's place in the map, m2 its index in the cluster */
	SAMPLE_APPLICATION, /* struct sample_application: m1 its place in the map */
};

/* Why a cluster is lost: enum watch_reason of the manager's link/watch.h, and what only its channel shows. */
enum sample_loss {
	SAMPLE_LOSS_NONE, /* it is not lost */
	SAMPLE_LOSS_PANIC,
	SAMPLE_LOSS_STOPPED,
	SAMPLE_LOSS_CORE,
	SAMPLE_LOSS_TIMER,
	SAMPLE_LOSS_MANAGER,
	SAMPLE_LOSS_CHANNEL,
	SAMPLE_LOSSES,
};

struct sample_cluster {
	uint32_t number;
	uint32_t up;     /* 1: it answered. 0: its records are of the last time it did, 0 where it never did */
	uint64_t tsc_hz; /* of its cores' cycles */
	uint64_t memory_total, memory_free; /* bytes */
	char kernel[BOOT_NAME_SIZE]; /* of its image, "clh+stat"; terminated */
	uint32_t life; /* 1 at boot, one more each time that it was started again; 0: not known */
	uint32_t lost; /* enum sample_loss */
};

/* The counters of a core since it started: its record without histograms, for stat_unpack() (skerry/stat_pack.h). */
struct sample_core {
	uint32_t cpu;   /* place among all cpus of the map */
	uint32_t words; /* of `word`; 0: nothing is known of the core */
	uint64_t word[STAT_PACKED_BRIEF_MAX];
};

enum sample_state {
	SAMPLE_WAITING, /* to be started, or started again */
	SAMPLE_STARTED,
	SAMPLE_SERVING, /* it has said so (MANAGER_SERVING) */
	SAMPLE_ENDED,   /* it ended, was killed or could not be started, or its cluster is gone */
};

struct sample_application {
	uint32_t cluster, cpu;
	uint32_t state; /* enum sample_state */
	uint32_t ipv4;  /* network byte order; 0: none */
	uint64_t memory; /* bytes that it was given when it started */
	char name[PROCESS_NAME];
	char program[PROCESS_NAME]; /* terminated, cut where it is longer */
	uint64_t restarts; /* how often it was started again */
};

_Static_assert(sizeof(struct sample_cluster) == 72, "its layout is what programs know");
_Static_assert(sizeof(struct sample_application) == 96, "its layout is what programs know");
_Static_assert(sizeof(struct sample_core) <= MANAGER_BYTES, "a record fits an answer");
