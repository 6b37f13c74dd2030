/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/format.h>
#include <skerry/ledger_read.h>
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
	bool started, manager_started;
	bool is_lost;            /* published last: the main thread reads the verdict */
	bool is_reported;        /* main thread only */
	struct counter core[BOOT_MAX_CPUS], timer, manager;
	uint64_t lost_at;        /* our TSC */
	struct watch_verdict verdict;
};

static struct watched *watched;
static uint32_t watched_count;

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
		struct watched *w = &watched[watched_count++];
		w->ledger = &ledger[i];
		w->cluster = c->number;
		w->cores = c->cpu_count < BOOT_MAX_CPUS ? c->cpu_count : BOOT_MAX_CPUS;
		channel_is_watched(w->cluster);
	}
}

static void count(struct counter *c, const _Atomic uint64_t *word, uint64_t now)
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
	return c->ticks > ms / TIMER_MS && now - c->since > milliseconds(ms);
}

static void conclude(struct watched *w, enum watch_reason reason, uint32_t core, uint64_t silence)
{
	struct watch_verdict *v = &w->verdict;
	v->reason = reason;
	v->core = core;
	v->silent_ms = (uint32_t)(silence / (ROOT->tsc_hz / 1000));
}

/* The kernel's last words: what they say is printed, and used for nothing else. */
static void panicked(struct watched *w, const struct ledger_words *words)
{
	struct text t = TEXT(w->verdict.why);
	conclude(w, WATCH_PANIC, words->core, 0);
	text_format(&t, "its kernel panicked");
	if (words->core != LEDGER_NO_CORE)
		text_format(&t, " on core %u", words->core);
	text_format(&t, ": %s", words->text);
}

/* One of its signs of life has stood still for too long: which ones have, more or less? */
static void fell_silent(struct watched *w, uint64_t now)
{
	struct text t = TEXT(w->verdict.why);
	uint32_t silent = 0, first = WATCH_NO_CORE;
	for (uint32_t i = 0; i < w->cores; i++)
		if (is_silent(&w->core[i], now, WATCH_CORE_MS / 2)) {
			first = silent++ ? first : i;
		}
	if (silent) {
		bool is_whole = silent == w->cores;
		conclude(w, is_whole ? WATCH_STOPPED : WATCH_CORE, first, now - w->core[first].since);
		if (is_whole)
			text_format(&t, "its cores have stopped: no beat of any");
		else
			text_format(&t, "its core %u hangs: no beat", first);
	} else if (is_silent(&w->timer, now, WATCH_TIMER_MS)) {
		conclude(w, WATCH_TIMER, WATCH_NO_CORE, now - w->timer.since);
		text_format(&t, "its manager's timer has stopped: no tick");
	} else {
		conclude(w, WATCH_MANAGER, WATCH_NO_CORE, now - w->manager.since);
		text_format(&t, "its manager hangs or has stopped: no pass of its main loop");
	}
	text_format(&t, " for %u ms", w->verdict.silent_ms);
}

static bool is_any_silent(const struct watched *w, uint64_t now)
{
	for (uint32_t i = 0; i < w->cores; i++)
		if (is_silent(&w->core[i], now, WATCH_CORE_MS))
			return true;
	return w->manager_started &&
	       (is_silent(&w->timer, now, WATCH_TIMER_MS) || is_silent(&w->manager, now, WATCH_MANAGER_MS));
}

/* True when it is lost. */
static bool look(struct watched *w, uint64_t now)
{
	const struct ledger *l = w->ledger;
	struct ledger_words words;
	w->started |= atomic_load_explicit(&l->kernel.magic, memory_order_acquire) == LEDGER_MAGIC;
	if (!w->started)
		return false; /* how long it may take is the channel's to judge */
	if (ledger_read_words(&l->kernel, w->cores, &words)) {
		panicked(w, &words);
		return true;
	}
	for (uint32_t i = 0; i < w->cores; i++)
		count(&w->core[i], &l->kernel.cores[i].beats, now);
	w->manager_started |= atomic_load_explicit(&l->manager.magic, memory_order_relaxed) == LEDGER_MAGIC;
	count(&w->timer, &l->manager.ticks, now);
	count(&w->manager, &l->manager.passes, now);
	if (!is_any_silent(w, now))
		return false;
	fell_silent(w, now);
	return true;
}

void watch_tick(void)
{
	uint64_t now = read_tsc();
	for (uint32_t i = 0; i < watched_count; i++)
		if (!watched[i].is_lost && look(&watched[i], now)) {
			watched[i].lost_at = now;
			__atomic_store_n(&watched[i].is_lost, true, __ATOMIC_RELEASE);
		}
}

void watch_report(void)
{
	for (uint32_t i = 0; i < watched_count; i++) {
		struct watched *w = &watched[i];
		if (w->is_reported || !__atomic_load_n(&w->is_lost, __ATOMIC_ACQUIRE))
			continue;
		if (w->verdict.reason == WATCH_PANIC && read_tsc() - w->lost_at < milliseconds(WATCH_WORDS_MS))
			continue; /* its kernel prints its own report now, on the same console */
		w->is_reported = true;
		if (channel_lose(w->cluster, w->verdict.why))
			continue;
		const struct mail mail = { .kind = MAIL_PEER_LOST, .cluster = w->cluster, .body = w->verdict.why,
			                   .size = strlen(w->verdict.why) + 1 };
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

const char *watch_reason_name(enum watch_reason reason)
{
	static const char *const name[] = { "alive", "panic", "stopped", "core", "timer", "manager" };
	return reason < sizeof(name) / sizeof(name[0]) ? name[reason] : "unknown";
}
