/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "run-machine.h"

static const char TOO_OFTEN[] = "an application ended too often and stays down";

/* The working set of a step. */
struct step {
	struct run *run;
	const struct cluster_map *map;
	struct run_actions *actions;
};

static void step_act(const struct step *s, enum run_action_kind kind, uint32_t value)
{
	require(s->actions->count < RUN_MAX_ACTIONS);
	if (s->actions->count < RUN_MAX_ACTIONS)
		s->actions->action[s->actions->count++] = (struct run_action){ kind, value };
}

/* --- the end --- */

static void application_gone(const struct step *s, uint32_t i, uint32_t status)
{
	require(i < s->map->application_count && s->run->application[i].state != APPLICATION_ENDED);
	s->run->application[i].state = APPLICATION_ENDED;
	s->run->application[i].status = status;
	step_act(s, RUN_GONE, i);
}

static void step_finish(const struct step *s, uint32_t status, const char *text)
{
	if (s->run->phase != RUN_GOING)
		return;
	s->run->phase = RUN_FINISHING;
	s->run->status = status;
	s->run->text = text;
	step_act(s, RUN_FINISH, 0);
	for (uint32_t i = 0; i < s->map->application_count; i++)
		if (s->run->application[i].state == APPLICATION_PAUSED ||
		    s->run->application[i].state == APPLICATION_LOST) /* it is not started again */
			application_gone(s, i, s->run->application[i].status);
}

static bool all_finished(const struct step *s)
{
	for (uint32_t i = 0; i < s->map->cluster_count; i++)
		if (!s->run->cluster[i].finished && !s->run->cluster[i].absent)
			return false;
	return true;
}

static void step_end(const struct step *s)
{
	if (s->run->phase != RUN_FINISHING)
		return;
	s->run->phase = RUN_OVER;
	step_act(s, RUN_DONE, 0);
	if (s->map->shutdown_when_done || s->run->switch_off)
		step_act(s, RUN_POWER_OFF, 0);
}

/* The run lasts until it has ended. One that is always started again never ends by itself. */
static bool is_awaited(const struct map_application *a) { return a->barrier && a->restart != MAP_RESTART_ALWAYS; }

static bool is_unfinished(const struct step *s)
{
	for (uint32_t i = 0; i < s->map->application_count; i++)
		if (is_awaited(&s->map->application[i]) && s->run->application[i].state != APPLICATION_ENDED)
			return true;
	return false;
}

static void power_button(const struct step *s)
{
	bool early = s->map->shutdown_when_done && is_unfinished(s);
	s->run->switch_off = true;
	if (s->run->phase == RUN_OVER)
		step_act(s, RUN_POWER_OFF, 0);
	else
		step_finish(s, early, "the power button was pressed");
}

/* --- barriers --- */

/* Whether no cluster of this machine is still starting: its cores would take part in what is measured behind a barrier,
 * and its kernel would write into programs' lines. Clusters of other machines may come much later. */
static bool all_booted(const struct step *s)
{
	for (uint32_t i = 0; i < s->map->cluster_count; i++)
		if (s->map->cluster[i].machine == s->map->machine && !s->run->cluster[i].booted &&
		    !s->run->cluster[i].absent)
			return false;
	return true;
}

/*
 * Opens the lowest barrier at which an application waits, once all that count
 * have arrived there. One that ended before arriving will never come.
 */
static void check_barrier(const struct step *s)
{
	if (!all_booted(s))
		return;
	const struct run_application *application = s->run->application;
	uint32_t lowest = UINT32_MAX, next = UINT32_MAX;
	bool ended_early = false;
	for (uint32_t i = 0; i < s->map->application_count; i++) {
		uint32_t arrived = application[i].arrived;
		if (!s->map->application[i].barrier)
			continue;
		if (arrived < lowest)
			lowest = arrived;
		if (arrived > s->run->released && arrived < next)
			next = arrived;
	}
	if (next == UINT32_MAX)
		return;
	if (lowest >= next) {
		require(next > s->run->released);
		s->run->released = next;
		step_act(s, RUN_RELEASE, next);
		return;
	}
	for (uint32_t i = 0; i < s->map->application_count; i++)
		ended_early |= s->map->application[i].barrier && application[i].arrived < next &&
			       application[i].state == APPLICATION_ENDED;
	if (ended_early)
		step_finish(s, 1, "an application ended before the barrier that others wait at");
}

/* --- applications --- */

static void check_all_ended(const struct step *s)
{
	uint32_t status = 0, count = 0;
	for (uint32_t i = 0; i < s->map->application_count; i++) {
		if (!is_awaited(&s->map->application[i]))
			continue;
		if (s->run->application[i].state != APPLICATION_ENDED)
			return;
		status |= s->run->application[i].status;
		count++;
	}
	if (count)
		step_finish(s, status != 0, status ? "an application exited with an error" : NULL);
}

/* It did not end by itself. */
static void step_fail(const struct step *s, uint32_t i, const char *text)
{
	application_gone(s, i, 1);
	if (s->map->application[i].barrier)
		step_finish(s, 1, text);
}

/* An application has ended, with a failure or without: by its policy it is started again. False: it is not. */
static bool step_restart(const struct step *s, struct run_event event, bool failed)
{
	struct run_application *a = &s->run->application[event.subject];
	enum map_restart policy = s->map->application[event.subject].restart;
	require(a->state == APPLICATION_STARTED);
	if (s->run->phase != RUN_GOING || policy == MAP_RESTART_NEVER || (policy == MAP_RESTART_ON_FAILURE && !failed))
		return false;
	if (event.spent) {
		a->down = true;
		step_act(s, RUN_STAY_DOWN, event.subject);
		return false;
	}
	a->state = APPLICATION_PAUSED;
	a->status = event.kind == RUN_EVENT_EXITED ? event.value : 1;
	a->serving = false;
	a->arrived = 0; /* it comes to each barrier again; those that are open let it pass */
	a->restarts++;
	step_act(s, RUN_RESTART, event.subject);
	return true;
}

static void on_exited(const struct step *s, struct run_event event)
{
	if (step_restart(s, event, event.value != 0))
		return;
	if (s->run->application[event.subject].down) {
		step_fail(s, event.subject, TOO_OFTEN);
		return;
	}
	application_gone(s, event.subject, event.value);
	check_all_ended(s);
	check_barrier(s);
}

/* Do all that it awaits serve? *never: one of them will not. */
static bool may_start(const struct step *s, uint32_t i, bool *never)
{
	const struct map_application *a = &s->map->application[i];
	bool all = true;
	for (uint32_t j = 0; j < map_await_count(a); j++) {
		const struct run_application *awaited = &s->run->application[map_awaited(s->map, a, j)];
		*never |= awaited->state == APPLICATION_ENDED;
		all &= awaited->serving;
	}
	return all && !*never;
}

/* Its cluster is lost: it waits until that has started again. */
static bool is_away(const struct run *run, const struct cluster_map *map, uint32_t i)
{
	require(i < map->application_count);
	for (uint32_t c = 0; c < map->cluster_count; c++)
		if (map->cluster[c].number == map->application[i].cluster)
			return run->cluster[c].away;
	return false;
}

/* Starts what may start, in the map's order, and gives up what never will. */
static void start_more(const struct step *s)
{
	for (bool again = true; again;) {
		again = false;
		for (uint32_t i = 0; i < s->map->application_count; i++) {
			bool never = false;
			if (s->run->application[i].state != APPLICATION_WAITING || is_away(s->run, s->map, i))
				continue;
			if (may_start(s, i, &never)) {
				s->run->application[i].state = APPLICATION_STARTED;
				step_act(s, RUN_START, i);
			} else if (never) {
				step_act(s, RUN_GIVE_UP, i);
				step_fail(s, i, "an application awaits one that ended");
				again = true; /* others may await it */
			}
		}
	}
}

static bool is_in(const struct step *s, uint32_t i, uint32_t place)
{
	return s->map->application[i].cluster == s->map->cluster[place].number;
}

/* Its cluster is lost and will start again: so will its programs, whatever their own policies are. */
static void on_away(const struct step *s, uint32_t place)
{
	s->run->cluster[place].absent = s->run->cluster[place].away = true;
	for (uint32_t i = 0; i < s->map->application_count; i++) {
		struct run_application *a = &s->run->application[i];
		if (!is_in(s, i, place) || (a->state != APPLICATION_STARTED && a->state != APPLICATION_PAUSED))
			continue;
		a->state = APPLICATION_LOST;
		a->status = 1;
		a->serving = false;
		a->arrived = 0;
		step_act(s, RUN_AWAY, i);
	}
}

static void on_booted(const struct step *s, uint32_t place)
{
	require(place < s->map->cluster_count);
	s->run->cluster[place].booted = true;
	s->run->cluster[place].absent = false;
	if (!s->run->cluster[place].away)
		return;
	s->run->cluster[place].away = false;
	step_act(s, RUN_CATCH_UP, place);
	for (uint32_t i = 0; i < s->map->application_count; i++)
		if (is_in(s, i, place) && s->run->application[i].state == APPLICATION_LOST)
			s->run->application[i].state = APPLICATION_WAITING;
}

static void on_lost(const struct step *s, uint32_t place)
{
	require(place < s->map->cluster_count);
	s->run->cluster[place].absent = true;
	s->run->cluster[place].away = false;
	for (uint32_t i = 0; i < s->map->application_count; i++)
		if (is_in(s, i, place) && s->run->application[i].state != APPLICATION_ENDED)
			step_fail(s, i, "a cluster is gone");
}

static bool is_of_application(enum run_event_kind kind)
{
	return kind >= RUN_EVENT_STARTED && kind <= RUN_EVENT_KILLED;
}

static bool is_of_cluster(enum run_event_kind kind) { return kind >= RUN_EVENT_BOOTED && kind <= RUN_EVENT_RECOVERED; }

/* --- a primary that was lost --- */

/* Nothing is started before it is known what runs. */
static void step_resume(const struct step *s)
{
	s->run->phase = RUN_GOING;
	for (uint32_t i = 0; i < s->map->cluster_count; i++)
		s->run->cluster[i].absent = s->run->cluster[i].away = true;
}

static void on_recovered(const struct step *s, uint32_t place, uint32_t released)
{
	if (!s->run->cluster[place].away)
		return; /* it has started anew since */
	if (released > s->run->released)
		s->run->released = released;
	on_booted(s, place);
	for (uint32_t i = 0; i < s->map->cluster_count; i++) /* this cluster's report may be new to others */
		if (i != place && !s->run->cluster[i].away)
			step_act(s, RUN_CATCH_UP, i);
	check_all_ended(s);
	check_barrier(s);
}

static void on_recalled(const struct step *s, struct run_event event)
{
	struct run_application *a = &s->run->application[event.subject];
	require(a->state == APPLICATION_WAITING && is_away(s->run, s->map, event.subject));
	bool runs = event.kind == RUN_EVENT_RUNS;
	*a = (struct run_application){ .state = APPLICATION_ENDED, .status = event.value };
	if (runs)
		*a = (struct run_application){ .state = APPLICATION_STARTED, .serving = event.value & 1,
		                               .arrived = event.value >> 1 };
}

static void application_event(const struct step *s, struct run_event event)
{
	struct run_application *a = &s->run->application[event.subject];
	switch (event.kind) {
	case RUN_EVENT_FAILED:
		if (step_restart(s, event, true))
			break;
		step_fail(s, event.subject, "an application could not be started");
		if (s->map->shutdown_when_done)
			step_finish(s, 1, "an application could not be started");
		break;
	case RUN_EVENT_UNSENT:
		step_fail(s, event.subject, "an application cannot be started: its cluster is gone");
		break;
	case RUN_EVENT_SERVING:
		if (!a->serving)
			step_act(s, RUN_SERVING, event.subject);
		a->serving = true;
		break;
	case RUN_EVENT_ARRIVED:
		if (event.value > a->arrived)
			a->arrived = event.value;
		check_barrier(s);
		break;
	case RUN_EVENT_EXITED:
		on_exited(s, event);
		break;
	case RUN_EVENT_KILLED:
		if (!step_restart(s, event, true))
			step_fail(s, event.subject, a->down ? TOO_OFTEN : "an application was killed");
		break;
	default:
		break;
	}
}

bool run_believes(const struct run *run, const struct cluster_map *map, struct run_event event)
{
	if (event.kind == RUN_EVENT_RUNS || event.kind == RUN_EVENT_OVER)
		return event.subject < map->application_count &&
		       run->application[event.subject].state == APPLICATION_WAITING &&
		       is_away(run, map, event.subject);
	if (event.kind == RUN_EVENT_DUE)
		return event.subject < map->application_count &&
		       run->application[event.subject].state == APPLICATION_PAUSED;
	if (is_of_application(event.kind))
		return event.subject < map->application_count &&
		       run->application[event.subject].state == APPLICATION_STARTED;
	return !is_of_cluster(event.kind) || event.subject < map->cluster_count;
}

void run_step(struct run *run, const struct cluster_map *map, struct run_event event, struct run_actions *actions)
{
	const struct step s = { run, map, actions };
	actions->count = 0;
	if (!run_believes(run, map, event))
		return;
	if (is_of_application(event.kind))
		application_event(&s, event);
	switch (event.kind) {
	case RUN_EVENT_START:
		run->phase = RUN_GOING;
		break;
	case RUN_EVENT_RESUME:
		step_resume(&s);
		break;
	case RUN_EVENT_RECOVERED:
		on_recovered(&s, event.subject, event.value);
		break;
	case RUN_EVENT_RUNS:
	case RUN_EVENT_OVER:
		on_recalled(&s, event);
		break;
	case RUN_EVENT_ENDED_BEFORE:
		step_finish(&s, map->shutdown_when_done, "the run had come to its end when its first cluster was lost");
		break;
	case RUN_EVENT_DUE:
		run->application[event.subject].state = APPLICATION_STARTED;
		step_act(&s, RUN_START, event.subject);
		break;
	case RUN_EVENT_BOOTED:
		on_booted(&s, event.subject);
		check_barrier(&s);
		break;
	case RUN_EVENT_LOST:
		if (event.value && run->phase == RUN_GOING)
			on_away(&s, event.subject);
		else
			on_lost(&s, event.subject);
		check_barrier(&s);
		break;
	case RUN_EVENT_FINISHED:
		run->cluster[event.subject].finished = true;
		break;
	case RUN_EVENT_BUTTON:
		power_button(&s);
		break;
	case RUN_EVENT_MAIL_LOST:
		step_finish(&s, 1, "an order or report of the primary to itself was lost");
		break;
	default:
		break;
	}
	if (run->phase != RUN_BEFORE)
		start_more(&s);
	if (event.kind == RUN_EVENT_DEADLINE || all_finished(&s))
		step_end(&s);
}
