/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel.h"
#include "console.h"
#include "orders.h"
#include "results.h"
#include "root.h"
#include "run.h"
#include "run_state.h"
#include "string.h"

enum { FINISH_MS = 2000 }; /* how long clusters may take for their last statistics */

struct run run;

uint32_t run_cpu_number(uint32_t cluster, uint32_t core)
{
	const struct cluster *c = map_cluster(&map, cluster);
	return c && core < c->cpu_count ? c->cpu[core] : 0;
}

/* --- the end --- */

static bool all_finished(void)
{
	for (uint32_t i = 0; i < map.cluster_count; i++) {
		uint32_t number = map.cluster[i].number;
		if (!run.cluster[i].finished && (number == ROOT->cluster || channel_alive(number)))
			return false;
	}
	return true;
}

static void switch_off(void)
{
	order_all(ORDER_POWER_OFF, &run.status, sizeof(run.status));
}

static void end(void)
{
	run.phase = RUN_OVER;
	results_flush();
	struct text *t = results_begin("done");
	text_format(t, ",\"status\":%u,\"tsc\":%lu", run.status, read_tsc());
	if (run.why) {
		text_format(t, ",\"why\":");
		text_json_string(t, run.why);
	}
	results_end(t);
	console_print("the run is over, %s", run.why ? run.why : "all went well");
	if (map.shutdown_when_done || run.switch_off)
		switch_off();
}

void run_finish(uint32_t status, const char *why)
{
	if (run.phase != RUN_GOING)
		return;
	run.phase = RUN_FINISHING;
	run.status = status;
	run.why = why;
	run.deadline = read_tsc() + milliseconds(FINISH_MS);
	order_all(ORDER_FINISH, NULL, 0);
}

void run_tick(void)
{
	if (run.phase == RUN_FINISHING && (all_finished() || read_tsc() > run.deadline))
		end();
}

static bool is_unfinished(void)
{
	for (uint32_t i = 0; i < map.application_count; i++)
		if (map.application[i].barrier && run.application[i].state != APPLICATION_ENDED)
			return true;
	return false;
}

void run_power_button(void)
{
	bool early = map.shutdown_when_done && is_unfinished();
	run.switch_off = true;
	if (run.phase == RUN_OVER)
		switch_off();
	else
		run_finish(early, "the power button was pressed");
}

/* --- starting --- */

/* Are all whom it awaits serving? *never: one of them will not. */
static bool may_start(const struct application *a, bool *never)
{
	const char *name = NULL;
	bool all = true;
	while ((name = string_list_next(&a->await, name))) {
		const struct run_application *awaited = &run.application[map_find(&map, name, strlen(name))];
		if (awaited->state == APPLICATION_ENDED)
			*never = true;
		all &= awaited->serving;
	}
	return all;
}

static void start(uint32_t i)
{
	struct about_application order = { i, 0 };
	uint32_t cluster = map.application[i].cluster;
	run.application[i].state = APPLICATION_STARTED;
	if (cluster == ROOT->cluster)
		order_execute(ORDER_START, &order, sizeof(order));
	else if (channel_send(cluster, ORDER_START, &order, sizeof(order)))
		run_ended(i, "an application cannot be started: its cluster is gone");
}

/*
 * Starts what may start, in the map's order. A start reports back while it is
 * still in hand, and what it reports may call here again: the outer call goes on.
 */
void run_step(void)
{
	static bool busy, again;
	again = true;
	if (busy)
		return;
	busy = true;
	while (again) {
		again = false;
		for (uint32_t i = 0; i < map.application_count; i++) {
			bool never = false;
			if (run.application[i].state != APPLICATION_WAITING)
				continue;
			if (may_start(&map.application[i], &never) && !never) {
				start(i);
			} else if (never) {
				console_print("%s is not started: it awaits one that ended", map.application[i].name);
				run_ended(i, "an application awaits one that ended");
			}
		}
	}
	busy = false;
}

void run_start(void)
{
	run.phase = RUN_GOING;
	run_step();
}

/* --- barriers --- */

/*
 * Opens the lowest barrier that somebody waits at, once all who count have
 * arrived there. One who ended before arriving will never come.
 */
static void check_barrier(void)
{
	uint32_t lowest = UINT32_MAX, next = UINT32_MAX;
	bool ended_early = false;
	for (uint32_t i = 0; i < map.application_count; i++) {
		uint32_t arrived = run.application[i].arrived;
		if (!map.application[i].barrier)
			continue;
		if (arrived < lowest)
			lowest = arrived;
		if (arrived > run.released && arrived < next)
			next = arrived;
	}
	if (next == UINT32_MAX)
		return;
	if (lowest >= next) {
		run.released = next;
		order_all(ORDER_RELEASE, &next, sizeof(next));
		return;
	}
	for (uint32_t i = 0; i < map.application_count; i++)
		ended_early |= map.application[i].barrier && run.application[i].arrived < next &&
			       run.application[i].state == APPLICATION_ENDED;
	if (ended_early)
		run_finish(1, "an application ended before the barrier that others wait at");
}

/* --- what happened to applications --- */

static void check_all_ended(void)
{
	uint32_t status = 0, count = 0;
	for (uint32_t i = 0; i < map.application_count; i++) {
		if (!map.application[i].barrier)
			continue;
		if (run.application[i].state != APPLICATION_ENDED)
			return;
		status |= run.application[i].status;
		count++;
	}
	if (count)
		run_finish(status != 0, status ? "an application exited with an error" : NULL);
}

static void gone(uint32_t i, uint32_t status)
{
	struct about_application order = { i, 0 };
	run.application[i].state = APPLICATION_ENDED;
	run.application[i].status = status;
	order_all(ORDER_GONE, &order, sizeof(order));
}

void run_ended(uint32_t i, const char *why)
{
	gone(i, 1);
	if (map.application[i].barrier)
		run_finish(1, why);
	run_step();
}

void run_exited(uint32_t i, uint32_t status)
{
	gone(i, status);
	check_all_ended();
	check_barrier();
	run_step();
}

void run_arrived(uint32_t i, uint32_t barrier)
{
	if (barrier > run.application[i].arrived)
		run.application[i].arrived = barrier;
	check_barrier();
}

void run_serving(uint32_t i)
{
	struct about_application order = { i, 0 };
	run.application[i].serving = true;
	order_all(ORDER_SERVING, &order, sizeof(order));
	run_step();
}

void run_cluster_lost(uint32_t cluster, const char *why)
{
	struct text *t = results_begin("cluster-lost");
	text_format(t, ",\"cluster\":%u,\"why\":", cluster);
	text_json_string(t, why);
	results_end(t);
	for (uint32_t i = 0; i < map.application_count; i++)
		if (map.application[i].cluster == cluster && run.application[i].state != APPLICATION_ENDED)
			run_ended(i, "a cluster is gone");
}
