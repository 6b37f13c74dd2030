/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The run in every order of events. A model of the world (programs, clusters, a
 * button) offers all events that can happen next; each is tried from each state
 * that can be reached. What the run must never do is checked at every action,
 * what it must have done in every state where nothing more can happen by itself.
 */
#include <stdlib.h>
#include <string.h>
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
		bool up, lost, finished;
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

static bool all_up(const struct world *w)
{
	for (uint32_t i = 0; i < map->cluster_count; i++)
		if (!w->cluster[i].up && !w->cluster[i].lost)
			return false;
	return true;
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
		CHECK(all(is_counted, w, has_arrived) && all_up(w));
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

/* --- what can happen --- */

static void explore(const struct state *before);

static void follows(struct state *after, struct run_event event)
{
	static struct run_actions actions;
	uint32_t restarts = 0;
	run_step(&after->run, map, event, &actions);
	for (uint32_t i = 0; i < actions.count; i++)
		check_action(&after->world, event, &after->run, actions.action[i]);
	/* the state is the same after the second as after the first */
	for (uint32_t i = 0; i < map->application_count; i++) {
		restarts += after->run.application[i].restarts;
		after->run.application[i].restarts = 0;
	}
	CHECK(restarts == (actions.count && actions.action[0].kind == RUN_RESTART));
	again += restarts;
	check_state(after);
	explore(after);
}

/* The event, with what it stands for done to the world already. */
static void happens(struct state *after, enum run_event_kind kind, uint32_t subject, uint32_t value)
{
	follows(after, (struct run_event){ kind, subject, value, false });
}

/* The end of a program, which may be once too often. */
static void ends_so(const struct state *s, struct state *after, enum run_event_kind kind, uint32_t i, uint32_t value,
                    uint8_t faults)
{
	for (unsigned spent = 0; spent < (map->application[i].restart ? 2 : 1); spent++) {
		if (s->world.faults + faults + spent > faults_allowed)
			break;
		*after = *s;
		after->world.faults += faults + spent;
		after->world.program[i].life = kind == RUN_EVENT_EXITED ? EXITED : BROKEN;
		after->world.program[i].status = (uint8_t)value;
		follows(after, (struct run_event){ kind, i, value, spent });
	}
}

static bool may_fail(const struct state *s) { return s->world.faults < faults_allowed; }

/* A program of a cluster that is lost says nothing more. Returns whether something happens by itself. */
static bool program_events(const struct state *s, uint32_t i, struct state *after)
{
	const uint8_t life = s->world.program[i].life;
	const uint8_t released = s->world.released, arrived = s->world.program[i].arrived;
	const uint8_t next = (arrived < released ? released : arrived) + 1; /* a barrier that is open lets it pass */
	const bool waits = s->world.program[i].arrived > s->world.released;
	const bool faulty = may_fail(s);
	struct world *w = &after->world;
	bool moves = false;
	if (!s->world.cluster[map->application[i].cluster / NUMBER].up) /* the order waits in its channel */
		return false;
	if (life == ORDERED) {
		*after = *s, w->program[i].life = ALIVE, happens(after, RUN_EVENT_STARTED, i, 0);
		ends_so(s, after, RUN_EVENT_FAILED, i, 0, 1);
		if (faulty && map->application[i].cluster)
			*after = *s, w->faults++, w->program[i].life = BROKEN, happens(after, RUN_EVENT_UNSENT, i, 0);
		return true;
	}
	if (life == PAUSED) {
		*after = *s, happens(after, RUN_EVENT_DUE, i, 0);
		return true;
	}
	if (life != ALIVE)
		return false;
	if (!is_counted(i)) { /* a server, which says twice that it serves */
		*after = *s, w->program[i].serving = true, happens(after, RUN_EVENT_SERVING, i, 0);
		moves = !s->world.program[i].serving;
	} else if (!waits && next <= BARRIERS) {
		*after = *s, w->program[i].arrived = next, happens(after, RUN_EVENT_ARRIVED, i, next);
		moves = true;
	} else if (!waits) {
		ends_so(s, after, RUN_EVENT_EXITED, i, 0, 0);
		moves = true;
	}
	if (!waits)
		ends_so(s, after, RUN_EVENT_EXITED, i, 3, 1);
	ends_so(s, after, RUN_EVENT_KILLED, i, 0, 1);
	return moves;
}

static bool cluster_events(const struct state *s, uint32_t place, struct state *after)
{
	struct world *w = &after->world;
	bool lost = s->world.cluster[place].lost;
	if (!lost && !s->world.cluster[place].up)
		*after = *s, w->cluster[place].up = true, happens(after, RUN_EVENT_BOOTED, place, 0);
	if (place && !lost && may_fail(s))
		*after = *s, w->faults++, w->cluster[place].lost = true, happens(after, RUN_EVENT_LOST, place, 0);
	if (place && !lost && may_fail(s) && comes_back && !s->world.ordered_to_finish)
		*after = *s, w->faults++, w->cluster[place].lost = w->cluster[place].away = true,
		         happens(after, RUN_EVENT_LOST, place, 1);
	if (lost && s->world.cluster[place].away && may_fail(s)) /* it cannot be started again after all */
		*after = *s, w->faults++, w->cluster[place].away = false, happens(after, RUN_EVENT_LOST, place, 0);
	if (lost) /* it starts again: with those programs that it was lost with, or with none */
		*after = *s, w->cluster[place].lost = false, w->cluster[place].up = true,
		         happens(after, RUN_EVENT_BOOTED, place, 0);
	if (!lost && !s->world.cluster[place].up)
		return true;
	if (lost || !s->world.ordered_to_finish || s->world.cluster[place].finished)
		return lost && s->world.cluster[place].away;
	*after = *s, w->cluster[place].finished = true, happens(after, RUN_EVENT_FINISHED, place, 0);
	return true;
}

/* --- the primary is lost, and starts again --- */

/* An event of which the next one does not wait for what follows from it. */
static void reports(struct state *after, enum run_event_kind kind, uint32_t subject, uint32_t value)
{
	static struct run_actions actions;
	const struct run_event event = { kind, subject, value, false };
	run_step(&after->run, map, event, &actions);
	for (uint32_t i = 0; i < actions.count; i++)
		check_action(&after->world, event, &after->run, actions.action[i]);
	for (uint32_t i = 0; i < map->application_count; i++)
		after->run.application[i].restarts = 0;
}

/* A cluster reports a program, its own or, if that is gone, the primary's. */
static void tells_of(struct state *after, uint32_t i)
{
	const uint8_t life = after->world.program[i].life;
	if (life == EXITED || life == BROKEN)
		reports(after, RUN_EVENT_OVER, i, after->world.program[i].status);
	else if (life == PAUSED) /* its end, for which the primary was to start it again, is told anew */
		reports(after, RUN_EVENT_RUNS, i, 0), after->world.program[i].life = EXITED,
			reports(after, RUN_EVENT_EXITED, i, 3);
	else if (life == ORDERED || life == ALIVE)
		reports(after, RUN_EVENT_RUNS, i,
		        2u * after->world.program[i].arrived + after->world.program[i].serving);
}

static void tells(struct state *after, uint32_t place)
{
	struct world *w = &after->world;
	for (uint32_t i = 0; w->cluster[place].lost && i < map->application_count; i++)
		if (map->application[i].cluster / NUMBER == place) { /* nobody remembers what became of them */
			memset(&w->program[i], 0, sizeof(w->program[i]));
			w->program[i].life = AWAY;
		}
	if (w->cluster[place].lost) {
		reports(after, RUN_EVENT_LOST, place, w->cluster[place].away);
		return;
	}
	for (uint32_t i = 0; i < map->application_count; i++)
		if (map->application[i].cluster / NUMBER == place ||
		    (map->application[i].cluster == 0 && w->program[i].gone))
			tells_of(after, i);
	reports(after, RUN_EVENT_RECOVERED, place, w->released);
}

/* Its own programs wait until all others have told, in either order. */
static void resumes(const struct state *s, struct state *after, bool backwards)
{
	struct world *w = &after->world;
	*after = *s;
	w->faults++;
	memset(&after->run, 0, sizeof(after->run));
	for (uint32_t i = 0; i < map->application_count; i++)
		if (map->application[i].cluster == 0 && w->program[i].life > UNBORN && w->program[i].life < AWAY) {
			w->program[i].life = AWAY;
			w->program[i].serving = w->program[i].told_serving = false;
			w->program[i].arrived = w->program[i].status = 0;
		}
	reports(after, RUN_EVENT_RESUME, 0, 0);
	w->cluster[0].away = true;
	for (uint32_t i = 1; i < map->cluster_count; i++)
		tells(after, backwards ? map->cluster_count - i : i);
	resumed++;
	happens(after, RUN_EVENT_BOOTED, 0, 0);
}

static void run_events(const struct state *s, struct state *after)
{
	struct world *w = &after->world;
	if (s->world.ordered_to_finish && !s->world.done && may_fail(s))
		*after = *s, w->faults++, w->late = true, happens(after, RUN_EVENT_DEADLINE, 0, 0);
	if (!s->world.pressed && may_fail(s))
		*after = *s, w->faults++, w->pressed = true, happens(after, RUN_EVENT_BUTTON, 0, 0);
	for (unsigned backwards = 0; comes_back && !s->world.ordered_to_finish && may_fail(s) && backwards < 2;
	     backwards++)
		resumes(s, after, backwards);
	if (!s->world.mail_lost && may_fail(s))
		*after = *s, w->faults++, w->mail_lost = true, happens(after, RUN_EVENT_MAIL_LOST, 0, 0);
}

/* Reports of programs that do not run, and of what is not in the map, change nothing. */
static void check_lies(const struct state *s)
{
	static struct run_actions actions;
	static struct run before, after;
	before = after = s->run;
	for (uint32_t i = 0; i <= map->application_count; i++)
		for (unsigned kind = RUN_EVENT_STARTED; kind <= RUN_EVENT_FINISHED; kind++) {
			const struct run_event event = { (enum run_event_kind)kind,
			                                 kind >= RUN_EVENT_BOOTED ? UINT32_MAX : i, 1, false };
			const uint8_t life = i < map->application_count ? s->world.program[i].life : BROKEN;
			if (kind < RUN_EVENT_DUE ? life == ORDERED ||
			    life == ALIVE : kind == RUN_EVENT_DUE && life == PAUSED)
				continue;
			run_step(&after, map, event, &actions);
			CHECK(!run_believes(&before, map, event) && !actions.count &&
			      !memcmp(&before, &after, sizeof(before)));
		}
}

static uint64_t hash(const struct state *s)
{
	uint64_t h = 14695981039346656037ull;
	const struct run *r = &s->run;
	const void *part[] = { &s->world, r->application, r->cluster, &r->text };
	const size_t size[] = { sizeof(s->world), APPLICATIONS * sizeof(r->application[0]),
	                        CLUSTERS * sizeof(r->cluster[0]),
				sizeof(r->text) };
	for (unsigned p = 0; p < 4; p++)
		for (size_t i = 0; i < size[p]; i++)
			h = (h ^ ((const uint8_t *)part[p])[i]) * 1099511628211ull;
	for (unsigned i = 0; i < 3; i++)
		h = (h ^ (i == 0 ? r->phase : i == 1 ? r->status : r->released)) * 1099511628211ull;
	h = (h ^ r->switch_off) * 1099511628211ull;
	return h ^ h >> 32 ? h ^ h >> 32 : 1;
}

static bool is_new(const struct state *s)
{
	uint64_t h = hash(s);
	uint32_t place = (uint32_t)h % SEEN;
	for (; seen[place]; place = (place + 1) % SEEN)
		if (seen[place] == h)
			return false;
	seen[place] = h;
	if (++states == SEEN / 2) {
		fprintf(stderr, "more states than the table holds\n");
		exit(1);
	}
	return true;
}

static void explore(const struct state *s)
{
	if (failures || !is_new(s))
		return;
	struct state *after = malloc(sizeof(*after));
	bool moves = false;
	check_lies(s);
	for (uint32_t i = 0; i < map->application_count; i++)
		moves |= program_events(s, i, after);
	for (uint32_t i = 0; i < map->cluster_count; i++)
		moves |= cluster_events(s, i, after);
	run_events(s, after);
	free(after);
	if (moves)
		return;
	/* Nothing more happens by itself: the run is over, with the verdict that is due. */
	ends++;
	CHECK(s->world.done && s->run.phase == RUN_OVER && (s->run.status == 0) == s->world.all_right);
	CHECK(s->world.faults || (s->world.all_right && !s->run.text && s->world.released == BARRIERS));
}

/* --- the runs --- */

static void awaits(uint32_t application, uint16_t awaited)
{
	struct map_list *list = &tested_map.application[application].await;
	if (!list->size)
		list->offset = 64 * application;
	memcpy(tested_map.pool + list->offset + list->size, &awaited, sizeof(awaited));
	list->size += sizeof(awaited);
}

/* A program on each cluster and a fourth one on the last; those of `counted` (bits) count. */
static void make_map(bool shuts_down, unsigned counted, uint32_t clusters)
{
	tested_map = (struct cluster_map){ .cluster_count = clusters, .application_count = APPLICATIONS,
					   .shutdown_when_done = shuts_down };
	for (uint32_t i = 0; i < clusters; i++)
		tested_map.cluster[i].number = NUMBER * i;
	for (uint32_t i = 0; i < APPLICATIONS; i++) {
		tested_map.application[i].cluster = NUMBER * (i < clusters ? i : clusters - 1);
		tested_map.application[i].barrier = counted >> i & 1;
	}
}

static void run_all(const char *name, uint8_t faults)
{
	struct state *first = calloc(1, sizeof(*first));
	memset(seen, 0, SEEN * sizeof(*seen));
	faults_allowed = faults;
	states = ends = successes = again = resumed = 0;
	happens(first, RUN_EVENT_START, 0, 0);
	printf("%s, %u faults: %u states, %u ends, %u successes, %u restarts\n", name, faults, states, ends, successes,
	       again);
	CHECK(ends && successes && (resumed || !comes_back || !faults));
	free(first);
}

/* A server and its clients; servers in a row; nobody awaits anybody. */
static void run_kinds(bool shuts_down, uint32_t clusters, uint8_t faults)
{
	make_map(shuts_down, 0xc, clusters);
	awaits(2, 0), awaits(2, 1), awaits(3, 0);
	run_all("two servers, two clients", faults);
	make_map(shuts_down, 0x8, clusters);
	awaits(3, 2), awaits(2, 1), awaits(1, 0);
	run_all("each awaits the one before", faults);
	make_map(shuts_down, 0x1, clusters);
	awaits(0, 1), awaits(1, 2), awaits(2, 3);
	run_all("each awaits the one behind", faults);
	make_map(shuts_down, 0x7, clusters);
	awaits(3, 0), tested_map.application[0].barrier = false;
	run_all("a server behind a server", faults);
}

/* Servers that are started again, a client that is so after a failure, and one that counts and never ends. */
static void run_restarts(bool shuts_down, uint8_t faults)
{
	make_map(shuts_down, 0xc, 2);
	awaits(2, 0), awaits(3, 1);
	tested_map.application[0].restart = MAP_RESTART_ALWAYS;
	tested_map.application[2].restart = MAP_RESTART_ON_FAILURE;
	run_all("servers and a client that start again", faults);
	CHECK(!faults || again);
	make_map(shuts_down, 0x7, 2);
	awaits(1, 3);
	tested_map.application[2].restart = MAP_RESTART_ALWAYS;
	tested_map.application[3].restart = MAP_RESTART_ON_FAILURE;
	run_all("one that counts and never ends", faults);
	CHECK(again);
	comes_back = true;
	make_map(shuts_down, 0xc, 2);
	awaits(2, 0), awaits(3, 1);
	tested_map.application[1].restart = MAP_RESTART_ALWAYS;
	run_all("a cluster that starts again, with servers and a client", faults);
	make_map(shuts_down, 0xc, 3);
	awaits(2, 0), awaits(3, 1);
	run_all("clusters that start again", faults);
	comes_back = false;
}

int main(void)
{
	seen = calloc(SEEN, sizeof(*seen));
	for (unsigned shuts_down = 0; shuts_down < 2; shuts_down++)
		for (uint32_t clusters = 2; clusters <= CLUSTERS; clusters++)
			for (uint8_t faults = 0; faults <= FAULTS_MAX; faults++)
				run_kinds(shuts_down, clusters, faults);
	for (unsigned shuts_down = 0; shuts_down < 2; shuts_down++)
		for (uint8_t faults = 0; faults <= FAULTS_MAX; faults++)
			run_restarts(shuts_down, faults);
	return failures != 0;
}
