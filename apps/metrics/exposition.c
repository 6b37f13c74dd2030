/* SPDX-License-Identifier: BSD-2-Clause */
#include "exposition.h"

#include <stddef.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#ifndef SKERRY_RELEASE
#define SKERRY_RELEASE "unknown"
#endif

/* Counters of a core: uint64_t at `offset`; cycles are told as seconds. */
struct counter {
	const char *name, *help;
	size_t offset;
	bool cycles;
};

#define CORE(field) offsetof(struct sample_core, field)
#define LOCK(field) offsetof(struct sample_lock, field)

static const struct counter of_core[] = {
	{ "skerry_core_seconds_total", "Time since the core started.", CORE(elapsed), true },
	{ "skerry_core_idle_seconds_total", "Time that the core had nothing to run.", CORE(idle), true },
};
static const struct counter of_counting_core[] = {
	{ "skerry_core_entries_total", "Kernel entries of every kind.", CORE(entries), false },
	{ "skerry_core_syscalls_total", "System calls served.", CORE(syscalls), false },
	{ "skerry_core_interrupts_total", "Interrupts of devices, timer, doorbells and other cores.", CORE(interrupts), false },
	{ "skerry_core_faults_total", "Faults of programs.", CORE(faults), false },
	{ "skerry_core_switches_total", "Thread switches.", CORE(switches), false },
};
static const struct counter of_transactions[] = {
	{ "skerry_transactions_begun_total", "Hardware transactions begun.", CORE(transactions.begun), false },
	{ "skerry_transactions_committed_total", "Hardware transactions committed.", CORE(transactions.committed), false },
	{ "skerry_transactions_fallbacks_total", "Kernel entries that took the lock instead.", CORE(transactions.fallbacks), false },
};
static const struct counter of_lock[] = {
	{ "skerry_lock_grabs_total", "Times that a lock of the class was taken.", LOCK(grabs), false },
	{ "skerry_lock_conflicts_total", "Grabs that found the lock taken.", LOCK(conflicts), false },
	{ "skerry_lock_spins_total", "Turns of waiting loops.", LOCK(spins), false },
	{ "skerry_lock_wait_seconds_total", "Time from wanting a lock to having it.", LOCK(wait), true },
	{ "skerry_lock_hold_seconds_total", "Time from having a lock to giving it up.", LOCK(hold), true },
};

static const char *const lock_classes[LOCK_CLASSES] = {
	[LOCK_CLASS_KERNEL] = "kernel", [LOCK_CLASS_READ] = "read", [LOCK_CLASS_WRITE] = "write",
	[LOCK_CLASS_TCB] = "tcb", [LOCK_CLASS_ENDPOINT] = "endpoint", [LOCK_CLASS_NOTIFICATION] = "notification",
	[LOCK_CLASS_RUN_QUEUE] = "run-queue",
};
static const char *const abort_causes[ABORT_CAUSES] = {
	[ABORT_EXPLICIT] = "explicit", [ABORT_CAPACITY] = "capacity", [ABORT_CONFLICT] = "conflict",
	[ABORT_DEBUG] = "debug", [ABORT_NESTED] = "nested", [ABORT_RETRY] = "retry", [ABORT_OTHER] = "other",
};

static const struct {
	const char *name, *type, *help;
} of_redis[REDIS_FIELDS] = {
	[REDIS_COMMANDS] = { "skerry_redis_commands_processed_total", "counter", "Commands processed." },
	[REDIS_CONNECTIONS] = { "skerry_redis_connections_received_total", "counter", "Connections accepted." },
	[REDIS_CLIENTS] = { "skerry_redis_connected_clients", "gauge", "Clients connected, this endpoint among them." },
	[REDIS_MEMORY] = { "skerry_redis_memory_used_bytes", "gauge", "Memory that the allocator gave out." },
	[REDIS_MEMORY_RESIDENT] = { "skerry_redis_memory_resident_bytes", "gauge", "Memory that the process holds." },
	[REDIS_HITS] = { "skerry_redis_keyspace_hits_total", "counter", "Lookups that found their key." },
	[REDIS_MISSES] = { "skerry_redis_keyspace_misses_total", "counter", "Lookups that did not find their key." },
	[REDIS_EXPIRED] = { "skerry_redis_expired_keys_total", "counter", "Keys that expired." },
	[REDIS_EVICTED] = { "skerry_redis_evicted_keys_total", "counter", "Keys evicted for want of memory." },
};

static void family(struct text *t, const char *name, const char *type, const char *help)
{
	text_add(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void value(struct text *t, const struct counter *c, const void *record, uint64_t hz)
{
	const uint64_t count = *(const uint64_t *)((const char *)record + c->offset);

	if (c->cycles)
		text_add(t, " %.9f\n", (double)count / (double)hz);
	else
		text_add(t, " %llu\n", (unsigned long long)count);
}

/* --- clusters --- */

static void clusters(struct text *t, const struct snapshot *s)
{
	family(t, "skerry_cluster_info", "gauge", "1, and which kernel the cluster runs.");
	for (unsigned i = 0; i < s->clusters; i++) {
		text_add(t, "skerry_cluster_info{cluster=\"%u\",", s->cluster[i].about.number);
		text_label(t, "kernel", s->cluster[i].about.kernel);
		text_add(t, "} 1\n");
	}
	family(t, "skerry_cluster_up", "gauge", "1 if the cluster answered, 0 if it is gone or did not.");
	for (unsigned i = 0; i < s->clusters; i++)
		text_add(t, "skerry_cluster_up{cluster=\"%u\"} %u\n", s->cluster[i].about.number, s->cluster[i].about.up);
	family(t, "skerry_cluster_cores", "gauge", "Cores of the cluster.");
	for (unsigned i = 0; i < s->clusters; i++)
		text_add(t, "skerry_cluster_cores{cluster=\"%u\"} %u\n", s->cluster[i].about.number, s->cluster[i].cores);
}

static void memory(struct text *t, const struct snapshot *s)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} part[] = {
		{ "skerry_cluster_memory_bytes", "Memory that the cluster's manager hands out.",
		  offsetof(struct sample_cluster, memory_total) },
		{ "skerry_cluster_memory_free_bytes", "Of this what nobody has.",
		  offsetof(struct sample_cluster, memory_free) },
	};

	for (unsigned p = 0; p < LENGTH(part); p++) {
		family(t, part[p].name, "gauge", part[p].help);
		for (unsigned i = 0; i < s->clusters; i++) {
			const struct sample_cluster *c = &s->cluster[i].about;
			if (c->up)
				text_add(t, "%s{cluster=\"%u\"} %llu\n", part[p].name, c->number,
					 *(const unsigned long long *)((const char *)c + part[p].offset));
		}
	}
}

/* --- cores --- */

/* What a cluster that is gone counted last is not told: it would look as if it stood still. */
static bool counts(const struct snapshot_cluster *c)
{
	bool counted = false;

	for (unsigned i = 0; i < c->cores; i++)
		counted |= c->core[i].counted;
	return c->about.up && counted;
}

static bool is_up(const struct snapshot_cluster *c) { return c->about.up; }

static bool has_transactions(const struct snapshot_cluster *c)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < c->cores; i++)
		all |= c->core[i].transactions.begun | c->core[i].transactions.fallbacks;
	return counts(c) && all;
}

static void core_name(struct text *t, const char *name, const struct snapshot_cluster *c, const struct sample_core *core)
{
	text_add(t, "%s{cluster=\"%u\",cpu=\"%u\"", name, c->about.number, core->cpu);
}

static void core_families(struct text *t, const struct snapshot *s, const struct counter *counter, unsigned count,
			  bool (*has)(const struct snapshot_cluster *))
{
	for (; count; counter++, count--) {
		family(t, counter->name, "counter", counter->help);
		for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
			for (unsigned i = 0; i < c->cores && has(c); i++) {
				core_name(t, counter->name, c, &c->core[i]);
				text_add(t, "}");
				value(t, counter, &c->core[i], c->about.tsc_hz);
			}
	}
}

static void aborts(struct text *t, const struct snapshot *s)
{
	static const char name[] = "skerry_transactions_aborted_total";

	family(t, name, "counter", "Hardware transactions aborted, by cause.");
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
		for (unsigned i = 0; i < c->cores && has_transactions(c); i++)
			for (unsigned cause = 0; cause < ABORT_CAUSES; cause++) {
				core_name(t, name, c, &c->core[i]);
				text_add(t, ",cause=\"%s\"} %llu\n", abort_causes[cause],
					 (unsigned long long)c->core[i].transactions.aborted[cause]);
			}
}

/* --- locks --- */

static int64_t instances(const struct snapshot_cluster *c, unsigned class)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < c->cores; i++)
		sum += (uint64_t)c->core[i].lock[class].instances;
	return (int64_t)sum;
}

/* Does the kernel's regime have locks of this class? */
static bool has_lock(const struct snapshot_cluster *c, unsigned class)
{
	bool found = instances(c, class) > 0;

	for (unsigned i = 0; i < c->cores; i++)
		found |= c->core[i].lock[class].grabs != 0;
	return counts(c) && found;
}

static void locks(struct text *t, const struct snapshot *s)
{
	family(t, "skerry_locks", "gauge", "Locks of the class that there are.");
	for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
		for (unsigned class = 0; class < LOCK_CLASSES; class++)
			if (has_lock(c, class))
				text_add(t, "skerry_locks{cluster=\"%u\",class=\"%s\"} %lld\n", c->about.number,
					 lock_classes[class], (long long)instances(c, class));
	for (const struct counter *counter = of_lock; counter < of_lock + LENGTH(of_lock); counter++) {
		family(t, counter->name, "counter", counter->help);
		for (const struct snapshot_cluster *c = s->cluster; c < s->cluster + s->clusters; c++)
			for (unsigned class = 0; class < LOCK_CLASSES; class++)
				for (unsigned i = 0; i < c->cores && has_lock(c, class); i++) {
					core_name(t, counter->name, c, &c->core[i]);
					text_add(t, ",class=\"%s\"}", lock_classes[class]);
					value(t, counter, &c->core[i].lock[class], c->about.tsc_hz);
				}
	}
}

/* --- applications --- */

static void application_name(struct text *t, const char *name, const struct sample_application *a)
{
	text_add(t, "%s{", name);
	text_label(t, "application", a->name);
	text_add(t, ",");
	text_label(t, "program", a->program);
	text_add(t, ",cluster=\"%u\",cpu=\"%u\"} ", a->cluster, a->cpu);
}

static void applications(struct text *t, const struct snapshot *s)
{
	const struct sample_application *end = s->application + s->applications;

	family(t, "skerry_application_up", "gauge", "1 from the application's start to its end.");
	for (const struct sample_application *a = s->application; a < end; a++) {
		application_name(t, "skerry_application_up", a);
		text_add(t, "%d\n", a->state == SAMPLE_STARTED || a->state == SAMPLE_SERVING);
	}
	family(t, "skerry_application_serving", "gauge", "1 when the application has said that it serves, to its end.");
	for (const struct sample_application *a = s->application; a < end; a++) {
		application_name(t, "skerry_application_serving", a);
		text_add(t, "%d\n", a->state == SAMPLE_SERVING);
	}
	family(t, "skerry_application_memory_bytes", "gauge", "Memory that the application was given when it started.");
	for (const struct sample_application *a = s->application; a < end; a++)
		if (a->memory) {
			application_name(t, "skerry_application_memory_bytes", a);
			text_add(t, "%llu\n", (unsigned long long)a->memory);
		}
}

static void redis(struct text *t, const struct snapshot *s)
{
	family(t, "skerry_redis_up", "gauge", "1 if the Redis instance answered.");
	for (unsigned i = 0; i < s->applications; i++)
		if (s->redis[i].asked) {
			application_name(t, "skerry_redis_up", &s->application[i]);
			text_add(t, "%d\n", s->redis[i].up);
		}
	for (unsigned field = 0; field < REDIS_FIELDS; field++) {
		family(t, of_redis[field].name, of_redis[field].type, of_redis[field].help);
		for (unsigned i = 0; i < s->applications; i++)
			if (s->redis[i].up && s->redis[i].known >> field & 1) {
				application_name(t, of_redis[field].name, &s->application[i]);
				text_add(t, "%llu\n", (unsigned long long)s->redis[i].field[field]);
			}
	}
}

void exposition(struct text *t, const struct snapshot *s)
{
	family(t, "skerry_build_info", "gauge", "1, and the release of this endpoint.");
	text_add(t, "skerry_build_info{version=\"" SKERRY_RELEASE "\"} 1\n");
	clusters(t, s);
	memory(t, s);
	core_families(t, s, of_core, LENGTH(of_core), is_up);
	core_families(t, s, of_counting_core, LENGTH(of_counting_core), counts);
	core_families(t, s, of_transactions, LENGTH(of_transactions), has_transactions);
	aborts(t, s);
	locks(t, s);
	applications(t, s);
	redis(t, s);
	family(t, "skerry_scrape_duration_seconds", "gauge", "Time that it took to ask all clusters and Redis instances.");
	text_add(t, "skerry_scrape_duration_seconds %.6f\n", s->seconds);
}
