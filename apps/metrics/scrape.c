/* SPDX-License-Identifier: BSD-2-Clause */
#include "scrape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <skerry/errors.h>
#include <skerry/manager.h>


_Static_assert((int)SCRAPE_POLLS_MAX >= (int)REDIS_ASKED_MAX, "there is room for all");

enum { TIMEOUT_MS = 1000, FIRST_ROOM = 16 };

static struct snapshot snapshot;
static uint64_t begun; /* milliseconds */
static uint64_t asked;

uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void scrape_forget(void)
{
	for (unsigned i = 0; i < snapshot.clusters; i++)
		free(snapshot.cluster[i].core);
	free(snapshot.cluster);
	free(snapshot.application);
	free(snapshot.redis);
	snapshot = (struct snapshot){ 0 };
}

/* All records of a kind, read until there is no more. *count: their number, or an error. */
static void *read_all(unsigned kind, unsigned index, size_t size, int *count)
{
	char *records = NULL;
	unsigned room = 0;
	int error = 0;

	for (*count = 0;; ++*count) {
		if ((unsigned)*count == room) {
			room = room ? 2 * room : FIRST_ROOM;
			char *more = realloc(records, room * size);
			if (!more) {
				error = -SKERRY_NO_MEMORY;
				break;
			}
			records = more;
		}
		const unsigned next = (unsigned)*count;
		error = kind == SAMPLE_CORE ? manager_sample_read(kind, index, next, records + next * size, size)
					    : manager_sample_read(kind, next, 0, records + next * size, size);
		if (error)
			break;
	}
	if (error != -SKERRY_NOT_FOUND)
		*count = error;
	return records;
}

/* Records of a cluster's cores, unpacked. Returns an error, or 0; what another version packed is as if it had counted
 * nothing. */
static int read_cores(struct snapshot_cluster *c, unsigned index)
{
	int count;
	struct sample_core *packed = read_all(SAMPLE_CORE, index, sizeof(*packed), &count);

	c->core = count > 0 ? calloc((size_t)count, sizeof(c->core[0])) : NULL;
	if (count > 0 && !c->core)
		count = -SKERRY_NO_MEMORY;
	for (int i = 0; i < count; i++) {
		const size_t words = packed[i].words < STAT_PACKED_BRIEF_MAX ? packed[i].words : STAT_PACKED_BRIEF_MAX;
		struct snapshot_core *core = &c->core[i];
		const char *wrong = words ? stat_unpack(&core->stat, packed[i].word, words, true) : NULL;
		if (wrong) {
			fprintf(stderr, "metrics: the manager of cluster %u %s\n", c->about.number, wrong);
			core->stat = (struct core_stat){ 0 };
		}
		core->cpu = packed[i].cpu;
		core->counted = core->stat.entries != 0;
	}
	c->cores = count > 0 ? (unsigned)count : 0;
	free(packed);
	return count < 0 ? count : 0;
}

static int read_clusters(void)
{
	int count, error = 0;
	struct sample_cluster *about = read_all(SAMPLE_CLUSTER, 0, sizeof(*about), &count);

	snapshot.cluster = count > 0 ? calloc((size_t)count, sizeof(snapshot.cluster[0])) : NULL;
	if (count > 0 && !snapshot.cluster)
		count = -SKERRY_NO_MEMORY;
	for (int i = 0; i < count && !error; i++) {
		struct snapshot_cluster *c = &snapshot.cluster[i];
		c->about = about[i];
		error = read_cores(c, (unsigned)i);
		snapshot.clusters++;
	}
	free(about);
	return count < 0 ? count : error;
}

static int read_applications(void)
{
	int count;

	snapshot.application = read_all(SAMPLE_APPLICATION, 0, sizeof(snapshot.application[0]), &count);
	if (count < 0)
		return count;
	snapshot.redis = calloc((size_t)count + 1, sizeof(snapshot.redis[0]));
	snapshot.applications = snapshot.redis ? (unsigned)count : 0;
	return snapshot.redis ? 0 : -SKERRY_NO_MEMORY;
}

/* Returns whether a program answers INFO as Redis does (deploy/deployment/engines.py has the list). */
static bool is_server(const char *program)
{
	return !strcmp(program, "redis-server") || !strcmp(program, "valkey-server");
}

static void ask_redis(unsigned port)
{
	for (unsigned i = 0; i < snapshot.applications; i++) {
		const struct sample_application *a = &snapshot.application[i];
		if (!is_server(a->program) || !a->ipv4)
			continue;
		snapshot.redis[i].asked = true;
		if (a->state == SAMPLE_SERVING)
			redis_ask(&snapshot.redis[i], a->ipv4, port);
	}
}

/* Once, however often it is asked in vain. */
static void log_once(int error)
{
	static int last_error;

	if (error != last_error)
		fprintf(stderr, "metrics: %s (error %d)\n",
			error == -SKERRY_NO_RIGHTS ? "the cluster map does not let it read statistics"
						   : "statistics cannot be read", -error);
	last_error = error;
}

bool scrape_begin(unsigned redis_port)
{
	begun = now();
	int error = manager_sample();
	if (!error)
		error = read_clusters();
	if (!error)
		error = read_applications();
	if (error) {
		log_once(error);
		scrape_forget();
		return false;
	}
	asked = now();
	ask_redis(redis_port);
	return true;
}

unsigned scrape_poll_set(struct pollfd *fds) { return redis_poll_set(fds); }
uint64_t scrape_deadline(void) { return asked + TIMEOUT_MS; }

bool scrape_polled(const struct pollfd *fds, unsigned count)
{
	redis_polled(fds, count);
	return !redis_waiting() || now() >= scrape_deadline();
}

struct text scrape_end(void)
{
	struct text text = { 0 };

	redis_give_up();
	snapshot.seconds = (double)(now() - begun) / 1000;
	exposition(&text, &snapshot);
	scrape_forget();
	if (!text.failed)
		return text;
	log_once(-SKERRY_NO_MEMORY);
	free(text.data);
	return (struct text){ .failed = true };
}
