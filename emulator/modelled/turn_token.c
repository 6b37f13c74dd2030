/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "turn_token.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <skerry/require.h>
#include "fiber.h"

struct turn_token turn_token;
struct event_queue event_turns;
void (*token_wake_events)(void);

/* How often the holder is polled for sleep; after so many polls at one clock the others go ahead by a block. */
enum { LOOK_NS = 200000000, STILL_LOOKS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int holder = EVENTS;
static pid_t events_thread;
static bool keeps[MOST_CORES];
static bool asked; /* the event loop wants an undated turn */
static _Atomic bool open_now;
static __thread __attribute__((tls_model("initial-exec"))) int self = NOBODY;

int token_self(void) { return self; }

void token_join(unsigned party)
{
	require(self == NOBODY && party <= EVENTS);
	self = (int)party;
	if (party == EVENTS)
		events_thread = (pid_t)syscall(SYS_gettid);
	else
		fiber_join(party);
}

bool token_is_open(void) { return open_now; }

void token_thread_moved(pid_t was, pid_t is)
{
	if (events_thread == was)
		events_thread = is;
	fiber_thread_moved(was, is);
}

/* Returns the next party: the event loop if it has asked, before the core that the event queue names. */
static int next_turn(uint64_t *limit)
{
	if (!asked)
		return queue_next(&event_turns, limit);
	uint64_t now = queue_now(&event_turns);
	if (event_turns.events_clock < now)
		event_turns.events_clock = now;
	return EVENTS;
}

static bool is_core(int party) { return party != NOBODY && party != EVENTS; }

/* The caller holds the mutex. Hands the token to the core that the event queue names. */
static void pass_on(void)
{
	uint64_t limit;
	int was = holder, next = next_turn(&limit);
	atomic_store_explicit(&holder, next, memory_order_release); /* the mutex and the fiber's flags order the rest */
	if (was != next && is_core(was))
		fiber_stop((unsigned)was);
	if (next == NOBODY)
		return;
	turn_token.handed += next != was;
	if (next == EVENTS) {
		asked = false;
		token_wake_events();
		return;
	}
	require((unsigned)next < event_turns.count);
	queue_limit(&event_turns.core[next], limit);
	if (was == next)
		return;
	if (was == self && is_core(was)) /* it awaits its turn next */
		fiber_go_after((unsigned)was, (unsigned)next);
	else
		fiber_go((unsigned)next);
}

/* Returns whether the thread waits for something, rather than for a processor of the host. */
static bool thread_sleeps(pid_t id)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id);
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	if (file)
		fclose(file);
	text[size] = 0;
	const char *name_end = strrchr(text, ')');
	return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

static uint64_t clock_of_holder(int party)
{
	return party == NOBODY ? 0 : party == EVENTS ? event_turns.events_clock : clock_of(&event_turns.core[party]);
}

/* Under the mutex: all others that could execute do so for a block, without the token. */
static void let_ahead(void)
{
	for (unsigned i = 0; i < event_turns.count; i++) {
		if ((int)i == holder || event_turns.core[i].state == HALTED)
			continue;
		turn_token.late++;
		fiber_go(i);
	}
}

/* A thread of its own, which looks at nothing but the host. */
static __attribute__((noreturn)) void *watch_host(void *nothing)
{
	const struct timespec pause = { 0, LOOK_NS };
	int seen = NOBODY;
	uint64_t clock = 0;
	(void)nothing;
	for (unsigned looks = 0;; nanosleep(&pause, NULL)) {
		pthread_mutex_lock(&mutex);
		int now = holder;
		bool still = now != NOBODY && now == seen && clock_of_holder(now) == clock &&
		             thread_sleeps(now == EVENTS ? events_thread : fiber_thread((unsigned)now));
		looks = still ? looks + 1 : 0;
		if (looks >= STILL_LOOKS) {
			let_ahead();
			looks = 0;
		}
		seen = now;
		clock = clock_of_holder(now);
		pthread_mutex_unlock(&mutex);
	}
}

void token_open(void)
{
	sigset_t all, before;
	pthread_t thread;
	open_now = true;
	sigfillset(&all);
	sigdelset(&all, SIGFPE); /* snapshot.c stops it */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, watch_host, NULL))
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void token_await(unsigned core)
{
	fiber_await(core);
	if (holder == (int)core)
		return;
	pthread_mutex_lock(&mutex);
	if (holder != (int)core) /* it goes ahead */
		fiber_stop(core);
	pthread_mutex_unlock(&mutex);
}

void token_keep(unsigned core, bool on) { keeps[core] = on; }

/* Under the mutex. A core without the token: it calls again after the block. */
static void went_ahead(unsigned core)
{
	queue_limit(&event_turns.core[core], 0);
	queue_moved(&event_turns, core);
}

void token_step(unsigned core)
{
	require(core < MOST_CORES);
	if (keeps[core])
		return;
	pthread_mutex_lock(&mutex);
	event_turns.started = true;
	if (holder == (int)core || holder == NOBODY)
		pass_on();
	else
		went_ahead(core);
	bool mine = holder == (int)core;
	pthread_mutex_unlock(&mutex);
	if (!mine)
		token_await(core);
}

void token_block(uint64_t until)
{
	pthread_mutex_lock(&mutex);
	require(self != NOBODY);
	if (self == EVENTS)
		event_turns.events = until;
	else
		queue_halt(&event_turns, (unsigned)self);
	if (holder == self)
		pass_on();
	pthread_mutex_unlock(&mutex);
}

/* If the caller is a core that runs it must not run past another's turn at `when`. Under the mutex. */
static void hold_back(uint64_t when)
{
	if (self == NOBODY || self == EVENTS || holder != self)
		return;
	struct runner *core = &event_turns.core[holder];
	require(core->count);
	uint64_t left = core->count->used < LIMIT ? LIMIT - core->count->used : 0;
	if (when < clock_of(core) + left)
		queue_limit(core, when);
}

static void hold_back_for(unsigned core)
{
	if (is_core(self))
		hold_back(queue_until(&event_turns, (unsigned)self, core));
}

/* Under the mutex. */
static uint64_t clock_here(void)
{
	return self == NOBODY ? queue_now(&event_turns) : clock_of_holder(self);
}

void token_wake(unsigned party, uint64_t latency)
{
	pthread_mutex_lock(&mutex);
	uint64_t now = clock_here();
	require(party <= EVENTS);
	if (party == EVENTS) {
		event_turns.started |= self != NOBODY;
		if (now < event_turns.events)
			event_turns.events = now;
		hold_back(now);
	} else if (event_turns.core[party].state == PARKED) {
		queue_unpark(&event_turns, party, now, event_turns.core[party].ahead);
		hold_back_for(party);
	} else if (queue_expect(&event_turns, party, now + (self == NOBODY || self == EVENTS ? 0 : latency))) {
		hold_back_for(party);
	}
	if (holder == NOBODY)
		pass_on();
	pthread_mutex_unlock(&mutex);
}

void token_ask(void)
{
	pthread_mutex_lock(&mutex);
	asked = holder != EVENTS;
	if (holder == NOBODY)
		pass_on();
	pthread_mutex_unlock(&mutex);
}

bool token_events_turn(void) { return holder == EVENTS; }

void token_park(unsigned core, uint64_t period, uint64_t ahead, uint64_t most)
{
	pthread_mutex_lock(&mutex);
	queue_park(&event_turns, core, period, ahead, most);
	pthread_mutex_unlock(&mutex);
	token_step(core);
	pthread_mutex_lock(&mutex);
	if (event_turns.core[core].state == PARKED) { /* it went ahead without the token */
		event_turns.core[core].state = RUNS;
		queue_moved(&event_turns, core);
	}
	event_turns.core[core].resumes = false;
	pthread_mutex_unlock(&mutex);
}

void token_unpark(unsigned core, uint64_t ahead)
{
	if (!queue_waits(&event_turns, core))
		return;
	pthread_mutex_lock(&mutex);
	/* of two cores that act at one moment the one with the lesser number is first */
	queue_unpark(&event_turns, core, clock_here() + ((int)core < self), ahead);
	hold_back_for(core);
	pthread_mutex_unlock(&mutex);
}

uint64_t token_clock(void)
{
	pthread_mutex_lock(&mutex);
	uint64_t now = clock_here();
	pthread_mutex_unlock(&mutex);
	return now;
}
