/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of all clusters: checked, published, and told to the run. */
#include <skerry/errors.h>
#include "console.h"
#include "fault.h"
#include "json.h"
#include "results.h"
#include "root.h"
#include "run.h"
#include "run_state.h"
#include "sample.h"
#include "stats.h"
#include "string.h"

static int cluster_place(uint32_t cluster)
{
	const struct cluster *c = map_cluster(&map, cluster);
	return c ? (int)(c - map.cluster) : -1;
}

const char *run_cluster_kernel(uint32_t cluster)
{
	int place = cluster_place(cluster);
	return place >= 0 && run.cluster[place].kernel[0] ? run.cluster[place].kernel : "?";
}

/* A cluster speaks for its own applications only. */
static bool owns(uint32_t cluster, uint32_t application)
{
	return application < map.application_count && map.application[application].cluster == cluster;
}

static void event(const char *name, uint32_t application, const char *field, uint64_t value)
{
	struct text *t = results_begin(name);
	results_application(t, application);
	if (field)
		text_format(t, ",\"%s\":%lu", field, value);
	results_end(t);
}

static bool boot(uint32_t cluster, const struct report_boot *b, size_t size)
{
	int place = cluster_place(cluster);
	if (size != sizeof(*b) || place < 0)
		return false;
	memcpy(run.cluster[place].kernel, b->kernel, BOOT_NAME_SIZE);
	struct text *t = results_begin("boot");
	text_format(t, ",\"cluster\":%u,\"tsc\":%lu,\"tsc_hz\":%lu,\"cores\":%u,\"stat\":%lu,\"kernel\":", cluster, b->tsc,
		    b->tsc_hz, b->cores, b->stat);
	text_json_string(t, run.cluster[place].kernel);
	results_end(t);
	return true;
}

static bool with_text(uint32_t cluster, enum message_type type, const struct about_application *about,
		      const char *text, size_t length)
{
	bool of_manager = about->application == ABOUT_MANAGER;
	if (type == REPORT_CONSOLE) {
		if (of_manager || owns(cluster, about->application))
			console_line(cluster, about->application, text, length);
		return of_manager || owns(cluster, about->application);
	}
	if (!owns(cluster, about->application) || !json_is_object(text, length))
		return false;
	struct text *t = results_begin("result");
	results_application(t, about->application);
	text_format(t, ",\"data\":");
	text_bytes(t, text, length);
	results_end(t);
	return true;
}

static bool about(uint32_t cluster, enum message_type type, const struct about_application *a)
{
	uint32_t i = a->application;
	if (!owns(cluster, i) || run.application[i].state != APPLICATION_STARTED)
		return false;
	switch (type) {
	case REPORT_STARTED:
		event("started", i, "memory", (uint64_t)a->value * 1024);
		sample_memory(i, (uint64_t)a->value * 1024);
		return true;
	case REPORT_FAILED:
		event("failed", i, "error", a->value);
		run_ended(i, "an application could not be started");
		if (map.shutdown_when_done)
			run_finish(1, "an application could not be started");
		return true;
	case REPORT_SERVING:
		event("serving", i, "tsc", read_tsc());
		run_serving(i);
		return true;
	case REPORT_ARRIVED:
		run_arrived(i, a->value);
		return true;
	case REPORT_EXITED:
		event("exit", i, "status", a->value);
		run_exited(i, a->value);
		return true;
	default:
		return false;
	}
}

static bool fault(uint32_t cluster, const struct report_fault *f, size_t size)
{
	if (size != sizeof(*f) || !owns(cluster, f->application) ||
	    run.application[f->application].state != APPLICATION_STARTED)
		return false;
	fault_publish(f);
	run_ended(f->application, "an application was killed");
	return true;
}

static bool stats(uint32_t cluster, const struct report_stats *s, size_t size)
{
	size_t head = offsetof(struct report_stats, core);
	if (size < head || s->cores > BOOT_MAX_CPUS || size != head + s->cores * sizeof(s->core[0]))
		return false;
	stats_publish(cluster, s);
	return true;
}

static bool locks(uint32_t cluster, const struct report_locks *l, size_t size)
{
	if (size != sizeof(*l))
		return false;
	locks_publish(cluster, l);
	return true;
}

static bool memory(uint32_t cluster, const struct report_memory *m, size_t size)
{
	size_t head = offsetof(struct report_memory, each);
	int place = cluster_place(cluster);
	if (size < head || place < 0 || m->count > MAP_MAX_APPLICATIONS ||
	    size != head + m->count * sizeof(m->each[0]))
		return false;
	for (uint32_t i = 0; i < m->count; i++)
		if (!owns(cluster, m->each[i].application))
			return false;
	memory_publish(cluster, m);
	run.cluster[place].finished = true; /* the last thing a cluster says of a run */
	return true;
}

static bool sample(uint32_t cluster, const struct report_sample *s, size_t size)
{
	int place = cluster_place(cluster);
	if (size != sizeof(*s) || place < 0 || !s->tsc_hz || s->memory_free > s->memory_total)
		return false;
	sample_came((uint32_t)place, s);
	return true;
}

/* `body` is private memory, aligned to 8 bytes. */
bool run_report(uint32_t cluster, enum message_type type, const void *body, size_t size)
{
	switch (type) {
	case REPORT_BOOT:
		return boot(cluster, body, size);
	case REPORT_CONSOLE:
	case REPORT_RESULT: {
		const struct about_application *a = body;
		return size >= sizeof(*a) && with_text(cluster, type, a, (const char *)(a + 1), size - sizeof(*a));
	}
	case REPORT_STARTED:
	case REPORT_FAILED:
	case REPORT_SERVING:
	case REPORT_ARRIVED:
	case REPORT_EXITED:
		return size == sizeof(struct about_application) && about(cluster, type, body);
	case REPORT_FAULTED:
		return fault(cluster, body, size);
	case REPORT_STATS:
		return stats(cluster, body, size);
	case REPORT_LOCKS:
		return locks(cluster, body, size);
	case REPORT_MEMORY:
		return memory(cluster, body, size);
	case REPORT_SAMPLE_CORE: {
		int place = cluster_place(cluster);
		return size == sizeof(struct report_sample_core) && place >= 0 && sample_core_came((uint32_t)place, body);
	}
	case REPORT_SAMPLE:
		return sample(cluster, body, size);
	default:
		return false;
	}
}
