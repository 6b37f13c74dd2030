/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "channel.h"
#include "clusters.h"
#include "console.h"
#include "loss-record.h"
#include "map.h"
#include "output.h"
#include "published.h"
#include "report.h"
#include "cluster-restart.h"
#include "restart.h"
#include "results.h"
#include "root.h"
#include "run.h"
#include "watch.h"
#include "writers.h"

enum { FINISH_MS = 2000 }; /* how long clusters may take for their last statistics */

static struct run run;
static uint64_t deadline; /* TSC, after RUN_FINISH */
static struct {
	uint32_t barrier;  /* is to be opened; 0: none */
	uint64_t deadline; /* TSC: then, whatever the ports do */
} opening;
static struct restart_history history[MAP_MAX_APPLICATIONS];
static uint64_t due[MAP_MAX_APPLICATIONS]; /* TSC, of those that are to be started again; else 0 */
static uint32_t due_count;
static uint64_t lost_at[BOOT_MAX_CLUSTERS]; /* TSC, of clusters that are lost, in the map's order */
static struct restarted {
	bool is_ours; /* this cluster did it, and knows the times */
	uint32_t fence_ms, load_ms;
} restarted[BOOT_MAX_CLUSTERS]; /* in the map's order */
static bool resuming; /* in a later life: not all reports have come */
static bool has_told[BOOT_MAX_CLUSTERS]; /* in the map's order */

const struct run_application *run_application(uint32_t application) { return &run.application[application]; }

bool run_may_happen(enum run_event_kind kind, uint32_t subject)
{
	return run_believes(&run, map, (struct run_event){ .kind = kind, .subject = subject });
}

/* --- actions --- */

static void application_start(uint32_t application)
{
	const struct about_application body = { application, 0 };
	published_new_life(application);
	if (order(map->application[application].cluster, ORDER_START, &body, sizeof(body)))
		report(NOTE_UNSENT, &body, sizeof(body));
}

static void tell_all(enum message_type type, uint32_t application, uint32_t value)
{
	const struct about_application body = { application, value };
	order_all(type, &body, sizeof(body));
}

static uint64_t now_ms(void) { return read_tsc() / (ROOT->tsc_hz / 1000); }

static void start_again(uint32_t application)
{
	const struct map_application *a = &map->application[application];
	require(!due[application] && due_count < MAP_MAX_APPLICATIONS);
	uint64_t delay = restart_note(&history[application], a->restart_delay, now_ms());
	struct text *t = results_begin("restart");
	results_application(t, application);
	text_format(t, ",\"restarts\":%u,\"after_ms\":%lu", run.application[application].restarts, delay);
	results_end(t);
	console_print("%s ended and is started again in %lu ms", a->name, delay);
	tell_all(ORDER_DOWN, application, DOWN_ENDED);
	due[application] = read_tsc() + milliseconds(delay);
	due_count++;
}

static void stay_down(uint32_t application)
{
	struct text *t = results_begin("stays-down");
	results_application(t, application);
	text_format(t, ",\"restarts\":%u", run.application[application].restarts);
	results_end(t);
	console_print("%s stays down: it was started again %u times in %u s", map->application[application].name,
		      map->application[application].restart_limit, RESTART_WINDOW_MS / 1000);
}

/* The names of those that stay down, as a JSON list; nothing where there are none. */
static void name_down(struct text *t)
{
	const char *before = ",\"down\":[";
	for (uint32_t i = 0; i < map->application_count; i++) {
		if (!run.application[i].down)
			continue;
		text_format(t, "%s", before);
		text_json_string(t, map->application[i].name);
		console_print("%s stayed down", map->application[i].name);
		before = ",";
	}
	if (before[1] == 0)
		text_format(t, "]");
}

/* A manager that has started anew knows nothing of what was so before. */
static void catch_up(uint32_t cluster)
{
	for (uint32_t i = 0; i < map->application_count; i++) {
		const struct about_application body = { i, 0 };
		if (run.application[i].state == APPLICATION_ENDED)
			order(cluster, ORDER_GONE, &body, sizeof(body));
		else if (run.application[i].serving)
			order(cluster, ORDER_SERVING, &body, sizeof(body));
	}
	if (run.released)
		order(cluster, ORDER_RELEASED, &run.released, sizeof(run.released));
}

static void run_done(void)
{
	results_flush();
	struct text *t = results_begin("done");
	text_format(t, ",\"status\":%u,\"tsc\":%lu", run.status, read_tsc());
	if (run.text) {
		text_format(t, ",\"why\":");
		text_json_string(t, run.text);
	}
	name_down(t);
	results_end(t);
	console_print("the run is over, %s", run.text ? run.text : "all went well");
}

static void open_barrier(void)
{
	const uint32_t barrier = opening.barrier;
	require(barrier);
	opening.barrier = 0;
	order_all(ORDER_RELEASE, &barrier, sizeof(barrier));
}

/*
 * Opens the barrier when earlier lines have left the port: what is behind it is measured, and each byte on its way to a
 * port is an entry into this kernel, which many cores beside it make expensive.
 */
static void open_barrier_when_quiet(void)
{
	if (opening.barrier && (!output_want(1) || read_tsc() > opening.deadline))
		open_barrier();
}

static void prepare_barrier(uint32_t barrier)
{
	if (opening.barrier)
		open_barrier();
	opening.barrier = barrier;
	opening.deadline = output_deadline();
	open_barrier_when_quiet();
}

static void action_perform(const struct run_action *action)
{
	switch (action->kind) {
	case RUN_START:
		application_start(action->value);
		break;
	case RUN_GIVE_UP:
		console_print("%s is not started: it awaits one that ended", map->application[action->value].name);
		break;
	case RUN_SERVING:
		tell_all(ORDER_SERVING, action->value, 0);
		break;
	case RUN_RESTART:
		start_again(action->value);
		break;
	case RUN_STAY_DOWN:
		stay_down(action->value);
		break;
	case RUN_AWAY:
		tell_all(ORDER_DOWN, action->value, DOWN_LOST);
		break;
	case RUN_CATCH_UP:
		catch_up(map->cluster[action->value].number);
		break;
	case RUN_GONE:
		tell_all(ORDER_GONE, action->value, 0);
		break;
	case RUN_RELEASE:
		prepare_barrier(action->value);
		break;
	case RUN_FINISH:
		deadline = read_tsc() + milliseconds(FINISH_MS);
		order_all(ORDER_FINISH, NULL, 0);
		break;
	case RUN_DONE:
		run_done();
		break;
	case RUN_POWER_OFF:
		order_all(ORDER_POWER_OFF, &run.status, sizeof(run.status));
		break;
	}
}

/* --- events --- */

void run_happened(enum run_event_kind kind, uint32_t subject, uint32_t value)
{
	static struct run_actions actions;
	bool is_end = kind == RUN_EVENT_EXITED || kind == RUN_EVENT_KILLED || kind == RUN_EVENT_FAILED;
	bool spent = is_end && subject < map->application_count &&
		     restart_spent(&history[subject], map->application[subject].restart_limit, now_ms());
	run_step(&run, map, (struct run_event){ kind, subject, value, spent }, &actions);
	for (uint32_t i = 0; i < actions.count; i++)
		action_perform(&actions.action[i]);
}

void run_start(void)
{
	for (uint32_t i = 0; i < map->cluster_count; i++) {
		uint32_t number = map->cluster[i].number;
		run.cluster[i].absent = number != ROOT->cluster && !channel_alive(number);
	}
	run_happened(RUN_EVENT_START, 0, 0);
}

static void publish_loss(uint32_t cluster, const char *text, const struct watch_verdict *v)
{
	struct text *t = results_begin("cluster-lost");
	text_format(t, ",\"cluster\":%u,\"why\":", cluster);
	text_json_string(t, text);
	text_format(t, ",\"reason\":\"%s\"", v ? watch_reason_name(v->reason) : "channel");
	if (v && v->core != WATCH_NO_CORE)
		text_format(t, ",\"core\":%u", v->core);
	if (v)
		text_format(t, ",\"silent_ms\":%u", v->silent_ms);
	results_end(t);
}

/* Another cluster has sent its last report, or is lost. After the last of them this one's own programs are started. */
static void cluster_told(uint32_t place)
{
	bool all = true;
	if (!resuming)
		return;
	require(place < map->cluster_count);
	has_told[place] = true;
	for (uint32_t i = 0; i < map->cluster_count; i++)
		all &= has_told[i] || map->cluster[i].number == ROOT->cluster;
	if (!all)
		return;
	resuming = false;
	report_boot(false);
}

void run_resume(void)
{
	resuming = true;
	run_happened(RUN_EVENT_RESUME, 0, 0);
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (map->cluster[i].number != ROOT->cluster && !channel_alive(map->cluster[i].number))
			cluster_told(i);
}

void run_life(const struct report_life *l)
{
	switch (l->state) {
	case LIFE_GONE:
		run_happened(RUN_EVENT_OVER, l->application, l->value);
		break;
	case LIFE_RUNS:
		run_happened(RUN_EVENT_RUNS, l->application, 2 * l->arrived + !!l->serving);
		break;
	default: /* its end was reported to no cluster, or to a primary that had not yet started it again */
		if (!run_may_happen(RUN_EVENT_RUNS, l->application))
			break;
		run_happened(RUN_EVENT_RUNS, l->application, 0);
		run_happened(l->state == LIFE_EXITED ? RUN_EVENT_EXITED : l->state == LIFE_KILLED ? RUN_EVENT_KILLED
		             : RUN_EVENT_FAILED,
			     l->application, l->value);
		break;
	}
}

/* Publishes this cluster's own loss, from the first report about it. */
static void publish_own_loss(const struct report_recovery *r)
{
	uint32_t place = (uint32_t)cluster_place(ROOT->cluster);
	const struct watch_verdict v = { .reason = r->reason, .core = r->core, .silent_ms = r->silent_ms };
	if (lost_at[place] || !resuming || !r->lost_ms)
		return;
	publish_loss(ROOT->cluster, r->text, r->reason == WATCH_ALIVE ? NULL : &v);
	lost_at[place] = read_tsc() - milliseconds(r->lost_ms);
	restarted[place] = (struct restarted){ r->is_ours, r->fence_ms, r->load_ms };
}

void run_recovered(uint32_t cluster, const struct report_recovery *r)
{
	uint32_t place = (uint32_t)cluster_place(cluster);
	publish_own_loss(r);
	run_happened(RUN_EVENT_RECOVERED, place, r->released);
	if (r->is_over)
		run_happened(RUN_EVENT_ENDED_BEFORE, 0, 0);
	cluster_told(place);
}

static void start_due(void)
{
	for (uint32_t i = 0; due_count && i < map->application_count; i++) {
		if (!due[i] || read_tsc() < due[i])
			continue;
		due[i] = 0;
		due_count--;
		run_happened(RUN_EVENT_DUE, i, 0);
	}
}

void run_tick(void)
{
	start_due();
	open_barrier_when_quiet();
	if (run.phase == RUN_FINISHING && read_tsc() > deadline)
		run_happened(RUN_EVENT_DEADLINE, 0, 0);
}

void run_cluster_lost(uint32_t cluster, const char *text)
{
	int place = cluster_place(cluster);
	publish_loss(cluster, text, watch_verdict(cluster));
	if (place < 0)
		return;
	lost_at[place] = read_tsc();
	run_happened(RUN_EVENT_LOST, (uint32_t)place, cluster_restart_is_pending(cluster));
	cluster_told((uint32_t)place);
}

/* 1: its first. */
static uint32_t cluster_life(uint32_t cluster)
{
	uint32_t life = cluster == ROOT->cluster                             ? ROOT->life
	                : map_cluster(map, cluster)->machine == map->machine ? watch_life(cluster)
	                                                                     : channel_peer_life(cluster);
	return life ? life : 1;
}

void run_cluster_booted(uint32_t cluster)
{
	uint32_t place = (uint32_t)cluster_place(cluster);
	if (lost_at[place]) {
		const struct restarted *r = &restarted[place];
		struct text *t = results_begin("cluster-restarted");
		text_format(t, ",\"cluster\":%u,\"after_ms\":%lu,\"restarts\":%u", cluster,
			    (read_tsc() - lost_at[place]) / (ROOT->tsc_hz / 1000), cluster_life(cluster) - 1);
		if (r->is_ours)
			text_format(t, ",\"fence_ms\":%u,\"load_ms\":%u", r->fence_ms, r->load_ms);
		results_end(t);
		lost_at[place] = 0;
		restarted[place].is_ours = false;
		writers_cluster_restarted(cluster);
	}
	run_happened(RUN_EVENT_BOOTED, place, 0);
}

void run_cluster_fenced(uint32_t cluster)
{
	int place = cluster_place(cluster);
	struct text *t = results_begin("cluster-fenced");
	require(place >= 0);
	text_format(t, ",\"cluster\":%u", cluster);
	if (lost_at[place])
		text_format(t, ",\"after_ms\":%lu", (read_tsc() - lost_at[place]) / (ROOT->tsc_hz / 1000));
	results_end(t);
}

void run_cluster_loaded(uint32_t cluster, uint32_t fence_ms, uint32_t load_ms)
{
	struct restarted *r = &restarted[cluster_place(cluster)];
	r->is_ours = true;
	r->fence_ms = fence_ms;
	r->load_ms = load_ms;
}

void run_cluster_down(uint32_t cluster, bool stuck, const char *text)
{
	struct text *t = results_begin(stuck ? "cluster-stuck" : "cluster-stays-down");
	text_format(t, ",\"cluster\":%u,\"why\":", cluster);
	text_json_string(t, text);
	results_end(t);
	run_happened(RUN_EVENT_LOST, (uint32_t)cluster_place(cluster), 0);
}
