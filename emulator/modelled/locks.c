/* SPDX-License-Identifier: BSD-2-Clause */
#include "locks.h"
#include <stdlib.h>
#include <string.h>
#include <skerry/require.h>
#include "table.h"

enum { MOST_HELD = 96, NODE_SIZE = 64 };

struct sums {
	uint64_t acquisitions, conflicts, handovers, wait, wait_max, hold, hold_max;
	uint64_t lock_moves;   /* of the lock's own lines */
	uint64_t inside_moves; /* of others, while it is held */
	uint64_t handover;     /* from when it is wanted and free until its next holder has it */
};

struct lock {
	uint64_t physical; /* first: the table's */
	uint64_t address;
	unsigned last_holder; /* + 1 */
	uint64_t released;
	struct sums sums;
};

enum phase { TENTATIVE, WAITS, HOLDS }; /* TENTATIVE: an atomic addition, which may be a ticket */

struct acquisition {
	struct lock *lock;
	enum phase phase;
	bool conflict;
	unsigned kind;
	uint64_t wanted, acquired;
	uint64_t ticket;
	uint64_t mine, before; /* nodes of clh and mcs, virtual */
};

struct watched {
	struct acquisition acquisition[MOST_HELD];
	unsigned acquisitions;
	uint64_t exchanged; /* what the load of a locked instruction gave */
	uint64_t taken;     /* locks that it has got so far */
	unsigned kind;
};

static enum lock_protocol protocol;
static uint64_t tail;
static struct watched *cores;
static unsigned core_count;
static struct table locks;
static struct {
	uint64_t entries, moves;
	struct sums sums;
} kinds[LOCK_KINDS];

static struct lock *lock_at(const struct lock_access *a)
{
	struct lock *lock = table_find(&locks, a->physical);
	if (!lock) {
		lock = table_add(&locks, a->physical, sizeof(*lock));
		lock->address = a->address;
	}
	return lock;
}

void locks_make(enum lock_protocol wanted, uint64_t tail_address, unsigned count)
{
	protocol = wanted;
	tail = tail_address;
	table_make(&locks);
	core_count = count;
	cores = allocate(count * sizeof(*cores));
	for (unsigned i = 0; i < count; i++)
		cores[i].kind = KIND_UNKNOWN;
}

void locks_free(void)
{
	table_free(&locks, NULL);
	free(cores);
}

/* ---- what happens to a lock ---- */

static void acquisition_drop(struct watched *core, struct acquisition *acquisition)
{
	require(acquisition >= core->acquisition && acquisition < core->acquisition + core->acquisitions);
	memmove(acquisition, acquisition + 1,
	        (size_t)(&core->acquisition[core->acquisitions] - (acquisition + 1)) * sizeof(*acquisition));
	core->acquisitions--;
}

static struct acquisition *acquisition_want(struct watched *core, const struct lock_access *a, enum phase phase)
{
	require(core->acquisitions <= MOST_HELD && core->kind < LOCK_KINDS);
	if (core->acquisitions == MOST_HELD)
		acquisition_drop(core, &core->acquisition[0]); /* it is none */
	struct acquisition *acquisition = &core->acquisition[core->acquisitions++];
	*acquisition = (struct acquisition){ .lock = NULL, .phase = phase, .kind = core->kind, .wanted = a->before };
	return acquisition;
}

static void add_wait(struct sums *to, const struct acquisition *acquisition, bool handover)
{
	uint64_t wait = acquisition->acquired - acquisition->wanted, released = acquisition->lock->released;
	uint64_t free_since = released > acquisition->wanted ? released : acquisition->wanted;
	require(free_since <= acquisition->acquired);
	to->acquisitions++;
	to->conflicts += acquisition->conflict;
	to->handovers += handover;
	to->wait += wait;
	to->handover += acquisition->acquired - free_since;
	if (wait > to->wait_max)
		to->wait_max = wait;
}

static void lock_acquired(unsigned core, struct acquisition *acquisition, uint64_t now)
{
	struct lock *lock = acquisition->lock;
	require(acquisition->phase != HOLDS && acquisition->kind < LOCK_KINDS);
	bool handover = lock->last_holder && lock->last_holder != core + 1;
	acquisition->phase = HOLDS;
	acquisition->acquired = now;
	lock->last_holder = core + 1;
	cores[core].taken++;
	add_wait(&lock->sums, acquisition, handover);
	add_wait(&kinds[acquisition->kind].sums, acquisition, handover);
}

static void add_hold(struct sums *to, uint64_t hold)
{
	to->hold += hold;
	if (hold > to->hold_max)
		to->hold_max = hold;
}

static void lock_released(struct watched *core, struct acquisition *acquisition, uint64_t now)
{
	require(acquisition->phase == HOLDS && acquisition->lock);
	acquisition->lock->released = now;
	add_hold(&acquisition->lock->sums, now - acquisition->acquired);
	add_hold(&kinds[acquisition->kind].sums, now - acquisition->acquired);
	acquisition_drop(core, acquisition);
}

/* ---- protocols ---- */

static void ticket_access(struct watched *core, const struct lock_access *a)
{
	if (a->atomic && !a->store && a->size == 4) {
		struct acquisition *acquisition = acquisition_want(core, a, TENTATIVE);
		acquisition->lock = lock_at(a);
		acquisition->ticket = a->value;
		return;
	}
	for (unsigned i = core->acquisitions; i-- > 0;) {
		struct acquisition *acquisition = &core->acquisition[i];
		bool serving = a->physical == acquisition->lock->physical + 4 && a->size == 4;
		if (acquisition->phase == TENTATIVE && a->physical == acquisition->lock->physical && a->store)
			return; /* the addition's own */
		if (acquisition->phase == TENTATIVE && (!serving || a->store)) {
			acquisition_drop(core, acquisition);
		} else if (serving && acquisition->phase == HOLDS && a->store) {
			lock_released(core, acquisition, a->before);
			return;
		} else if (serving && acquisition->phase != HOLDS && !a->store) {
			acquisition->phase = WAITS;
			if (a->value == acquisition->ticket)
				lock_acquired(a->core, acquisition, a->after);
			else
				acquisition->conflict = true;
			return;
		}
	}
}

static bool is_in_node(uint64_t address, uint64_t node) { return node && address - node < NODE_SIZE; }

/* The exchange with the tail; true if that is what the access is. */
static bool tail_exchange(struct watched *core, const struct lock_access *a)
{
	if (!a->atomic || a->address != tail || a->size != 8)
		return false;
	if (!a->store) {
		core->exchanged = a->value;
		return true;
	}
	struct acquisition *acquisition = core->acquisitions ? &core->acquisition[0] : NULL;
	/* of mcs: CMPXCHG, which gives the lock up if the tail was its own */
	if (acquisition && acquisition->phase == HOLDS) {
		if (core->exchanged == acquisition->mine)
			lock_released(core, acquisition, a->before);
		return true;
	}
	core->acquisitions = 0;
	acquisition = acquisition_want(core, a, WAITS);
	acquisition->lock = lock_at(a);
	acquisition->mine = a->value;
	acquisition->before = core->exchanged;
	if (protocol == PROTOCOL_MCS && !acquisition->before)
		lock_acquired(a->core, acquisition, a->after);
	return true;
}

static void queue_access(struct watched *core, const struct lock_access *a)
{
	if (tail_exchange(core, a) || !core->acquisitions)
		return;
	struct acquisition *acquisition = &core->acquisition[0];
	bool clh = protocol == PROTOCOL_CLH, own = is_in_node(a->address, acquisition->mine),
	     other = is_in_node(a->address, acquisition->before);
	if (acquisition->phase == WAITS && a->size == 4 && !a->store && (clh ? other : own)) {
		if (a->value)
			acquisition->conflict = true;
		else
			lock_acquired(a->core, acquisition, a->after);
	} else if (acquisition->phase == HOLDS && a->size == 4 && a->store && !a->value && (clh ? own : other)) {
		lock_released(core, acquisition, a->before);
	} else if (acquisition->phase == HOLDS && !clh && own && a->size == 8 && !a->store && a->value) {
		acquisition->before = a->value; /* mcs: its successor */
	}
}

bool locks_access(const struct lock_access *access)
{
	require(access->core < core_count);
	struct watched *core = &cores[access->core];
	uint64_t taken = core->taken;
	if (protocol == PROTOCOL_TICKET)
		ticket_access(core, access);
	else
		queue_access(core, access);
	return core->taken != taken;
}

/* ---- lines and entries ---- */

static bool is_own_line(const struct acquisition *acquisition, uint64_t line, uint64_t address)
{
	uint64_t virtual = address & ~63ull;

	return acquisition->lock->physical >> 6 == line || virtual == (acquisition->mine & ~63ull) ||
	       virtual == (acquisition->before & ~63ull);
}

void locks_moved(unsigned number, uint64_t line, uint64_t address)
{
	struct watched *core = &cores[number];
	kinds[core->kind].moves++;
	if (!core->acquisitions)
		return;
	struct acquisition *acquisition = &core->acquisition[core->acquisitions - 1];
	bool own = acquisition->phase != HOLDS || is_own_line(acquisition, line, address);
	*(own ? &acquisition->lock->sums.lock_moves : &acquisition->lock->sums.inside_moves) += 1;
	*(own ? &kinds[acquisition->kind].sums.lock_moves : &kinds[acquisition->kind].sums.inside_moves) += 1;
}

void locks_entered(unsigned core, unsigned kind)
{
	cores[core].kind = kind < LOCK_KINDS ? kind : KIND_UNKNOWN;
	kinds[cores[core].kind].entries++;
}

void locks_reset(void)
{
	memset(kinds, 0, sizeof(kinds));
	for (uint64_t i = 0; i < locks.slots; i++)
		if (locks.slot[i])
			((struct lock *)locks.slot[i])->sums = (struct sums){ 0 };
}

/* ---- the result ---- */

static int compare_heat(const void *a, const void *b)
{
	const struct lock *x = *(struct lock *const *)a, *y = *(struct lock *const *)b;
	uint64_t of_x = x->sums.acquisitions, of_y = y->sums.acquisitions;
	return of_x != of_y ? (of_x < of_y) - (of_x > of_y) : (x->physical > y->physical) - (x->physical < y->physical);
}

#define NUMBER(value) (unsigned long long)(value)

static void write_sums(FILE *out, const struct sums *s)
{
	fprintf(out, "\"acquisitions\":%llu,\"conflicts\":%llu,\"handovers\":%llu,\"wait\":%llu,\"wait_max\":%llu,",
	        NUMBER(s->acquisitions), NUMBER(s->conflicts), NUMBER(s->handovers), NUMBER(s->wait / UNIT),
	        NUMBER(s->wait_max / UNIT));
	fprintf(out, "\"hold\":%llu,\"hold_max\":%llu,\"lock_moves\":%llu,\"inside_moves\":%llu,\"handover\":%llu",
	        NUMBER(s->hold / UNIT), NUMBER(s->hold_max / UNIT), NUMBER(s->lock_moves), NUMBER(s->inside_moves),
	        NUMBER(s->handover / UNIT));
}

void locks_write(FILE *out)
{
	void **sorted = table_sorted(&locks, compare_heat);
	const struct lock *lock;
	fputs("\"locks\":[", out);
	for (uint64_t i = 0; (lock = sorted[i]) && lock->sums.acquisitions; i++) {
		fprintf(out, "%s{\"physical\":%llu,\"address\":%llu,", i ? "," : "", NUMBER(lock->physical),
		        NUMBER(lock->address));
		write_sums(out, &lock->sums);
		fputs("}", out);
	}
	fputs("],\"kinds\":[", out);
	const char *between = "";
	for (unsigned i = 0; i < LOCK_KINDS; i++)
		if (kinds[i].entries || kinds[i].sums.acquisitions) {
			fprintf(out, "%s{\"kind\":%u,\"entries\":%llu,\"moves\":%llu,", between, i,
			        NUMBER(kinds[i].entries), NUMBER(kinds[i].moves));
			write_sums(out, &kinds[i].sums);
			fputs("}", out);
			between = ",";
		}
	fputs("]", out);
	free(sorted);
}
