/* SPDX-License-Identifier: BSD-2-Clause */
#include "atomics.h"
#include <string.h>
#include "engine.h"

struct write {
	uint64_t value;
	write_name name;
	uint16_t next;     /* in modification order; 0: last */
	uint16_t position; /* in it */
	bool read_by_rmw;  /* its successor is a read-modify-write of it: nothing goes between */
	struct view view;  /* released */
};

struct location {
	uint64_t address;
	uint8_t size;
	bool gone;
	uint16_t first, last;
	uint16_t sequential; /* the last sequentially consistent write, 0: none */
};

static struct location location[LOCATIONS];
static struct write writes[WRITES];
static unsigned location_count, write_count;
static struct view view[EXPLORE_THREADS], drained[EXPLORE_THREADS];
static uint16_t made[EXPLORE_THREADS]; /* writes */
static uint64_t history[EXPLORE_THREADS]; /* a hash of what it did */
static uint64_t history_at_turn[EXPLORE_THREADS];

void memory_start(void)
{
	location_count = 0;
	write_count = 1;
	memset(view, 0, sizeof(view));
	memset(drained, 0, sizeof(drained));
	memset(made, 0, sizeof(made));
	memset(history, 0, sizeof(history));
	memset(history_at_turn, 0, sizeof(history_at_turn));
	for (unsigned t = 0; t < EXPLORE_THREADS; t++)
		view[t].clock[t] = 1;
}

static uint64_t load_plain(uint64_t address, unsigned size)
{
	uint64_t value = 0;
	memcpy(&value, (const void *)address, size);
	return value;
}

static struct location *find(uint64_t address)
{
	for (unsigned i = 0; i < location_count; i++)
		if (location[i].address == address && !location[i].gone)
			return &location[i];
	return 0;
}

static uint16_t new_write(uint64_t value, write_name name)
{
	if (write_count == WRITES)
		explore_fail("the case writes too often for the explorer");
	struct write *w = &writes[write_count];
	*w = (struct write){ .value = value, .name = name };
	return write_count++;
}

/* What is at a place when it is first used atomically is its first write, and everybody's. */
static struct location *place(uint64_t address, unsigned size)
{
	struct location *l = find(address);
	if (l) {
		if (l->size != size)
			explore_fail("atomic accesses of different sizes to one place");
		return l;
	}
	if (location_count == LOCATIONS)
		explore_fail("too many atomic locations for the explorer");
	l = &location[location_count++];
	*l = (struct location){ .address = address, .size = size };
	l->first = l->last = new_write(load_plain(address, size), 0);
	return l;
}

static unsigned index_of(const struct location *l) { return l - location; }

static uint16_t later(uint16_t a, uint16_t b) { return writes[a].position > writes[b].position ? a : b; }

static void join(struct view *to, const struct view *from)
{
	for (unsigned i = 0; i < location_count; i++)
		if (from->seen[i])
			to->seen[i] = to->seen[i] ? later(to->seen[i], from->seen[i]) : from->seen[i];
	for (unsigned t = 0; t < EXPLORE_THREADS; t++)
		if (from->clock[t] > to->clock[t])
			to->clock[t] = from->clock[t];
}

/* The oldest write that the access may touch; one that exchanges nothing may have a weaker order. */
static uint16_t oldest(unsigned thread, const struct location *l, bool sequential)
{
	uint16_t from = view[thread].seen[index_of(l)];
	if (!from)
		from = l->first;
	return sequential && l->sequential ? later(from, l->sequential) : from;
}

/* Whether the access may read this write, or a store follow it; `first`: the oldest where it exchanges. */
static bool fits(const struct op *op, const struct write *w, const struct write *first)
{
	switch (op->kind) {
	case OP_LOAD: return true;
	case OP_CAS: return w->value != op->expected || (!w->read_by_rmw && w->position >= first->position);
	default: return !w->read_by_rmw;
	}
}

unsigned memory_choices(unsigned thread, const struct op *op, write_name choice[CHOICES])
{
	struct location *l = place(op->address, op->size);
	unsigned count = 0;
	const struct write *first = &writes[oldest(thread, l, op->sequential)];
	bool sequential = op->kind == OP_CAS ? op->failed_sequential : op->sequential;
	for (uint16_t w = oldest(thread, l, sequential); w; w = writes[w].next) {
		if (!fits(op, &writes[w], first))
			continue;
		if (count == CHOICES)
			explore_fail("too many values to choose from for the explorer");
		choice[count++] = writes[w].name;
	}
	return count;
}

static uint16_t by_name(const struct location *l, write_name name)
{
	uint16_t w = l->first;
	while (w && writes[w].name != name)
		w = writes[w].next;
	return w;
}

static void insert(struct location *l, uint16_t after, uint16_t w)
{
	writes[w].next = writes[after].next;
	writes[after].next = w;
	for (uint16_t i = w, position = writes[after].position + 1; i; i = writes[i].next)
		writes[i].position = position++;
	if (l->last == after) {
		l->last = w;
		plain_record(l->address, l->size);
		memcpy((void *)l->address, &writes[w].value, l->size);
	}
}

static uint64_t combine(const struct op *op, uint64_t old)
{
	switch (op->rmw) {
	case RMW_ADD: return old + op->operand;
	case RMW_SUB: return old - op->operand;
	case RMW_AND: return old & op->operand;
	case RMW_OR: return old | op->operand;
	case RMW_XOR: return old ^ op->operand;
	case RMW_NAND: return ~(old & op->operand);
	default: return op->operand;
	}
}

static void read(unsigned thread, const struct location *l, uint16_t w, bool acquire)
{
	view[thread].seen[index_of(l)] = w;
	if (acquire)
		join(&view[thread], &writes[w].view);
}

static void write(unsigned thread, struct op *op, struct location *l, uint16_t after, uint64_t value)
{
	uint64_t mask = l->size == 8 ? ~0ull : (1ull << 8 * l->size) - 1;
	uint16_t w = new_write(value & mask, (uint32_t)(thread + 1) << 16 | ++made[thread]);
	bool rmw = op->kind != OP_STORE;
	insert(l, after, w);
	view[thread].seen[index_of(l)] = w;
	if (op->release)
		writes[w].view = op->drained ? drained[thread] : view[thread];
	else
		writes[w].view.seen[index_of(l)] = w;
	if (rmw) { /* a release sequence goes on */
		join(&writes[w].view, &writes[after].view);
		writes[after].read_by_rmw = true;
	}
	if (op->sequential)
		l->sequential = l->sequential ? later(l->sequential, w) : w;
	if (!op->drained && (rmw || op->sequential))
		drained[thread] = view[thread];
	view[thread].clock[thread]++;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

void memory_turn(unsigned thread, bool again)
{
	if (again)
		history[thread] = history_at_turn[thread];
	else
		history_at_turn[thread] = history[thread];
}

uint64_t memory_identity(void)
{
	uint64_t all = 0;
	for (unsigned t = 0; t < EXPLORE_THREADS; t++)
		all = mix(all, history[t]);
	for (unsigned i = 0; i < location_count; i++) { /* numbered as the schedule came to them: any order */
		uint64_t order = location[i].address;
		for (uint16_t w = location[i].first; w; w = writes[w].next)
			order = mix(order, writes[w].name);
		all += mix(order, order >> 32);
	}
	return all;
}

void memory_apply(unsigned thread, struct op *op, write_name choice)
{
	struct location *l = place(op->address, op->size);
	uint16_t w = by_name(l, choice);
	/* a store reads nothing: where it stands is in the order of writes */
	history[thread] = mix(mix(history[thread], op->address * 4 + op->kind), op->kind == OP_STORE ? 0 : choice + 1);
	op->value = writes[w].value;
	op->exchanged = op->kind != OP_CAS || op->value == op->expected;
	if (op->kind != OP_STORE)
		read(thread, l, w, op->exchanged ? op->acquire : op->failed_acquire);
	if (op->kind != OP_LOAD && op->exchanged)
		write(thread, op, l, w, op->kind == OP_RMW ? combine(op, op->value) : op->operand);
}

void memory_apply_alone(struct op *op)
{
	op->value = load_plain(op->address, op->size);
	op->exchanged = op->kind != OP_CAS || op->value == op->expected;
	if (op->kind == OP_LOAD || !op->exchanged)
		return;
	uint64_t value = op->kind == OP_RMW ? combine(op, op->value) : op->operand;
	plain_record(op->address, op->size);
	memcpy((void *)op->address, &value, op->size);
}

void memory_forget(uint64_t address, uint64_t size)
{
	for (unsigned i = 0; i < location_count; i++)
		if (location[i].address < address + size && address < location[i].address + location[i].size)
			location[i].gone = true;
}

bool memory_ordered(unsigned thread, unsigned other, uint16_t clock) { return clock <= view[thread].clock[other]; }
uint16_t memory_clock(unsigned thread) { return view[thread].clock[thread]; }

write_name memory_last_seen(unsigned thread, uint64_t address)
{
	const struct location *l = find(address);
	uint16_t w = l ? view[thread].seen[index_of(l)] : 0;
	return w ? writes[w].name : 0;
}

bool memory_newer(uint64_t address, write_name than)
{
	const struct location *l = find(address);
	return l && writes[l->last].name != than;
}
