/* SPDX-License-Identifier: BSD-2-Clause */
/* The primary publishes another cluster's reports about its programs once, if they are new. */
#define _GNU_SOURCE
#include <string.h>
#include "test-check.h"

#include "published.c"
#include "reports.c"

enum { OWN = 1, OTHER = 2, PROGRAM = 0, STACK = 1, OWNS = 2 };

static struct cluster_map tested_map;
const struct cluster_map *map = &tested_map;
static struct run_application state[3];
static unsigned lines, happened;
static const char *last;
static struct text text;
static char bytes[4096];
static uint64_t memory_told;

struct text *results_begin(const char *name)
{
	last = name;
	text = (struct text){ .data = bytes, .size = sizeof(bytes) };
	return &text;
}
void results_application(struct text *t, uint32_t application) { (void)t, (void)application; }
void results_end(struct text *t) { CHECK(t == &text); lines++; }
int cluster_place(uint32_t cluster) { return cluster == OWN ? 0 : cluster == OTHER ? 1 : -1; }
bool run_may_happen(enum run_event_kind kind, uint32_t subject)
{
	CHECK(kind == RUN_EVENT_STARTED);
	return state[subject].state == APPLICATION_STARTED;
}
void run_happened(enum run_event_kind kind, uint32_t subject, uint32_t value)
{
	CHECK(!value);
	happened++;
	state[subject].serving |= kind == RUN_EVENT_SERVING;
}
const struct run_application *run_application(uint32_t i) { return &state[i]; }
void sample_memory(uint32_t application, uint64_t size) { CHECK(application != OWNS); memory_told = size; }
int sockets_peer(uint32_t application) { return application == PROGRAM ? STACK : application == STACK ? PROGRAM : -1; }

/* The rest is not called. */
void channel_complain(uint32_t cluster, const char *what) { (void)cluster, (void)what; CHECK(false); }
const char *cluster_kernel(uint32_t cluster) { (void)cluster; return ""; }
void cluster_kernel_set(uint32_t cluster, const char *name) { (void)cluster, (void)name; }
void run_cluster_booted(uint32_t cluster) { (void)cluster; }
void run_cluster_fenced(uint32_t cluster) { (void)cluster; }
void run_cluster_loaded(uint32_t cluster, uint32_t fence_ms, uint32_t load_ms)
{
	(void)cluster, (void)fence_ms, (void)load_ms;
}
void run_cluster_down(uint32_t cluster, bool is_stuck, const char *why) { (void)cluster, (void)is_stuck, (void)why; }
void run_life(const struct report_life *l) { (void)l; }
void run_recovered(uint32_t cluster, const struct report_recovery *r) { (void)cluster, (void)r; }
void fault_publish(const struct report_fault *f) { (void)f; }
const char *stats_core_came(uint32_t place, const struct report_record *r, size_t size)
{
	(void)place, (void)r, (void)size;
	return NULL;
}
const char *stats_publish(uint32_t place, const struct report_stats *s) { (void)place, (void)s; return NULL; }
const char *locks_publish(uint32_t place, const struct report_record *r, size_t words)
{
	(void)place, (void)r, (void)words;
	return NULL;
}
void memory_publish(uint32_t cluster, const struct report_memory *m) { (void)cluster, (void)m; }
const char *sample_core_came(uint32_t place, const struct report_record *r, size_t size)
{
	(void)place, (void)r, (void)size;
	return NULL;
}
void sample_came(uint32_t place, const struct report_sample *s) { (void)place, (void)s; }
bool text_publish(uint32_t cluster, enum message_type type, const struct about_application *a, const char *t,
                  size_t length)
{
	(void)cluster, (void)type, (void)a, (void)t, (void)length;
	return false;
}

/* Returns how many lines it makes. */
static unsigned came(enum message_type type, uint32_t application, uint32_t value)
{
	const struct about_application body = { application, value };
	const unsigned before = lines;
	CHECK(report_take(OTHER, type, &body, sizeof(body)));
	return lines - before;
}

static unsigned listens(uint32_t port, uint32_t address)
{
	const struct report_serving body = { .application = PROGRAM, .port = port, .address = address };
	const unsigned before = lines;
	CHECK(report_take(OTHER, REPORT_SERVING, &body, sizeof(body)));
	return lines - before;
}

static void a_life(uint32_t memory)
{
	const uint32_t loopback = 127;
	CHECK(came(REPORT_STARTED, PROGRAM, memory) == 1 && !strcmp(last, "started") && memory_told == memory * 1024);
	CHECK(came(REPORT_STARTED, STACK, memory) == 1);
	happened = 0;
	/* serves nobody */
	CHECK(listens(1, loopback) == 1 && !strcmp(last, "listening") && !listens(1, loopback) && !happened);
	CHECK(listens(0, 0) == 1 && !strcmp(last, "serving") && happened == 1);
	for (uint32_t port = 1; port < LISTENERS_MAX; port++)
		CHECK(listens(port, 0) == 1 && !strcmp(last, "listening"));
	happened = 0;
	for (uint32_t port = 0; port < 1000; port++)
		CHECK(!listens(port, 0) && !listens(port, loopback) && !came(REPORT_STARTED, PROGRAM, port) &&
		      !came(REPORT_STARTED, STACK, port));
	CHECK(!happened && memory_told == memory * 1024);
}

/* The memory of many applications comes in several messages; the last one is what ends a cluster's run. */
static bool memory_came(uint32_t count, uint32_t follows)
{
	static struct report_memory body;
	body.count = count;
	body.follows = follows;
	for (uint32_t i = 0; i < count && i < REPORT_MEMORY_MOST; i++)
		body.each[i] = (struct report_memory_of){ PROGRAM, 8, 4 };
	return report_take(OTHER, REPORT_MEMORY, &body,
	                   offsetof(struct report_memory, each) + count * sizeof(body.each[0]));
}

static void memory_in_parts(void)
{
	happened = 0;
	CHECK(memory_came(REPORT_MEMORY_MOST, 1) && memory_came(REPORT_MEMORY_MOST, 1) && !happened);
	CHECK(!memory_came(1, 2) && !memory_came(REPORT_MEMORY_MOST + 1, 0) && !happened);
	CHECK(memory_came(0, 0) && happened == 1);
}

int main(void)
{
	const struct report_serving strange[] = { { OWNS, 1, 0, 0 }, { 3, 1, 0, 0 }, { UINT32_MAX, 1, 0, 0 },
	                                          { PROGRAM, UINT16_MAX + 1, 0, 0 } };
	const struct about_application late = { PROGRAM, 1 };
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	root->cluster = tested_map.primary = OWN;
	tested_map.cluster_count = 2;
	tested_map.application_count = 3;
	tested_map.application[PROGRAM].cluster = tested_map.application[STACK].cluster = OTHER;
	tested_map.application[OWNS].cluster = OWN;
	for (unsigned i = 0; i < 3; i++)
		state[i].state = APPLICATION_STARTED;
	a_life(100);
	memory_in_parts();
	for (unsigned i = 0; i < sizeof(strange) / sizeof(*strange); i++)
		CHECK(!report_take(OTHER, REPORT_SERVING, &strange[i], sizeof(strange[i])));
	state[PROGRAM].serving = false;
	published_new_life(PROGRAM); /* and of its stack process, which starts with it */
	a_life(200);
	state[PROGRAM].serving = false;
	published_new_life(STACK);
	a_life(300);
	state[PROGRAM].state = APPLICATION_ENDED;
	published_new_life(PROGRAM);
	CHECK(!report_take(OTHER, REPORT_STARTED, &late, sizeof(late)));
	return failures != 0;
}
