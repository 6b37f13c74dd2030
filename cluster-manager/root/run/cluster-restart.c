/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/cluster_control.h>
#include <skerry/format.h>
#include <skerry/require.h>
#include "channel.h"
#include "console.h"
#include "loss-record.h"
#include "mailbox.h"
#include "map.h"
#include "report.h"
#include "cluster-restart.h"
#include "restart.h"
#include "root.h"
#include "signs.h"
#include "timer.h"
#include "watch.h"

enum {
	TURN_MS = 1000,  /* a cluster with a higher number waits so much longer before it claims */
	STEP_MS = 15000, /* without a step of another claimer, before the claim is taken from it */
	PARK_MS = 1000,  /* for fenced cores to come to the loader */
	LOAD_MS = 10000,
	BOOT_MS = 20000, /* from loaded to the manager's first pass */
	FENCES = 3,      /* tries */
	/* of our own steps, in which it looks each millisecond; ticks are much longer than a step may be */
	HASTE_MS = 20,
};

struct cluster_restart {
	bool is_lost;       /* and is being started again */
	bool is_down;       /* for good, and that was said */
	bool is_fenced;     /* and that was said */
	bool is_loaded;     /* its new life has begun, the manager of it has not */
	uint32_t life;      /* that was lost */
	uint64_t due;       /* TSC before which nothing is claimed */
	uint64_t word;      /* as it was last seen */
	uint64_t since;     /* TSC at which it changed */
	uint32_t ticks;     /* of our timer since then */
	uint32_t fences;
	uint64_t claimed_at, parked_at; /* TSC */
	struct restart_history history; /* of losses, whichever cluster dealt with them */
	bool is_spent;
};

static struct cluster_restart restart[BOOT_MAX_CLUSTERS]; /* in the order of ROOT->controlled */

static uint32_t number_of(const struct cluster_restart *r)
{
	require(r >= restart && r - restart < (long)ROOT->controlled_count);
	return ROOT->controlled[r - restart];
}

static struct cluster_restart *restart_find(uint32_t cluster)
{
	for (uint32_t i = 0; i < ROOT->controlled_count && i < BOOT_MAX_CLUSTERS; i++)
		if (ROOT->controlled[i] == cluster)
			return &restart[i];
	return NULL;
}

static uint64_t now_ms(void) { return read_tsc() / (ROOT->tsc_hz / 1000); }

static uint64_t read_word(const struct cluster_restart *r)
{
	uint64_t word;
	return cluster_read(ROOT_SLOT_CLUSTER_CONTROL, number_of(r), &word) ? 0 : word;
}

static int restart_step(const struct cluster_restart *r, enum skerry_invocation what)
{
	return cluster_step(ROOT_SLOT_CLUSTER_CONTROL, what, number_of(r));
}

/* Time and ticks, as for silence (watch.h). */
static bool has_waited(const struct cluster_restart *r, uint32_t ms)
{
	return r->ticks > ms / timer_ms() && read_tsc() - r->since > milliseconds(ms);
}

static void restart_wait(struct cluster_restart *r)
{
	r->since = read_tsc();
	r->ticks = 0;
}

/* The next look is to come soon, not at the next tick. */
static void restart_hasten(const struct cluster_restart *r)
{
	if (read_tsc() - r->since < milliseconds(HASTE_MS))
		timer_soon();
}

/* The life that we watched is lost; `word`: what has become of it. */
static void restart_begin(struct cluster_restart *r, uint64_t word)
{
	const struct map_cluster *c = map_cluster(map, number_of(r));
	struct restart_history history = r->history;
	uint64_t delay = 0;
	bool spent = restart_spent(&history, c->restart_limit, now_ms());
	if (!spent)
		delay = restart_note(&history, c->restart_delay, now_ms());
	*r = (struct cluster_restart){ .is_lost = true, .is_spent = spent, .life = watch_life(number_of(r)),
	                               .word = word, .history = history, .due = read_tsc() + milliseconds(delay) };
	restart_wait(r);
}

/* It stays down. */
static void give_up(struct cluster_restart *r, bool stuck, const char *text)
{
	struct note_down note = { .cluster = number_of(r), .is_stuck = stuck };
	struct text t = TEXT(note.text);
	text_format(&t, "%s", text);
	require(!r->is_down || r->is_lost);
	r->is_lost = false;
	r->is_down = true;
	console_print("cluster %u stays down: %s", number_of(r), text);
	if (is_primary())
		report(NOTE_DOWN, &note, sizeof(note));
}

/* Returns null, or why a cluster with this control word cannot be started again. */
static const char *restart_refusal(uint64_t word)
{
	if (control_state(word) == CONTROL_NONE || control_state(word) > CONTROL_DOWN)
		return "its control word was overwritten";
	return control_state(word) == CONTROL_DOWN ? "its control word says that it was given up" : NULL;
}

void cluster_restart_lost(uint32_t cluster)
{
	struct cluster_restart *r = restart_find(cluster);
	uint64_t word = r ? read_word(r) : 0;
	if (!r || !map_cluster(map, cluster))
		return;
	if (restart_refusal(word) && !r->is_down)
		give_up(r, true, restart_refusal(word));
	else if (!restart_refusal(word) && (!r->is_lost || watch_life(cluster) != r->life))
		restart_begin(r, word);
	restart_hasten(r);
}

/*
 * A machine of its own is started again by others, at any time: the cluster is waited for where the map says so, and
 * where the end of the run does not depend on it.
 */
static bool may_return(const struct map_cluster *c)
{
	if (c->machine == map->machine || c->restart || map->shutdown_when_done)
		return c->machine != map->machine && c->restart;
	for (uint32_t i = 0; i < map->application_count; i++)
		if (map->application[i].cluster == c->number && map->application[i].barrier)
			return false;
	return true;
}

bool cluster_restart_is_pending(uint32_t cluster)
{
	const struct cluster_restart *r = restart_find(cluster);
	const struct map_cluster *c = map_cluster(map, cluster);
	return (r && r->is_lost) || (c && may_return(c));
}

static void note_loaded(const struct cluster_restart *r)
{
	uint64_t hz = ROOT->tsc_hz / 1000;
	const struct note_loaded note = { number_of(r), (uint32_t)((r->parked_at - r->claimed_at) / hz),
					  (uint32_t)((read_tsc() - r->parked_at) / hz) };
	if (r->parked_at && is_primary())
		report(NOTE_LOADED, &note, sizeof(note));
	else if (r->parked_at && note.cluster == map->primary)
		loss_record_loaded(note.fence_ms, note.load_ms);
}

/* Living clusters with lower numbers claim before us. */
static uint32_t restart_turn(const struct cluster_restart *r)
{
	uint32_t before = 0;
	for (uint32_t i = 1; i < ROOT->ledger_count; i++) {
		uint32_t number = ROOT->ledger[i].cluster;
		before += number < ROOT->cluster && number != number_of(r) && !watch_verdict(number);
	}
	return before;
}

static void restart_claim(struct cluster_restart *r, uint64_t word)
{
	if (cluster_claim(ROOT_SLOT_CLUSTER_CONTROL, number_of(r), word))
		return; /* another cluster was faster */
	r->claimed_at = read_tsc();
	r->fences = 0;
	if (r->is_spent) {
		char text[64];
		struct text t = TEXT(text);
		text_format(&t, "it was started again %u times in %u s", map_cluster(map, number_of(r))->restart_limit,
		            RESTART_WINDOW_MS / 1000);
		if (!restart_step(r, CLUSTER_GIVE_UP))
			give_up(r, false, text);
		return;
	}
	console_print("cluster %u is fenced and loaded again", number_of(r));
	restart_step(r, CLUSTER_FENCE);
	r->fences++;
	restart_wait(r);
	restart_hasten(r);
}

/* Handles a claim of no cluster, or of another one. */
static void poll_claim(struct cluster_restart *r, uint64_t word)
{
	uint32_t claimer = control_claimer(word);
	if (signs_are_spoilt()) /* this cluster failed: words that only it writes were overwritten; the other sees it */
		return;
	restart_hasten(r);
	if (watch_console_is_taken() || read_tsc() < r->due || !has_waited(r, restart_turn(r) * TURN_MS))
		return;
	if (!control_is_claimed(word) || watch_verdict(claimer) || has_waited(r, STEP_MS))
		restart_claim(r, word);
}

static void fence_again(struct cluster_restart *r, const char *text)
{
	require(r->fences <= FENCES && r->claimed_at);
	if (r->fences < FENCES) {
		restart_step(r, CLUSTER_FENCE);
		r->fences++;
		restart_wait(r);
	} else if (!restart_step(r, CLUSTER_GIVE_UP)) {
		give_up(r, true, text);
	}
}

/* Our own claim. */
static void go_on(struct cluster_restart *r, uint64_t word)
{
	switch (control_state(word)) {
	case CONTROL_FENCED:
		if (!restart_step(r, CLUSTER_START))
			r->parked_at = read_tsc();
		else if (has_waited(r, PARK_MS))
			fence_again(r, "not all its cores come to the loader");
		break;
	case CONTROL_LOADING:
		if (has_waited(r, LOAD_MS))
			fence_again(r, "its first core does not load it");
		break;
	default: /* CLAIMED: it has claimed us, too */
		if (restart_step(r, CLUSTER_FENCE) && has_waited(r, STEP_MS))
			fence_again(r, "it cannot be fenced");
		break;
	}
	restart_hasten(r);
}

/* All its cores have come to the loader, whichever cluster has fenced it: what they ran has ended for certain. */
static void note_fenced(struct cluster_restart *r)
{
	const struct note_fenced note = { number_of(r) };
	require(r->is_lost);
	if (!r->is_fenced && is_primary())
		report(NOTE_FENCED, &note, sizeof(note));
	r->is_fenced = true;
}

/* Its next life has begun: do its kernel and its manager say so, too? */
static void await_boot(struct cluster_restart *r, uint64_t word)
{
	if (!r->is_loaded) {
		r->is_loaded = true;
		watch_again(number_of(r), control_life(word));
		restart_wait(r);
		note_loaded(r);
	}
	if (watch_is_back(number_of(r))) {
		r->is_lost = false;
	} else if (has_waited(r, BOOT_MS)) {
		console_print("cluster %u was loaded and did not start", number_of(r));
		restart_begin(r, word);
	}
}

/* Only a cluster whose cores are all in the loader is loaded, by the claimer, which lives. */
static bool is_past_fence(const struct cluster_restart *r, uint64_t word)
{
	return (control_state(word) == CONTROL_LOADING && !watch_verdict(control_claimer(word))) ||
	       (control_state(word) == CONTROL_RUNNING && control_life(word) != r->life);
}

static void restart_poll(struct cluster_restart *r)
{
	uint64_t word = read_word(r);
	require(r->is_lost);
	r->ticks++;
	if (word != r->word)
		restart_wait(r);
	r->word = word;
	if (is_past_fence(r, word))
		note_fenced(r);
	if (control_state(word) == CONTROL_RUNNING && control_life(word) != r->life)
		await_boot(r, word);
	else if (control_state(word) == CONTROL_DOWN)
		give_up(r, true, "another cluster has given it up");
	else if (restart_refusal(word))
		give_up(r, true, restart_refusal(word));
	else if (control_is_claimed(word) && control_claimer(word) == ROOT->cluster && r->claimed_at)
		go_on(r, word);
	else
		poll_claim(r, word);
}

/* Its ledger shows another life: others may have noticed a loss, and dealt with it, before this cluster did. */
static void check_missed_restart(struct cluster_restart *r)
{
	static const char text[] = "it was started again";
	uint64_t word = read_word(r);
	const struct mail mail = { .kind = MAIL_PEER_LOST, .cluster = number_of(r), .body = text,
	                           .size = sizeof(text) };
	if (control_state(word) == CONTROL_RUNNING && control_life(word) != watch_life(number_of(r)) &&
	    !channel_lose(number_of(r), text))
		mailbox_put(&mail);
}

void cluster_restart_tick(void)
{
	for (uint32_t i = 0; i < ROOT->controlled_count && i < BOOT_MAX_CLUSTERS; i++) {
		if (!restart[i].is_lost && watch_is_another(ROOT->controlled[i]))
			check_missed_restart(&restart[i]);
		if (restart[i].is_lost)
			restart_poll(&restart[i]);
	}
}
