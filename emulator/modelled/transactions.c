/* SPDX-License-Identifier: BSD-2-Clause */
#include "transactions.h"
#include <stdlib.h>
#include <string.h>
#include <skerry/require.h>

enum { READERS = 2 };

/* A transaction that touched a line. */
struct toucher {
	unsigned core;
	struct span span; /* from when it touched the line to its end */
};

/* The last to write a line, and the two cores that read it last: one of them is not the core that asks. */
struct record {
	uint64_t line; /* first: the table's */
	struct toucher writer, reader[READERS];
};

static uint64_t hash_line(uint64_t line) { return (line * 0x9e3779b97f4a7c15) >> 20; }

void transactions_make(struct transactions *all, const struct machine *machine, const uint16_t *kernel)
{
	*all = (struct transactions){ .machine = machine, .cores = (unsigned)machine->cores };
	all->kernel = allocate(all->cores * sizeof(*all->kernel));
	all->lock = allocate(MOST_CORES * sizeof(*all->lock));
	all->core = allocate(all->cores * sizeof(*all->core));
	memcpy(all->kernel, kernel, all->cores * sizeof(*all->kernel));
	table_make(&all->records);
}

void transactions_free(struct transactions *all)
{
	table_free(&all->records, NULL);
	free(all->core);
	free(all->lock);
	free(all->kernel);
}

static struct record *record_of(struct transactions *all, uint64_t line)
{
	return table_add(&all->records, line, sizeof(struct record));
}

/* ---- aborts ---- */

static struct span *lock_of(struct transactions *all, unsigned core)
{
	require(core < all->cores && all->kernel[core] < MOST_CORES);
	return &all->lock[all->kernel[core]];
}

static void count_abort(struct transaction *t, enum abort_reason reason, uint64_t lost)
{
	t->counts.aborted[reason]++;
	t->counts.lost += lost;
}

/* The core's transaction, which is over, was aborted at `when` after all, and made again. */
static void owe_abort(const struct transactions *all, struct transaction *t, enum abort_reason reason, uint64_t when)
{
	uint64_t lost = (when > t->last.from ? when - t->last.from : 0) + all->machine->price.transaction_abort;
	t->owed += lost;
	t->last.from = t->last.until = 0; /* once is enough */
	t->counts.begun++;
	count_abort(t, reason, lost);
}

/* The core takes the lock at `when`: transactions that have read it abort. */
static void abort_others(struct transactions *all, unsigned core, uint64_t when)
{
	for (unsigned i = 0; i < all->cores; i++)
		if (i != core && all->kernel[i] == all->kernel[core] && all->core[i].last.from < when &&
		    when < all->core[i].last.until)
			owe_abort(all, &all->core[i], BY_LOCK, when);
}

/* Falls back to the lock at `when`. Returns when the entry begins with it: the lock's line comes from another core. */
static uint64_t take_lock(struct transactions *all, unsigned core, uint64_t when)
{
	struct span *lock = lock_of(all, core);
	struct transaction *t = &all->core[core];
	uint64_t start = when > lock->until ? when : lock->until;
	require(!t->locked && start >= when);
	t->counts.lost += start - when;
	t->counts.fallbacks++;
	t->locked = true;
	start += all->machine->price.transfer_cluster + all->machine->price.atomic;
	abort_others(all, core, start);
	*lock = (struct span){ start, UINT64_MAX };
	return start;
}

/* The running transaction is aborted at `when`. Returns when the next attempt, or the entry with the lock, begins. */
static uint64_t abort_at(struct transactions *all, unsigned core, enum abort_reason reason, uint64_t when)
{
	const struct prices *price = &all->machine->price;
	struct transaction *t = &all->core[core];
	require(t->runs && !t->locked);
	count_abort(t, reason, when - t->began + price->transaction_abort);
	when += price->transaction_abort;
	t->attempts = reason == BY_CAPACITY || !t->attempts ? 0 : t->attempts - 1;
	if (!t->attempts)
		return t->began = take_lock(all, core, when);
	t->counts.begun++;
	return t->began = when;
}

/* ---- the begin ---- */

uint64_t transaction_begin(struct transactions *all, unsigned core, unsigned attempts, uint64_t now)
{
	const struct prices *price = &all->machine->price;
	struct transaction *t = &all->core[core];
	const struct span *lock = lock_of(all, core);
	uint64_t begin = now + t->owed;
	t->owed = 0;
	t->counts.begun++;
	if (lock->from <= begin && begin < lock->until) { /* it sees the lock held, and waits: that is no attempt */
		uint64_t free = lock->until + price->transfer_cluster;
		count_abort(t, BY_LOCK, free - begin);
		t->counts.begun++;
		begin = free;
	}
	t->runs = true;
	t->locked = false;
	t->attempts = attempts;
	t->began = begin;
	for (unsigned i = 0; i < t->members; i++) {
		uint64_t at = hash_line(t->member[i].line) % SET_SLOTS;
		while (t->slot[at]) {
			t->slot[at] = 0;
			at = (at + 1) % SET_SLOTS;
		}
	}
	t->members = 0;
	return begin - now + price->transaction_begin;
}

/* ---- what it touches ---- */

/* More than the caches hold back: L1 what it wrote, L2 all of it. */
static bool set_overflows(const struct transactions *all, const struct transaction *t, const struct member *added)
{
	const struct cache_shape *l1 = &all->machine->l1, *l2 = &all->machine->l2;
	unsigned written = 0, touched = 0;
	for (unsigned i = 0; i < t->members; i++) {
		const struct member *m = &t->member[i];
		written += m->wrote && m->line % l1->sets == added->line % l1->sets;
		touched += m->line % l2->sets == added->line % l2->sets;
	}
	return (added->wrote && written > l1->ways) || touched > l2->ways || t->members == MOST_SET;
}

uint64_t transaction_touch(struct transactions *all, unsigned core, uint64_t line, bool store, uint64_t now)
{
	struct transaction *t = &all->core[core];
	uint64_t at = hash_line(line) % SET_SLOTS;
	require(t->runs && t->members <= MOST_SET);
	while (t->slot[at] && t->member[t->slot[at] - 1].line != line)
		at = (at + 1) % SET_SLOTS;
	if (!t->slot[at]) {
		if (t->members == MOST_SET)
			return 0; /* the last one was an overflow */
		t->member[t->members] = (struct member){ .line = line, .after = now - t->began };
		t->slot[at] = (uint16_t)++t->members;
	} else if (!store || t->member[t->slot[at] - 1].wrote) {
		return 0;
	}
	struct member *m = &t->member[t->slot[at] - 1];
	m->wrote |= store;
	if (t->locked || !set_overflows(all, t, m))
		return 0;
	uint64_t done = now - t->began;
	return abort_at(all, core, BY_CAPACITY, now) + done - now;
}

/* The transaction reaches a line at `when` that `other` has until its end. Returns when it reaches it afterwards. */
static uint64_t toucher_meet(struct transactions *all, unsigned core, const struct toucher *other, uint64_t when)
{
	struct transaction *t = &all->core[core];
	uint64_t after = when - t->began, both = other->span.from;
	while (!t->locked && when < other->span.until) {
		when = abort_at(all, core, BY_CONFLICT, when > both ? when : both) + after;
		both = 0;
	}
	return when;
}

static bool toucher_meets(const struct toucher *other, unsigned core, uint64_t when)
{
	return other->core != core && when < other->span.until;
}

uint64_t transaction_moved(struct transactions *all, const struct movement *movement)
{
	struct record *record = table_find(&all->records, movement->line);
	struct transaction *t = &all->core[movement->core];
	if (!record || t->locked)
		return 0;
	uint64_t when = movement->when;
	struct toucher *other[1 + READERS] = { &record->writer, &record->reader[0], &record->reader[1] };
	for (unsigned i = 0; i < (movement->store ? 1 + READERS : 1); i++) {
		if (!toucher_meets(other[i], movement->core, when))
			continue;
		if (t->runs)
			when = toucher_meet(all, movement->core, other[i], when);
		else if (all->core[other[i]->core].last.until == other[i]->span.until)
			owe_abort(all, &all->core[other[i]->core], BY_CONFLICT, when);
	}
	uint64_t later = when - movement->when; /* the line is under way to no core by then */
	return later > movement->queued ? later - movement->queued : 0;
}

/* ---- the end ---- */

static void add_toucher(struct record *record, const struct toucher *added, bool wrote)
{
	struct toucher *to = &record->writer;
	if (!wrote) {
		to = &record->reader[0];
		if (to->core != added->core &&
		    (record->reader[1].core == added->core || record->reader[1].span.until < to->span.until))
			to = &record->reader[1];
	}
	require(added->core < MOST_CORES && added->span.from <= added->span.until);
	if (to->span.until <= added->span.until || to->core == added->core)
		*to = *added;
}

uint64_t transaction_commit(struct transactions *all, unsigned core, uint64_t now)
{
	const struct prices *price = &all->machine->price;
	struct transaction *t = &all->core[core];
	struct span *lock = lock_of(all, core);
	if (!t->runs)
		return 0;
	uint64_t end = now + (t->locked ? 0 : price->transaction_commit);
	if (!t->locked && lock->from < end && t->began < lock->until) { /* a fallback has aborted it */
		uint64_t length = end - t->began, begin = lock->until + price->transfer_cluster;
		count_abort(t, BY_LOCK, begin - t->began);
		t->counts.begun++;
		t->began = begin;
		end = begin + length;
	}
	for (unsigned i = 0; i < t->members; i++) {
		const struct member *m = &t->member[i];
		add_toucher(record_of(all, m->line), &(struct toucher){ core, { t->began + m->after, end } }, m->wrote);
	}
	t->last = (struct span){ t->began, end };
	t->runs = false;
	if (t->locked)
		lock->until = end;
	else
		t->counts.committed++;
	t->locked = false;
	require(end >= now);
	return end - now;
}

uint64_t transaction_lock_held(struct transactions *all, unsigned core, uint64_t now)
{
	struct transaction *t = &all->core[core];
	uint64_t price = all->machine->price.transaction_abort;
	t->runs = false;
	count_abort(t, BY_LOCK, now - t->began + price);
	return price;
}

uint64_t transaction_irrevocable(struct transactions *all, unsigned core, uint64_t now)
{
	struct transaction *t = &all->core[core];
	const struct span *lock = lock_of(all, core);
	t->runs = false;
	if (t->locked) { /* it fell back before: the one lock ends where the other begins */
		t->locked = false;
		lock_of(all, core)->until = now;
		return 0;
	}
	uint64_t done = now - t->began, again = now + all->machine->price.transaction_abort;
	count_abort(t, BY_IRREVOCABLE, again - t->began);
	t->counts.fallbacks++;
	if (lock->until > again)
		again = lock->until;
	abort_others(all, core, again);
	return again + done - now;
}

/* ---- the result ---- */

void transactions_reset(struct transactions *all)
{
	for (unsigned i = 0; i < all->cores; i++)
		all->core[i].counts = (struct transaction_counts){ .begun = all->core[i].runs };
}

void transactions_write(FILE *out, const struct transactions *all)
{
	static const char *const names[] = { "lock", "capacity", "conflict", "irrevocable" };
	struct transaction_counts sum = { 0 };
	for (unsigned i = 0; i < all->cores; i++) {
		const struct transaction_counts *c = &all->core[i].counts;
		sum.begun += c->begun;
		sum.committed += c->committed;
		sum.fallbacks += c->fallbacks;
		sum.lost += c->lost;
		for (unsigned reason = 0; reason < ABORT_REASONS; reason++)
			sum.aborted[reason] += c->aborted[reason];
	}
	fprintf(out, "{\"begun\":%llu,\"committed\":%llu,\"fallbacks\":%llu,\"lost\":%llu",
	        (unsigned long long)sum.begun, (unsigned long long)sum.committed, (unsigned long long)sum.fallbacks,
	        (unsigned long long)(sum.lost / UNIT));
	for (unsigned reason = 0; reason < ABORT_REASONS; reason++)
		fprintf(out, ",\"aborted_%s\":%llu", names[reason], (unsigned long long)sum.aborted[reason]);
	fputs("}", out);
}
