/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "virtual_time.h"
#include "turn_token.h"
#include "moment.h"
#include "preload.h"
#include "ticks.h"
#include "trap.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST_FILES = 256, ARRIVAL_MS = 1, ARRIVALS = 20000 };

/* How a thread waits. */
struct place {
	pthread_cond_t *waits; /* on this, now */
	pthread_cond_t *halts; /* on this when its core halts: the first that it ever waited on */
	_Atomic bool arrived;
};

static const struct originals *original;
static const struct machine *model;
static unsigned core_count;
static void (*when_open)(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct place place[MOST_CORES + 1];
static struct pollfd polled[MOST_FILES + 1]; /* while the event loop waits: what it waits for, behind `turn` */
static nfds_t polled_count;
static bool notified; /* a core has written to one of these */
static int turn;      /* eventfd: the event loop has the token */
static uint64_t last_ns, last_tsc; /* that were seen; their reader has the token */
static bool sets_ticks; /* else reads of the counter are trapped */

/* ---- clocks ---- */

/* QEMU's clocks do not go back; cores' do by some cycles, between one core and the next. */
static uint64_t not_back(uint64_t *last, uint64_t value)
{
	if (*last < value)
		*last = value;
	return *last;
}

static bool read_monotonic(struct timespec *time)
{
	if (token_self() == NOBODY)
		return false;
	uint64_t ns = not_back(&last_ns, moment_ns(token_clock(), model->khz));
	time->tv_sec = (time_t)(ns / 1000000000);
	time->tv_nsec = (long)(ns % 1000000000);
	return true;
}

static bool read_counter(uint64_t *value)
{
	if (token_self() == NOBODY)
		return false;
	*value = not_back(&last_tsc, moment_tsc(token_clock()));
	return true;
}

void virtual_time_counter(unsigned core)
{
	if (sets_ticks)
		ticks_set(not_back(&last_tsc, moment_tsc(clock_of(&event_turns.core[core]))));
}

bool virtual_time_sets_counter(void) { return sets_ticks; }

/* ---- conditions ---- */

static void waits_on(unsigned party, pthread_cond_t *cond)
{
	pthread_mutex_lock(&mutex);
	place[party].waits = cond;
	if (!place[party].halts)
		place[party].halts = cond;
	pthread_mutex_unlock(&mutex);
}

static void await_events_turn(void);

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *held)
{
	int party = token_self();
	if (party == NOBODY || (party == EVENTS && !token_is_open()))
		return original->cond_wait(cond, held);
	waits_on((unsigned)party, cond);
	if (!token_is_open()) {
		place[party].arrived = true;
		int status = original->cond_wait(cond, held);
		if (!token_is_open())
			return status;
	} else {
		token_block(NEVER);
	}
	pthread_mutex_unlock(held); /* the one that has the token may need it */
	if (party == EVENTS)
		await_events_turn();
	else
		token_await((unsigned)party);
	waits_on((unsigned)party, NULL);
	pthread_mutex_lock(held);
	return 0;
}

/* Wakes the parties that wait on it; a core that is to halt because of it, and spins, gets an interrupt. */
static void cond_wake(pthread_cond_t *cond)
{
	if (!token_is_open())
		return;
	unsigned woken[MOST_CORES + 1], count = 0;
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < core_count; i++)
		if (place[i].waits == cond || (!place[i].waits && place[i].halts == cond))
			woken[count++] = i;
	if (place[EVENTS].waits == cond)
		woken[count++] = EVENTS;
	pthread_mutex_unlock(&mutex);
	for (unsigned i = 0; i < count; i++)
		if ((int)woken[i] != token_self())
			token_wake(woken[i], model->price.ipi);
}

/* ---- the event loop's files ---- */

/*
 * A signal to any thread of the process wakes the threads that poll a signalfd, whatever signals that is for: each
 * RDTSC that is trapped would cost two switches between threads. The event loop looks at its signalfd in its turns
 * only.
 */
static bool is_signalfd(int file)
{
	static const char name[] = "anon_inode:[signalfd]";
	static enum { UNKNOWN, OTHER, SIGNALS } known[MOST_FILES]; /* by file; it is opened once */
	char path[64], target[sizeof(name)];
	if (file < 0 || file >= MOST_FILES)
		return false;
	if (known[file] == UNKNOWN) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
		ssize_t size = readlink(path, target, sizeof(target));
		known[file] = size == sizeof(name) - 1 && !memcmp(target, name, sizeof(name) - 1) ? SIGNALS : OTHER;
	}
	return known[file] == SIGNALS;
}

static void keep_polled(const struct pollfd *files, nfds_t count)
{
	memcpy(polled + 1, files, count * sizeof(*files));
	polled_count = count;
	for (nfds_t i = 1; i <= count; i++)
		if (is_signalfd(polled[i].fd))
			polled[i].fd = -1;
}

static void wake_events(void)
{
	uint64_t one = 1;
	while (original->write(turn, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* A core that writes to a file that the event loop waits for (an eventfd: a timer or a bottom half of QEMU's) wakes it
 * now. */
static void file_written(int file, size_t size)
{
	int party = token_self();
	bool wakes = false;
	if (size != sizeof(uint64_t) || party == NOBODY || party == EVENTS)
		return;
	pthread_mutex_lock(&mutex);
	for (nfds_t i = 1; i <= polled_count; i++)
		wakes |= polled[i].fd == file && polled[i].events & POLLIN;
	notified |= wakes;
	pthread_mutex_unlock(&mutex);
	if (wakes)
		token_wake(EVENTS, 0);
}

static void forget_turn(void)
{
	uint64_t count;
	while (read(turn, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

/* Waits for the token. An event from outside has no moment meanwhile: a turn is asked for. */
static void await_events_turn(void)
{
	struct pollfd wait[MOST_FILES + 1];
	pthread_mutex_lock(&mutex);
	nfds_t count = polled_count + 1;
	memcpy(wait, polled, count * sizeof(*wait));
	pthread_mutex_unlock(&mutex);
	wait[0] = (struct pollfd){ turn, POLLIN, 0 };
	while (!token_events_turn()) {
		int ready = original->poll(wait, count, NULL, NULL);
		if (ready < 0 || wait[0].revents) /* a signal: snapshot.c */
			continue;
		count = 1;
		pthread_mutex_lock(&mutex);
		bool outside = !notified;
		pthread_mutex_unlock(&mutex);
		if (outside)
			token_ask();
	}
	forget_turn();
}

/* All cores' threads are there and wait, so that what happens from now on has an order. */
static void open_if_all_arrived(void)
{
	const struct timespec pause = { 0, ARRIVAL_MS * 1000000 };
	for (unsigned look = 0, arrived = 0; look < ARRIVALS; look++, arrived = 0) {
		for (unsigned i = 0; i < core_count; i++)
			arrived += place[i].arrived;
		if (arrived == core_count) {
			when_open();
			token_open();
			return;
		}
		nanosleep(&pause, NULL);
	}
}

static int poll_files(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	static const struct timespec at_once;
	if (token_self() != EVENTS || count > MOST_FILES)
		return original->poll(files, count, timeout, mask);
	if (!token_is_open())
		open_if_all_arrived();
	if (!token_is_open())
		return original->poll(files, count, timeout, mask);
	int ready = original->poll(files, count, &at_once, mask);
	if (ready || (timeout && !timeout->tv_sec && !timeout->tv_nsec))
		return ready;
	uint64_t until = NEVER;
	if (timeout) {
		uint64_t ns = moment_ns(token_clock(), model->khz) + (uint64_t)timeout->tv_sec * 1000000000 +
		         (uint64_t)timeout->tv_nsec;
		until = moment_from_ns(ns, model->khz);
	}
	pthread_mutex_lock(&mutex);
	keep_polled(files, count);
	notified = false;
	pthread_mutex_unlock(&mutex);
	token_block(until);
	await_events_turn();
	pthread_mutex_lock(&mutex);
	polled_count = 0;
	pthread_mutex_unlock(&mutex);
	return original->poll(files, count, &at_once, mask);
}

/* ---- */

void virtual_time_arrived(unsigned core) { place[core].arrived = true; }

static bool take_counter(bool traps)
{
	struct ticks *ticks = (struct ticks *)dlsym(RTLD_DEFAULT, "timers_state");
	int64_t (*get)(void) = (int64_t(*)(void))dlsym(RTLD_DEFAULT, "cpu_get_ticks");
	sets_ticks = !traps && ticks_take(ticks, get);
	return sets_ticks || trap_counter(read_counter);
}

const char *virtual_time_take(const struct machine *machine, unsigned cores, bool traps, void (*open)(void))
{
	static const struct hooks hooks = {
		.monotonic = read_monotonic, .poll = poll_files, .cond_wait = cond_wait, .cond_wake = cond_wake,
		.write = file_written,
	};
	preload_take_fn take = (preload_take_fn)dlsym(RTLD_DEFAULT, PRELOAD_TAKE);
	if (!take)
		return "LD_PRELOAD must name modelled-preload.so";
	if ((turn = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		return strerror(errno);
	model = machine;
	core_count = cores;
	when_open = open;
	token_wake_events = wake_events;
	token_join(EVENTS);
	if (!take_counter(traps))
		return "the host does not trap its time-stamp counter (PR_SET_TSC)";
	original = take(&hooks); /* QEMU does not look at a clock between the two */
	return NULL;
}
