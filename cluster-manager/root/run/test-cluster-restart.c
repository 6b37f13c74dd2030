/* SPDX-License-Identifier: BSD-2-Clause */
/* Managers that start a lost cluster again, in a machine that is modelled: the control words, the ledgers, the time. */
#define _GNU_SOURCE
#include <string.h>
#include "root.h"
#include "test-check.h"

static uint64_t now = 1000000; /* a cycle is a millisecond */
static uint64_t test_clock(void) { return now; }
static int test_read(uint64_t control, uint32_t cluster, uint64_t *word);
static int test_claim(uint64_t control, uint32_t cluster, uint64_t word);
static int test_step(uint64_t control, enum skerry_invocation step, uint32_t cluster);

#define read_tsc     test_clock
#define cluster_read test_read
#define cluster_claim test_claim
#define cluster_step test_step
#include "cluster-restart.c"
#include "restart.c"

enum { LOST = 2, CLUSTERS = 4, CORES = 2, FOREVER = 100000 /* ms */ };

static struct cluster_map test_map;
const struct cluster_map *map = &test_map;
static struct root_info *root;
static struct cluster_control control;
static bool is_deaf;            /* its cores do not come to the loader */
static bool loads = true, boots = true;
static uint32_t ledger_life;    /* that its ledger shows, its manager's loop going round */
static uint64_t loading_since;
static uint32_t watched_life;
static uint32_t fences, starts, claims, downs, stucks, loaded, losses, told_fenced;
static bool lost[CLUSTERS];     /* as our watch has it */

static int test_read(uint64_t slot, uint32_t cluster, uint64_t *word)
{
	CHECK(slot == ROOT_SLOT_CLUSTER_CONTROL && cluster == LOST);
	*word = control_read(&control);
	return 0;
}

static int test_claim(uint64_t slot, uint32_t cluster, uint64_t word)
{
	CHECK(slot == ROOT_SLOT_CLUSTER_CONTROL && cluster == LOST);
	claims++;
	return control_claim(&control, word, root->cluster) ? 0 : -SKERRY_BUSY;
}

static int fence(void)
{
	fences++;
	if (!control_fence_begin(&control, root->cluster, CORES))
		return -SKERRY_BUSY;
	for (uint32_t i = 0; i < CORES; i++)
		if (!is_deaf)
			control_arrive(&control, i);
	return control_fence_end(&control, root->cluster) ? 0 : -SKERRY_BUSY;
}

static int test_step(uint64_t slot, enum skerry_invocation step, uint32_t cluster)
{
	static const struct boot_cores all = { { (1u << CORES) - 1 } };
	CHECK(slot == ROOT_SLOT_CLUSTER_CONTROL && cluster == LOST);
	switch (step) {
	case CLUSTER_FENCE: return fence();
	case CLUSTER_START:
		if (!control_start(&control, root->cluster, &all))
			return -SKERRY_BUSY;
		starts++;
		loading_since = now;
		return 0;
	default: return control_give_up(&control, root->cluster) ? 0 : -SKERRY_BUSY;
	}
}

const struct watch_verdict *watch_verdict(uint32_t cluster)
{
	static const struct watch_verdict verdict = { .reason = WATCH_STOPPED };
	return lost[cluster] ? &verdict : NULL;
}
uint32_t watch_life(uint32_t cluster) { return cluster == LOST ? watched_life : 1; }
void watch_again(uint32_t cluster, uint32_t life)
{
	CHECK(cluster == LOST && life == control_life(control_read(&control)));
	watched_life = life;
}
bool watch_is_back(uint32_t cluster) { return cluster == LOST && ledger_life == watched_life; }
bool watch_is_another(uint32_t cluster) { return cluster == LOST && ledger_life && ledger_life != watched_life; }

bool channel_lose(uint32_t cluster, const char *text)
{
	CHECK(cluster == LOST && text);
	losses++;
	cluster_restart_lost(cluster); /* as deliver.c does with the message that this makes */
	return true;
}
void loss_record_loaded(uint32_t fence_ms, uint32_t load_ms) { CHECK(fence_ms < FOREVER && load_ms < FOREVER); }
static bool is_printing; /* a kernel that panics, its report */
static uint32_t hurries;
bool watch_console_is_taken(void) { return is_printing; }
void timer_soon(void) { hurries++; }
static bool is_spoilt;
bool signs_are_spoilt(void) { return is_spoilt; }
int mailbox_put(const struct mail *mail)
{
	CHECK(!mail);
	return 0;
}


int report(enum message_type type, const void *body, size_t size)
{
	const struct note_loaded *l = body;
	const struct note_down *down = body;
	CHECK(l->cluster == LOST);
	if (type == NOTE_FENCED) {
		CHECK(size == sizeof(struct note_fenced));
		CHECK(control_state(control_read(&control)) == CONTROL_LOADING ||
		      control_state(control_read(&control)) == CONTROL_RUNNING);
		told_fenced++;
		return 0;
	}
	CHECK(size == (type == NOTE_DOWN ? sizeof(*down) : sizeof(*l)));
	if (type == NOTE_DOWN) {
		CHECK(strlen(down->text) > 10);
		down->is_stuck ? stucks++ : downs++;
	} else {
		CHECK(type == NOTE_LOADED && l->fence_ms < FOREVER && l->load_ms < FOREVER);
		loaded++;
	}
	return 0;
}
void console_print(const char *format, ...) { CHECK(format); }

static void tick(void)
{
	now += TIMER_MS;
	if (control_state(control_read(&control)) == CONTROL_LOADING && loads && now - loading_since >= 200)
		CHECK(control_loaded(&control, control_read(&control)));
	if (boots && control_state(control_read(&control)) == CONTROL_RUNNING &&
	    control_life(control_read(&control)) > 1)
		ledger_life = control_life(control_read(&control));
	cluster_restart_tick();
}

/* Until it is not being started again any more; how many ms that took. */
static uint64_t wait(void)
{
	uint64_t start = now;
	while (cluster_restart_is_pending(LOST) && now - start < FOREVER)
		tick();
	return now - start;
}

static void set_up(uint32_t self)
{
	memset(restart, 0, sizeof(restart));
	memset(lost, 0, sizeof(lost));
	control = (struct cluster_control){ .word = control_word(1, 0, CONTROL_RUNNING), .parked = { UINT64_MAX } };
	root->cluster = test_map.primary = self;
	root->ledger_count = CLUSTERS;
	for (uint32_t i = 0, n = 1; i < CLUSTERS; i++)
		root->ledger[i == self ? 0 : n++].cluster = i;
	is_deaf = false;
	loads = boots = true;
	watched_life = 1;
	losses = ledger_life = told_fenced = fences = starts = claims = downs = stucks = loaded = 0;
	lost[LOST] = true;
}

static void whole_way(void)
{
	set_up(0);
	cluster_restart_lost(1); /* not one of those */
	CHECK(!cluster_restart_is_pending(1));
	cluster_restart_lost(LOST);
	cluster_restart_lost(LOST); /* twice by two signs: one loss */
	CHECK(cluster_restart_is_pending(LOST) && wait() < 1000);
	CHECK(claims == 1 && fences == 1 && starts == 1 && loaded == 1 && told_fenced == 1 && !downs && !stucks);
	CHECK(control_read(&control) == control_word(2, 0, CONTROL_RUNNING));
}

/* Six times: the waits grow, and after the limit it stays down, whichever cluster claims it. */
static void too_often(void)
{
	uint64_t took = 0;
	set_up(0);
	for (unsigned i = 0; i < 5; i++) {
		cluster_restart_lost(LOST);
		uint64_t before = took;
		took = wait();
		CHECK(took >= before);
	}
	CHECK(starts == 5 && took >= 1600 && !downs);
	cluster_restart_lost(LOST);
	wait();
	CHECK(starts == 5 && downs == 1 && !stucks && control_state(control_read(&control)) == CONTROL_DOWN);
	cluster_restart_lost(LOST);
	CHECK(!cluster_restart_is_pending(LOST) && downs == 1 && !stucks); /* which was said */
}

/* Wild words, before the loss and in the middle of the restart: nobody can claim it, and that is said once. */
static void wild_words(void)
{
	static const uint32_t states[] = { CONTROL_NONE, CONTROL_DOWN, CONTROL_DOWN + 1, 0xff };
	for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		for (unsigned later = 0; later < 2; later++) {
			set_up(0);
			is_deaf = true;
			if (later)
				cluster_restart_lost(LOST);
			while (later && fences < 2)
				tick();
			control.word = control_word(1, 0, (enum control_state)states[i]);
			if (!later)
				cluster_restart_lost(LOST);
			CHECK(wait() < 1000 && stucks == 1 && !starts && !downs);
			cluster_restart_lost(LOST);
			CHECK(!cluster_restart_is_pending(LOST) && stucks == 1);
		}
}

static void cannot_be_fenced(void)
{
	set_up(0);
	is_deaf = true;
	cluster_restart_lost(LOST);
	CHECK(wait() < FOREVER);
	CHECK(fences == FENCES && !starts && !told_fenced && stucks == 1);
	CHECK(control_state(control_read(&control)) == CONTROL_DOWN);
}

/* Cores come at the second fence. */
static void fenced_late(void)
{
	set_up(0);
	is_deaf = true;
	cluster_restart_lost(LOST);
	while (fences < 2)
		tick();
	is_deaf = false;
	CHECK(wait() < FOREVER && fences == 3 && starts == 1 && !stucks);
}

static void does_not_load(void)
{
	set_up(0);
	loads = false;
	cluster_restart_lost(LOST);
	CHECK(wait() < FOREVER && fences == FENCES && starts == FENCES && stucks == 1);
}

/* It is loaded and never heard of: that is another loss. */
static void does_not_boot(void)
{
	set_up(0);
	boots = false;
	cluster_restart_lost(LOST);
	while (starts < 2 && now < UINT32_MAX)
		tick();
	CHECK(control_life(control_read(&control)) == 2);
	boots = true;
	CHECK(wait() < FOREVER && control_life(control_read(&control)) == 3 && !stucks);
}

/* Another cluster with a lower number is first; this one goes on where that is lost, or comes to nothing. */
static void claimer_dies(enum control_state at, bool is_seen)
{
	set_up(1);
	cluster_restart_lost(LOST);
	tick();
	CHECK(!claims); /* its turn is later */
	control.word = control_word(1, 0, at);
	lost[0] = is_seen;
	loads = false; /* what the dead one started */
	uint64_t start = now;
	while (!claims && now - start < FOREVER)
		tick();
	loads = true;
	uint64_t took = now - start + wait();
	CHECK(is_seen ? took < 3000 : took > STEP_MS);
	CHECK(claims == 1 && fences == 1 && starts == 1 && !stucks &&
	      control_read(&control) == control_word(2, 0, CONTROL_RUNNING));
}

/* Nobody claims: this one does, in its turn. The other one does it: this one only looks. */
static void second(void)
{
	set_up(1);
	cluster_restart_lost(LOST);
	CHECK(wait() >= TURN_MS && claims == 1 && starts == 1);
	set_up(1);
	cluster_restart_lost(LOST);
	tick();
	control.word = control_word(1, 0, CONTROL_LOADING);
	loading_since = now;
	CHECK(wait() < TURN_MS && !claims && !fences && !loaded && told_fenced == 1);
	set_up(1);
	cluster_restart_lost(LOST);
	lost[0] = true;
	/* written by a claimer that is lost, too: it proves nothing */
	control.word = control_word(1, 0, CONTROL_LOADING);
	loading_since = now;
	tick();
	CHECK(!told_fenced);
	set_up(1);
	cluster_restart_lost(LOST);
	control.word = control_word(1, 0, CONTROL_DOWN);
	CHECK(wait() < TURN_MS && !claims && stucks == 1);
}

/* Another cluster has noticed the loss and dealt with it before this one noticed anything. */
static void missed(void)
{
	set_up(1);
	tick();
	ledger_life = 2; /* it may say what it likes: the control word says that it lives its first life */
	tick();
	CHECK(!losses && !cluster_restart_is_pending(LOST));
	control.word = control_word(2, 0, CONTROL_RUNNING);
	tick();
	CHECK(losses == 1 && wait() < TURN_MS && !claims && watched_life == 2);
}

/* This manager has overwritten words that both see: the other one claims us, and we claim no cluster. */
static void spoilt(void)
{
	set_up(0);
	is_spoilt = true;
	cluster_restart_lost(LOST);
	CHECK(wait() == FOREVER && !claims);
	is_spoilt = false;
	CHECK(wait() < 1000 && claims == 1);
}

/* Nobody fences a kernel while it prints its report. */
static void printing(void)
{
	set_up(0);
	is_printing = true;
	cluster_restart_lost(LOST);
	CHECK(wait() == FOREVER && !claims);
	is_printing = false;
	hurries = 0;
	CHECK(wait() < 1000 && claims == 1 && hurries);
}

int main(void)
{
	root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	root->tsc_hz = 1000;
	root->controlled_count = 1;
	root->controlled[0] = LOST;
	test_map.cluster_count = CLUSTERS;
	for (uint32_t i = 0; i < CLUSTERS; i++)
		test_map.cluster[i] = (struct map_cluster){ .number = i, .cpu_count = CORES, .restart = true,
			                                    .restart_limit = MAP_RESTART_LIMIT,
			                                    .restart_delay = MAP_RESTART_DELAY };
	whole_way();
	too_often();
	wild_words();
	cannot_be_fenced();
	fenced_late();
	does_not_load();
	does_not_boot();
	for (enum control_state at = CONTROL_CLAIMED; at <= CONTROL_LOADING; at++) {
		claimer_dies(at, true);
		claimer_dies(at, false);
	}
	second();
	missed();
	spoilt();
	printing();
	return failures != 0;
}
