/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/cluster_control.h>
#include <skerry/format.h>
#include <skerry/ledger_read.h>
#include <skerry/require.h>
#include "channel.h"
#include "mailbox.h"
#include "map.h"
#include "root.h"
#include "timer.h"
#include "vspace.h"
#include "watch.h"

/* A counter of the other side, and how long it has stood still. */
struct counter {
	uint64_t value, since; /* since: our TSC */
	uint32_t ticks;        /* of our timer since then */
};

struct watched {
	const struct ledger *ledger;
	uint32_t cluster, cores; /* as the map has it */
	uint32_t room;           /* cores that its kernel has room for */
	struct boot_cores present; /* that it has now */
	uint32_t cores_end;      /* the last of these, and one */
	bool started, manager_started;
	bool is_lost;            /* published last: the main thread reads the verdict */
	bool is_reported;        /* the main thread's, but for the time between `next_life` and `life` */
	uint32_t life;           /* that is watched: the timer thread's */
	_Atomic uint32_t next_life; /* the main thread's: to be watched from the next tick on */
	struct counter *core;    /* of each that it has room for */
	struct counter timer, manager;
	uint64_t lost_at;        /* our TSC */
	struct watch_verdict verdict;
};

static struct watched *watched;
static uint32_t watched_count;

/* The life that a cluster lives when we start. */
static uint32_t first_life(uint32_t cluster)
{
	for (uint32_t i = 0; i < ROOT->controlled_count; i++) {
		uint64_t word;
		if (ROOT->controlled[i] == cluster && !cluster_read(ROOT_SLOT_CLUSTER_CONTROL, cluster, &word))
			return control_life(word);
	}
	return 1; /* it is never started again */
}

void watch_init(void)
{
	const struct ledger *ledger = (const struct ledger *)ROOT_LEDGER_VADDR;
	uint32_t count = ROOT->ledger_count;
	if (count < 2)
		return;
	watched = own_memory((count - 1) * sizeof(*watched));
	if (!watched)
		manager_panic("no memory to watch other clusters");
	for (uint32_t i = 1; i < count; i++) { /* the first is our own */
		const struct map_cluster *c = map_cluster(map, ROOT->ledger[i].cluster);
		if (!c)
			continue;
		require(watched_count < count - 1);
		struct watched *w = &watched[watched_count++];
		w->ledger = &ledger[i];
		w->cluster = c->number;
		w->cores = c->cpu_count;
		w->room = map_core_count(map, c);
		w->core = own_memory(w->room * sizeof(*w->core));
		if (!w->core)
			manager_panic("no memory to watch the cores of cluster %u", w->cluster);
		w->life = w->next_life = first_life(w->cluster);
		channel_is_watched(w->cluster, &w->next_life);
	}
}

static void counter_check(struct counter *c, const _Atomic uint64_t *word, uint64_t now)
{
	uint64_t value = atomic_load_explicit(word, memory_order_relaxed);
	if (value != c->value || !c->since) {
		*c = (struct counter){ .value = value, .since = now };
		return;
	}
	c->ticks++;
}

static bool is_silent(const struct counter *c, uint64_t now, uint32_t ms)
{
	return c->ticks > ms / timer_ms() && now - c->since > milliseconds(ms);
}

static void watch_conclude(struct watched *w, enum watch_reason reason, uint32_t core, uint64_t silence)
{
	require(reason != WATCH_ALIVE && (core == WATCH_NO_CORE || reason == WATCH_PANIC || core < w->room));
	struct watch_verdict *v = &w->verdict;
	v->reason = reason;
	v->core = core;
	v->silent_ms = (uint32_t)(silence / (ROOT->tsc_hz / 1000));
}

/* The kernel's last words: what they say is printed, and used for nothing else. */
static void watch_panicked(struct watched *w, const struct ledger_words *words, uint64_t now)
{
	struct text t = TEXT(w->verdict.text);
	uint64_t ago = now - atomic_load_explicit(&w->ledger->kernel.said_at, memory_order_relaxed);
	uint64_t longest = milliseconds(watch_core_ms());
	watch_conclude(w, WATCH_PANIC, words->core, ago < longest ? ago : longest);
	text_format(&t, "its kernel panicked");
	if (words->core != LEDGER_NO_CORE)
		text_format(&t, " on core %u", words->core);
	text_format(&t, ": %s", words->text);
}

/* One of its signs of life has stood still for too long: which ones have, more or less? */
static void fell_silent(struct watched *w, uint64_t now)
{
	struct text t = TEXT(w->verdict.text);
	uint32_t silent = 0, first = WATCH_NO_CORE;
	uint32_t cores = 0;
	uint64_t longest = 0;
	for (uint32_t i = 0; i < w->room; i++) {
		cores += (uint32_t)boot_cores_has(&w->present, i);
		if (!is_silent(&w->core[i], now, watch_core_ms() / 2))
			continue;
		first = silent++ ? first : i;
		if (now - w->core[i].since > longest)
			longest = now - w->core[i].since;
	}
	if (silent) {
		bool is_whole = silent == cores;
		watch_conclude(w, is_whole ? WATCH_STOPPED : WATCH_CORE, first, longest);
		if (is_whole)
			text_format(&t, "its cores have stopped: no beat of any");
		else
			text_format(&t, "its core %u hangs: no beat", first);
	} else if (is_silent(&w->timer, now, watch_core_ms())) {
		watch_conclude(w, WATCH_TIMER, WATCH_NO_CORE, now - w->timer.since);
		text_format(&t, "its manager's timer has stopped: no tick");
	} else {
		watch_conclude(w, WATCH_MANAGER, WATCH_NO_CORE, now - w->manager.since);
		text_format(&t, "its manager hangs or has stopped: no pass of its main loop");
	}
	text_format(&t, " for %u ms", w->verdict.silent_ms);
}

static bool is_any_silent(const struct watched *w, uint64_t now)
{
	for (uint32_t i = 0; i < w->room; i++)
		if (is_silent(&w->core[i], now, watch_core_ms()))
			return true;
	return w->manager_started &&
	       (is_silent(&w->timer, now, watch_core_ms()) || is_silent(&w->manager, now, watch_manager_ms()));
}

/* The next life begins with nothing known of it. */
static void look_at_life(struct watched *w)
{
	uint32_t life = atomic_load_explicit(&w->next_life, memory_order_acquire);
	if (life == w->life)
		return;
	__atomic_store_n(&w->is_lost, false, __ATOMIC_RELAXED);
	w->is_reported = w->started = w->manager_started = false;
	memset(w->core, 0, w->room * sizeof(*w->core));
	w->timer = w->manager = (struct counter){ 0 };
	w->verdict = (struct watch_verdict){ 0 };
	__atomic_store_n(&w->life, life, __ATOMIC_RELEASE);
}

/*
 * Which cores beat; those that it gives up are no loss. A kernel that shows nonsense hides its cores at most: its
 * manager's signs of life need one of them.
 */
static void look_at_cores(struct watched *w)
{
	struct boot_cores shown;
	for (uint32_t i = 0; i < BOOT_CORE_WORDS; i++)
		shown.word[i] = atomic_load_explicit(&w->ledger->kernel.present[i], memory_order_relaxed);
	w->present = (struct boot_cores){ 0 };
	w->cores_end = 0;
	for (uint32_t i = 0; i < w->room; i++)
		if (boot_cores_has(&shown, i)) {
			boot_cores_add(&w->present, i);
			w->cores_end = i + 1;
		}
	if (w->cores_end)
		return;
	while (w->cores_end < w->cores)
		boot_cores_add(&w->present, w->cores_end++);
}

/* True when it is lost. */
static bool watch_check(struct watched *w, uint64_t now)
{
	const struct ledger *l = w->ledger;
	struct ledger_words words;
	w->started |= atomic_load_explicit(&l->kernel.magic, memory_order_acquire) == LEDGER_MAGIC;
	if (!w->started)
		return false; /* how long it may take is the channel's to judge */
	look_at_cores(w);
	if (ledger_read_words(&l->kernel, w->cores_end, &words)) {
		watch_panicked(w, &words, now);
		return true;
	}
	for (uint32_t i = 0; i < w->room; i++)
		if (boot_cores_has(&w->present, i))
			counter_check(&w->core[i], &l->kernel.beats[i], now);
		else
			w->core[i] = (struct counter){ 0 };
	w->manager_started |= atomic_load_explicit(&l->manager.magic, memory_order_relaxed) == LEDGER_MAGIC;
	counter_check(&w->timer, &l->manager.ticks, now);
	counter_check(&w->manager, &l->manager.passes, now);
	require(!w->is_lost && w->cores_end);
	if (!is_any_silent(w, now))
		return false;
	fell_silent(w, now);
	return true;
}

void watch_tick(void)
{
	uint64_t now = read_tsc();
	for (uint32_t i = 0; i < watched_count; i++) {
		look_at_life(&watched[i]);
		if (!watched[i].is_lost && watch_check(&watched[i], now)) {
			watched[i].lost_at = now;
			__atomic_store_n(&watched[i].is_lost, true, __ATOMIC_RELEASE);
		}
	}
}

/* Returns whether the timer thread has begun to watch the requested life. */
static bool is_settled(const struct watched *w)
{
	return __atomic_load_n(&w->life, __ATOMIC_ACQUIRE) == atomic_load_explicit(&w->next_life, memory_order_relaxed);
}

static bool is_lost(const struct watched *w) { return __atomic_load_n(&w->is_lost, __ATOMIC_ACQUIRE); }

static uint32_t state_of(const struct watched *w)
{
	return atomic_load_explicit(&w->ledger->kernel.state, memory_order_relaxed);
}

bool watch_words_are_said(void)
{
	for (uint32_t i = 0; i < watched_count; i++)
		if (!is_lost(&watched[i]) &&
		    (state_of(&watched[i]) == LEDGER_DYING || state_of(&watched[i]) == LEDGER_DEAD))
			return true;
	return false;
}

bool watch_console_is_taken(void)
{
	for (uint32_t i = 0; i < watched_count; i++) {
		const struct watched *w = &watched[i];
		if (state_of(w) == LEDGER_DYING && is_lost(w) && w->verdict.reason == WATCH_PANIC &&
		    read_tsc() - w->lost_at < milliseconds(WATCH_WORDS_MS))
			return true;
	}
	return false;
}

void watch_report(void)
{
	for (uint32_t i = 0; i < watched_count; i++) {
		struct watched *w = &watched[i];
		if (!is_settled(w) || w->is_reported || !is_lost(w))
			continue;
		w->is_reported = true;
		if (channel_lose(w->cluster, w->verdict.text))
			continue;
		const struct mail mail = { .kind = MAIL_PEER_LOST, .cluster = w->cluster, .body = w->verdict.text,
			                   .size = strlen(w->verdict.text) + 1 };
		mailbox_put(&mail); /* no channel leads to it, or it has been down before */
	}
}

const struct watch_verdict *watch_verdict(uint32_t cluster)
{
	for (uint32_t i = 0; i < watched_count; i++)
		if (watched[i].cluster == cluster && __atomic_load_n(&watched[i].is_lost, __ATOMIC_ACQUIRE))
			return &watched[i].verdict;
	return NULL;
}

static struct watched *watch_find(uint32_t cluster)
{
	for (uint32_t i = 0; i < watched_count; i++)
		if (watched[i].cluster == cluster)
			return &watched[i];
	return NULL;
}

uint32_t watch_life(uint32_t cluster)
{
	const struct watched *w = watch_find(cluster);
	return w ? atomic_load_explicit(&w->next_life, memory_order_relaxed) : 0;
}

void watch_again(uint32_t cluster, uint32_t life)
{
	struct watched *w = watch_find(cluster);
	if (w)
		atomic_store_explicit(&w->next_life, life, memory_order_release);
}

bool watch_is_back(uint32_t cluster)
{
	const struct watched *w = watch_find(cluster);
	return w && is_settled(w) && !__atomic_load_n(&w->is_lost, __ATOMIC_ACQUIRE) &&
	       atomic_load_explicit(&w->ledger->kernel.life, memory_order_relaxed) == w->life &&
	       atomic_load_explicit(&w->ledger->manager.magic, memory_order_relaxed) == LEDGER_MAGIC;
}

bool watch_is_another(uint32_t cluster)
{
	const struct watched *w = watch_find(cluster);
	uint32_t life = w ? atomic_load_explicit(&w->ledger->kernel.life, memory_order_relaxed) : 0;
	return life && life != atomic_load_explicit(&w->next_life, memory_order_relaxed);
}

const char *watch_reason_name(enum watch_reason reason)
{
	static const char *const name[] = { "alive", "panic", "stopped", "core", "timer", "manager" };
	return reason < sizeof(name) / sizeof(name[0]) ? name[reason] : "unknown";
}
