/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/errors.h>
#include <skerry/socket_address.h>
#include "channel.h"
#include "clusters.h"
#include "fault.h"
#include "map.h"
#include "published.h"
#include "results.h"
#include "root.h"
#include "reports.h"
#include "run.h"
#include "sample.h"
#include "stats.h"
#include "texts.h"

/* A cluster speaks for its own applications only. */
static bool cluster_owns(uint32_t cluster, uint32_t application)
{
	return application < map->application_count && map->application[application].cluster == cluster;
}

/*
 * Marks what another cluster repeats after this one was started again. The first report may have been lost with this
 * one's former life, or stand in another file if the machine was started again. Readers drop what they know.
 */
static const char AGAIN[] = ",\"again\":true";

static void print_event(const char *name, uint32_t application, const char *field, uint64_t value, const char *more)
{
	struct text *t = results_begin(name);
	results_application(t, application);
	if (field)
		text_format(t, ",\"%s\":%lu", field, value);
	text_format(t, "%s", more);
	results_end(t);
}

static bool boot_reported(uint32_t cluster, const struct report_boot *b, size_t size)
{
	int place = cluster_place(cluster);
	if (size != sizeof(*b) || place < 0)
		return false;
	cluster_kernel_set((uint32_t)place, b->kernel);
	struct text *t = results_begin("boot");
	text_format(t, ",\"cluster\":%u,\"tsc\":%lu,\"tsc_hz\":%lu,\"cores\":%u,\"stat\":%lu,\"ledger\":%lu", cluster,
	            b->tsc, b->tsc_hz, b->cores,
		    b->stat, b->ledger);
	text_format(t, ",\"core_words\":%lu,\"memory_words\":%lu,\"kernel\":", b->core_words, b->memory_words);
	text_json_string(t, cluster_kernel(cluster));
	text_format(t, "%s", b->again ? AGAIN : "");
	results_end(t);
	if (!b->again)
		run_cluster_booted(cluster);
	return true;
}

static bool application_started(uint32_t i, uint32_t kib)
{
	if (!published_start(i))
		return true;
	print_event("started", i, "memory", (uint64_t)kib * 1024, "");
	sample_memory(i, (uint64_t)kib * 1024);
	return true;
}

static bool application_reported(uint32_t cluster, enum message_type type, const struct about_application *a)
{
	uint32_t i = a->application;
	if (!cluster_owns(cluster, i) || !run_may_happen(RUN_EVENT_STARTED, i))
		return false;
	switch (type) {
	case REPORT_STARTED:
		return application_started(i, a->value);
	case REPORT_FAILED:
		print_event("failed", i, "error", a->value, "");
		run_happened(RUN_EVENT_FAILED, i, 0);
		return true;
	case REPORT_ARRIVED:
		run_happened(RUN_EVENT_ARRIVED, i, a->value);
		return true;
	case REPORT_EXITED:
		print_event("exit", i, "status", a->value, "");
		run_happened(RUN_EVENT_EXITED, i, a->value);
		return true;
	default:
		return false;
	}
}

/* A listener on the program's own loopback interface is an event, and no more: no other program reaches it. */
static bool serving_reported(uint32_t cluster, const struct report_serving *s)
{
	uint32_t i = s->application, ip = s->address;
	if (!cluster_owns(cluster, i) || !run_may_happen(RUN_EVENT_STARTED, i) || s->port > UINT16_MAX)
		return false;
	if (published_listener(i, (struct listener){ ip, (uint16_t)s->port })) {
		struct text *t = results_begin("listening");
		results_application(t, i);
		text_format(t, ",\"port\":%u,\"address\":\"%u.%u.%u.%u\"", s->port, ip & 255, ip >> 8 & 255,
		            ip >> 16 & 255, ip >> 24);
		results_end(t);
	}
	if (ipv4_is_loopback(ip) || run_application(i)->serving)
		return true;
	print_event("serving", i, "tsc", read_tsc(), "");
	run_happened(RUN_EVENT_SERVING, i, 0);
	return true;
}

static bool fault_reported(uint32_t cluster, const struct report_fault *f, size_t size)
{
	if (size != sizeof(*f) || !cluster_owns(cluster, f->application) ||
	    !run_may_happen(RUN_EVENT_KILLED, f->application))
		return false;
	fault_publish(f);
	run_happened(RUN_EVENT_KILLED, f->application, 0);
	return true;
}

/* Logs the check that an invalid counter record failed, if any. Returns true: the message was well formed. */
static bool counters_invalid(uint32_t cluster, const char *wrong)
{
	if (wrong)
		channel_complain(cluster, wrong);
	return true;
}

static bool counters_reported(uint32_t cluster, enum message_type type, const struct report_record *r, size_t size)
{
	const size_t head = offsetof(struct report_record, word);
	int place = cluster_place(cluster);
	if (size < head || place < 0)
		return false;
	if (type == REPORT_STATS_CORE)
		return counters_invalid(cluster, stats_core_came((uint32_t)place, r, size));
	if (type == REPORT_SAMPLE_CORE)
		return counters_invalid(cluster, sample_core_came((uint32_t)place, r, size));
	return size % 8 == 0 && counters_invalid(cluster, locks_publish((uint32_t)place, r, (size - head) / 8));
}

static bool stats_reported(uint32_t cluster, const struct report_stats *s, size_t size)
{
	int place = cluster_place(cluster);
	return size == sizeof(*s) && place >= 0 && counters_invalid(cluster, stats_publish((uint32_t)place, s));
}

static bool memory(uint32_t cluster, const struct report_memory *m, size_t size)
{
	size_t head = offsetof(struct report_memory, each);
	int place = cluster_place(cluster);
	if (size < head || place < 0 || m->count > REPORT_MEMORY_MOST || m->follows > 1 ||
	    size != head + m->count * sizeof(m->each[0]))
		return false;
	for (uint32_t i = 0; i < m->count; i++)
		if (!cluster_owns(cluster, m->each[i].application))
			return false;
	memory_publish(cluster, m);
	if (!m->follows)
		run_happened(RUN_EVENT_FINISHED, (uint32_t)place, 0); /* the last thing a cluster says of a run */
	return true;
}

static bool sample_reported(uint32_t cluster, const struct report_sample *s, size_t size)
{
	int place = cluster_place(cluster);
	if (size != sizeof(*s) || place < 0 || !s->tsc_hz || s->memory_free > s->memory_total)
		return false;
	sample_came((uint32_t)place, s);
	return true;
}

static bool granularity_reported(uint32_t cluster, const struct report_granularity *g, size_t size)
{
	if (size != sizeof(*g) || g->fine > GRANULARITY_FINE)
		return false;
	struct text *t = results_begin("granularity");
	text_format(t, ",\"cluster\":%u,\"number\":%u,\"granularity\":\"%s\",\"error\":%u", cluster, g->number,
		    g->fine ? "fine" : "coarse", g->error);
	results_end(t);
	return true;
}

static bool core_reported(uint32_t cluster, const struct report_core *c, size_t size)
{
	static const char *const names[CORE_EVENTS] = { "left", "joined", "first", "programs", "elsewhere", "busy",
	                                                "program" };
	if (size != sizeof(*c) || c->what >= CORE_EVENTS || c->cpu >= map->cpu_count || !map_cluster(map, c->to) ||
	    (c->what == CORE_RUNS && !cluster_owns(cluster, c->application)))
		return false;
	struct text *t = results_begin("core");
	text_format(t, ",\"cluster\":%u,\"number\":%u,\"what\":\"%s\",\"cpu\":%u,\"to\":%u,\"error\":%u", cluster,
	            c->number,
		    names[c->what], c->cpu, c->to, c->error);
	if (c->what == CORE_RUNS) {
		text_format(t, ",\"app\":");
		text_json_string(t, map->application[c->application].name);
	}
	results_end(t);
	return true;
}

static bool memory_reported(uint32_t cluster, const struct report_moved *m, size_t size)
{
	static const char *const names[MEMORY_EVENTS] = { "given", "taken", "adopted", "returned", "too-little", "down",
	                                                  "refused" };
	if (size != sizeof(*m) || m->what >= MEMORY_EVENTS || !map_cluster(map, m->cluster))
		return false;
	struct text *t = results_begin("memory-moved");
	text_format(t, ",\"cluster\":%u,\"number\":%u,\"what\":\"%s\",\"pieces\":%u,\"to\":%u,\"free\":%u,\"error\":%u",
	            cluster, m->number,
		    names[m->what], m->pieces, m->cluster, m->free, m->error);
	results_end(t);
	return true;
}

/* A note of this manager to itself. */
static bool unsent_reported(uint32_t cluster, const struct about_application *a)
{
	if (cluster != ROOT->cluster || !run_may_happen(RUN_EVENT_UNSENT, a->application))
		return false;
	run_happened(RUN_EVENT_UNSENT, a->application, 0);
	return true;
}

static bool note_cluster(uint32_t cluster, enum message_type type, const void *body, size_t size)
{
	const struct note_loaded *loaded = body;
	const struct note_down *down = body;
	const struct note_fenced *fenced = body;
	if (cluster != ROOT->cluster || size != (type == NOTE_LOADED ? sizeof(*loaded) : type == NOTE_FENCED
	                                         ? sizeof(*fenced) : sizeof(*down)))
		return false;
	if (type == NOTE_FENCED)
		run_cluster_fenced(fenced->cluster);
	else if (type == NOTE_LOADED)
		run_cluster_loaded(loaded->cluster, loaded->fence_ms, loaded->load_ms);
	else
		run_cluster_down(down->cluster, down->is_stuck, down->text);
	return true;
}

/* Accepts from any manager that a program of this cluster is gone: this manager was lost, and cannot know. */
static bool life_reported(uint32_t cluster, const struct report_life *l, size_t size)
{
	if (size != sizeof(*l) || l->state == LIFE_NONE || l->state > LIFE_GONE || l->arrived > UINT32_MAX / 2 ||
	    !(cluster_owns(cluster, l->application) ||
	      (cluster_owns(ROOT->cluster, l->application) && l->state == LIFE_GONE)))
		return false;
	if (l->state == LIFE_RUNS && l->serving && run_may_happen(RUN_EVENT_RUNS, l->application))
		print_event("serving", l->application, "tsc", read_tsc(), AGAIN);
	run_life(l);
	return true;
}

static bool recovery_reported(uint32_t cluster, const struct report_recovery *r, size_t size)
{
	if (size != sizeof(*r) || cluster_place(cluster) < 0 || memchr(r->text, 0, sizeof(r->text)) == NULL)
		return false;
	run_recovered(cluster, r);
	return true;
}

bool report_take(uint32_t cluster, enum message_type type, const void *body, size_t size)
{
	switch (type) {
	case REPORT_BOOT:
		return boot_reported(cluster, body, size);
	case REPORT_CONSOLE:
	case REPORT_RESULT: {
		const struct about_application *a = body;
		return size >= sizeof(*a) &&
		       text_publish(cluster, type, a, (const char *)(a + 1), size - sizeof(*a));
	}
	case REPORT_STARTED:
	case REPORT_FAILED:
	case REPORT_ARRIVED:
	case REPORT_EXITED:
		return size == sizeof(struct about_application) && application_reported(cluster, type, body);
	case REPORT_SERVING:
		return size == sizeof(struct report_serving) && serving_reported(cluster, body);
	case NOTE_UNSENT:
		return size == sizeof(struct about_application) && unsent_reported(cluster, body);
	case NOTE_LOADED:
	case NOTE_DOWN:
	case NOTE_FENCED:
		return note_cluster(cluster, type, body, size);
	case REPORT_FAULTED:
		return fault_reported(cluster, body, size);
	case REPORT_STATS:
		return stats_reported(cluster, body, size);
	case REPORT_STATS_CORE:
	case REPORT_LOCKS:
	case REPORT_SAMPLE_CORE:
		return counters_reported(cluster, type, body, size);
	case REPORT_MEMORY:
		return memory(cluster, body, size);
	case REPORT_SAMPLE:
		return sample_reported(cluster, body, size);
	case REPORT_LIFE:
		return life_reported(cluster, body, size);
	case REPORT_RECOVERY:
		return recovery_reported(cluster, body, size);
	case REPORT_GRANULARITY:
		return granularity_reported(cluster, body, size);
	case REPORT_CORE:
		return core_reported(cluster, body, size);
	case REPORT_MOVED:
		return memory_reported(cluster, body, size);
	default:
		return false;
	}
}
