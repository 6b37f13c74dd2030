/* SPDX-License-Identifier: BSD-2-Clause */
/* The model of the world of test-run.c, and what the run must never do there. Included by it. */
#include "run-machine.h"
#include "test-check.h"

enum { CLUSTERS = 3, APPLICATIONS = 4, BARRIERS = 2, SEEN = 1 << 21, FAULTS_MAX = 2,
       NUMBER = 7 /* times a cluster's place */ };

/* A program: what became of it, which the run learns from events only. */
enum life { UNBORN, ORDERED, ALIVE, PAUSED, AWAY, EXITED, BROKEN };

struct world {
	struct {
		uint8_t life, status, arrived;
		bool serving, told_serving, gone;
	} program[APPLICATIONS];
	struct {
		bool lost, finished;
		bool away; /* lost, and being started again */
	} cluster[CLUSTERS];
	uint8_t released, faults;
	bool ordered_to_finish, late, done, off, pressed, mail_lost;
	bool all_right; /* a verdict of success is due */
};

struct state {
	struct world world;
	struct run run;
};

static struct cluster_map tested_map;
static const struct cluster_map *const map = &tested_map;
static uint8_t faults_allowed;
static bool comes_back; /* a cluster that is lost may start again */
static unsigned states, ends, successes, again, resumed;
static uint64_t *seen;

/* --- what the run may do --- */

static bool is_counted(uint32_t i) { return map->application[i].barrier; }
/* One that is started again whenever it ends does not keep the run from its end. */
static bool is_awaited(uint32_t i) { return is_counted(i) && map->application[i].restart != MAP_RESTART_ALWAYS; }

static bool all(bool (*of)(uint32_t), const struct world *w, bool (*good)(const struct world *, uint32_t))
{
	for (uint32_t i = 0; i < map->application_count; i++)
		if (of(i) && !good(w, i))
			return false;
	return true;
}

static bool has_ended(const struct world *w, uint32_t i) { return w->program[i].life >= EXITED; }
static bool ended_well(const struct world *w, uint32_t i)
{
	return w->program[i].life == EXITED && !w->program[i].status;
}

static bool has_arrived(const struct world *w, uint32_t i) { return w->program[i].arrived >= w->released; }

static void check_start(struct world *w, uint32_t i)
{
	const struct map_application *a = &map->application[i];
	const uint8_t life = w->program[i].life;
	CHECK((life == UNBORN || life == PAUSED || life == AWAY) && !w->program[i].gone); /* once, or again */
	CHECK(!w->cluster[a->cluster / NUMBER].lost);
	for (uint32_t j = 0; life != PAUSED && j < map_await_count(a); j++) {
		uint32_t awaited = map_awaited(map, a, j);
		CHECK(w->program[awaited].life == ALIVE && w->program[awaited].serving);
	}
	w->program[i].life = ORDERED;
}

/* It ended in a way in which its policy has it start again, and the run goes on. */
static void check_again(const struct world *w, struct run_event event, uint32_t i)
{
	enum map_restart policy = map->application[i].restart;
	bool failed = event.kind == RUN_EVENT_KILLED || event.kind == RUN_EVENT_FAILED ||
	              (event.kind == RUN_EVENT_EXITED && event.value);
	CHECK(event.subject == i && (failed || event.kind == RUN_EVENT_EXITED));
	CHECK(policy == MAP_RESTART_ALWAYS || (policy == MAP_RESTART_ON_FAILURE && failed));
	CHECK(!w->ordered_to_finish && !w->program[i].gone && w->program[i].life >= EXITED);
}

/* Told to be down: it serves nobody, and comes to each barrier again. */
static void check_restart(struct world *w, struct run_event event, uint32_t i)
{
	check_again(w, event, i);
	CHECK(!event.spent);
	w->program[i].life = PAUSED;
	w->program[i].serving = w->program[i].told_serving = false;
	w->program[i].arrived = w->program[i].status = 0;
}

/* Its cluster is lost and will start again. */
static void check_away(struct world *w, struct run_event event, uint32_t i)
{
	CHECK(event.kind == RUN_EVENT_LOST && event.value && map->application[i].cluster / NUMBER == event.subject);
	CHECK(w->program[i].life > UNBORN && w->program[i].life < AWAY && !w->ordered_to_finish);
	w->program[i].life = AWAY;
	w->program[i].serving = w->program[i].told_serving = false;
	w->program[i].arrived = w->program[i].status = 0;
}

static void check_stay_down(struct world *w, struct run_event event, uint32_t i)
{
	check_again(w, event, i);
	CHECK(event.spent);
	w->program[i].life = BROKEN;
}

static void check_finish(struct world *w, struct run_event event, const struct run *run)
{
	bool early = map->shutdown_when_done && !all(is_awaited, w, has_ended);
	bool well = all(is_awaited, w, ended_well);
	CHECK(!w->ordered_to_finish); /* once */
	w->ordered_to_finish = true;
	w->all_right = well || (event.kind == RUN_EVENT_BUTTON && !early);
	CHECK((run->status == 0) == w->all_right && (run->text == NULL) == (well && event.kind == RUN_EVENT_EXITED));
}

static void check_done(struct world *w)
{
	CHECK(w->ordered_to_finish && !w->done); /* once, after the last reports or the time for them */
	for (uint32_t i = 0; i < map->cluster_count && !w->late; i++)
		CHECK(w->cluster[i].finished || w->cluster[i].lost);
	w->done = true;
	successes += w->all_right;
}

static void check_action(struct world *w, struct run_event event, const struct run *run, struct run_action action)
{
	switch (action.kind) {
	case RUN_START:
		check_start(w, action.value);
		break;
	case RUN_GIVE_UP:
		CHECK(w->program[action.value].life == UNBORN || w->program[action.value].life == AWAY);
		w->program[action.value].life = BROKEN;
		break;
	case RUN_SERVING:
		CHECK(w->program[action.value].serving && !w->program[action.value].told_serving &&
		      !w->program[action.value].gone);
		w->program[action.value].told_serving = true;
		break;
	case RUN_AWAY:
		check_away(w, event, action.value);
		break;
	case RUN_CATCH_UP: /* before any program of it starts */
		CHECK((event.kind == RUN_EVENT_BOOTED && action.value == event.subject &&
		       w->cluster[event.subject].away) ||
		      event.kind == RUN_EVENT_RECOVERED);
		w->cluster[action.value].away = false;
		break;
	case RUN_RESTART:
		check_restart(w, event, action.value);
		break;
	case RUN_STAY_DOWN:
		check_stay_down(w, event, action.value);
		break;
	case RUN_GONE:
		CHECK(!w->program[action.value].gone); /* once */
		w->program[action.value].gone = true;
		if (w->program[action.value].life < EXITED)
			w->program[action.value].life = BROKEN;
		break;
	case RUN_RELEASE:
		CHECK(action.value == w->released + 1u); /* in order, each once, when all have come */
		w->released = (uint8_t)action.value;
		CHECK(all(is_counted, w, has_arrived));
		break;
	case RUN_FINISH:
		check_finish(w, event, run);
		break;
	case RUN_DONE:
		check_done(w);
		break;
	case RUN_POWER_OFF:
		CHECK(w->done && (map->shutdown_when_done || w->pressed) &&
		      (!w->off || event.kind == RUN_EVENT_BUTTON));
		w->off = true;
		break;
	}
}

/* Checks the invariants of every state. */
static void check_state(const struct state *s)
{
	const struct world *w = &s->world;
	CHECK(s->run.phase == (w->done ? RUN_OVER : w->ordered_to_finish ? RUN_FINISHING : RUN_GOING));
	for (uint32_t i = 0; i < map->application_count; i++) {
		CHECK(w->program[i].gone == (w->program[i].life >= EXITED) &&
		      w->program[i].serving == w->program[i].told_serving);
		if (is_counted(i) && w->program[i].life == BROKEN)
			CHECK(w->ordered_to_finish); /* a counted program that failed ends the run */
		uint32_t place = map->application[i].cluster / NUMBER;
		CHECK(w->program[i].life != AWAY || w->cluster[place].away || !w->cluster[place].lost);
		CHECK(!w->cluster[place].lost || w->program[i].gone ||
		      (w->cluster[place].away && (w->program[i].life == AWAY || w->program[i].life == UNBORN)));
	}
	CHECK(!all(is_awaited, w, has_ended) || w->ordered_to_finish);
	CHECK(!w->done || !(map->shutdown_when_done || w->pressed) || w->off);
	CHECK(!w->mail_lost || w->ordered_to_finish);
	CHECK(!w->late || w->done);
}
