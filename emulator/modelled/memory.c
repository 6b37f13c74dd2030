/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <skerry/require.h>
#include "directory.h"
#include "geometry.h"

static void *zeroed(uint64_t count, size_t size)
{
	void *made = calloc(count, size);
	if (!made)
		abort();
	return made;
}

void memory_make(struct memory *memory, const struct machine *machine)
{
	*memory = (struct memory){ .machine = machine };
	require(machine->cores && machine->cores <= MOST_CORES && machine->clusters);
	require(machine->store_buffer <= STORES_MOST && machine->clusters <= machine->cores);
	memory->core_words = set_words(machine->cores);
	memory->cluster_words = set_words(machine->clusters);
	memory->core = zeroed(machine->cores, sizeof(*memory->core));
	memory->l3 = zeroed(machine->clusters, sizeof(*memory->l3));
	memory->warm = zeroed(machine->clusters, sizeof(*memory->warm));
	memory->chunk = zeroed(MEMORY_LINES / CHUNK_LINES, sizeof(*memory->chunk));
	for (unsigned i = 0; i < machine->cores; i++) {
		cache_make(&memory->core[i].l1, &machine->l1);
		cache_make(&memory->core[i].l1i, &machine->l1i);
		cache_make(&memory->core[i].l2, &machine->l2);
	}
	for (unsigned i = 0; i < machine->clusters; i++)
		cache_make(&memory->l3[i], &machine->l3);
}

void memory_free(struct memory *memory)
{
	for (unsigned i = 0; i < memory->machine->cores; i++) {
		cache_free(&memory->core[i].l1);
		cache_free(&memory->core[i].l1i);
		cache_free(&memory->core[i].l2);
	}
	for (unsigned i = 0; i < memory->machine->clusters; i++)
		cache_free(&memory->l3[i]);
	for (uint64_t i = 0; i < MEMORY_LINES / CHUNK_LINES; i++)
		free(memory->chunk[i]);
	free(memory->chunk);
	free(memory->warm);
	free(memory->l3);
	free(memory->core);
}

void memory_salt(struct memory *memory, uint64_t salt)
{
	memory->salt = salt;
	for (unsigned i = 0; i < memory->machine->cores; i++)
		memory->core[i].salt = memory->core[i].l2.salt =
			salt ? salt_of_core(salt, i, DRAWN_PLACES) | 1 : 0;
}

void memory_warm(struct memory *memory)
{
	const struct machine *m = memory->machine;
	for (unsigned i = 0; i < m->clusters; i++)
		memory->warm[i] = m->l3.sets * m->l3.ways;
}

/* ---- stores under way ---- */

static void misses_retire(struct core_memory *core, uint64_t now)
{
	require(core->store_first < STORES_MOST && core->store_count <= STORES_MOST);
	while (core->store_count && core->store[core->store_first] <= now) {
		core->store_first = (core->store_first + 1) % STORES_MOST;
		core->store_count--;
	}
}

/* The store whose line arrives at `arrival`. Returns when the buffer has taken it. */
static uint64_t buffer_store(struct memory *memory, struct core_memory *core, uint64_t now, uint64_t arrival)
{
	misses_retire(core, now);
	if (core->store_count == memory->machine->store_buffer) {
		now = core->store[core->store_first];
		core->traffic.stalls++;
		misses_retire(core, now);
	}
	if (core->stores_done < arrival)
		core->stores_done = arrival;
	if (core->stores_done > now) {
		require(core->store_count < memory->machine->store_buffer);
		require(!core->store_count ||
			core->store[(core->store_first + core->store_count - 1) % STORES_MOST] <= core->stores_done);
		core->store[(core->store_first + core->store_count) % STORES_MOST] = core->stores_done;
		core->store_count++;
	}
	return now;
}

uint64_t memory_drain(const struct memory *memory, unsigned core, uint64_t now)
{
	uint64_t done = memory->core[core].stores_done;
	return done > now ? done : now;
}

/* ---- where a line is ---- */

static struct line *page_of(struct memory *memory, uint64_t line)
{
	return directory_line(memory, line & ~(PAGE_LINES - 1ull));
}

void memory_place_code(struct memory *memory, uint64_t line, uint64_t address)
{
	if (!memory->salt || line >= MEMORY_LINES)
		return;
	struct line *page = page_of(memory, line);
	if (!page->rotation)
		page->rotation = (uint8_t)(1 + salt_draw(memory->salt, address >> 12) % PAGE_LINES);
}

/* Returns the line of its page, rotated on by `by`. */
static uint64_t rotate_line(uint64_t line, unsigned by)
{
	return (line & ~(PAGE_LINES - 1ull)) | ((line + by) & (PAGE_LINES - 1ull));
}
/* Returns the place of a line in L1I, as the line whose address has that place. */
static uint64_t code_place(struct memory *memory, uint64_t line)
{
	return memory->salt ? rotate_line(line, page_of(memory, line)->rotation) : line;
}
static uint64_t code_line(struct memory *memory, uint64_t place)
{
	return memory->salt ? rotate_line(place, 2u * PAGE_LINES - page_of(memory, place)->rotation) : place;
}

/* The core's L1I has the line no more. */
static void tell_fetches(struct core_memory *core, uint64_t line)
{
	if (core->code && core->code[code_slot(line)] == line)
		core->code[code_slot(line)] = 0;
}

static void drop_from_l1(struct memory *memory, struct core_memory *core, uint64_t line)
{
	cache_drop(&core->l1, line);
	if (cache_drop(&core->l1i, code_place(memory, line)))
		tell_fetches(core, line);
}

static void line_lose(struct memory *memory, unsigned core, uint64_t line, uint64_t when)
{
	struct core_memory *c = &memory->core[core];
	require(core < memory->machine->cores);
	drop_from_l1(memory, c, line);
	cache_drop(&c->l2, line);
	c->taken++;
	if (memory->lost)
		memory->lost(core, line, when);
}

/* All cores of the range lose the line, but for `keeps`. They stay in the directory's set. */
static void lose_all(struct memory *memory, const struct line *line, uint64_t number, unsigned from, unsigned until,
                     unsigned keeps, uint64_t when)
{
	for (unsigned i = from; (i = set_next(line->sharers, i, until)) < until; i++)
		if (i != keeps)
			line_lose(memory, i, number, when);
}

/* The line is in the cluster's L3 from now on; what has to leave for it leaves. */
static void fill_l3(struct memory *memory, unsigned cluster, uint64_t line, uint64_t now)
{
	require(cluster < memory->machine->clusters);
	entry_t victim = cache_fill(&memory->l3[cluster], entry_of(line, false));
	set_add(line_l3(memory, directory_line(memory, line)), cluster);
	if (!victim)
		return;
	struct line *left = directory_line(memory, entry_line(victim));
	set_remove(line_l3(memory, left), cluster);
	if (!memory->machine->l3_inclusive)
		return;
	unsigned each = cores_each(memory->machine), first = cluster * each;
	if (left->owner > first && left->owner <= first + each)
		left->owner = 0;
	lose_all(memory, left, entry_line(victim), first, first + each, MOST_CORES, now);
	for (unsigned i = first; (i = set_next(left->sharers, i, first + each)) < first + each; i++)
		set_remove(left->sharers, i);
}

/* The entry has left the core's L2 to make room. */
static void line_evicted(struct memory *memory, unsigned core, entry_t entry, uint64_t now)
{
	struct line *line = directory_line(memory, entry_line(entry));
	drop_from_l1(memory, &memory->core[core], entry_line(entry));
	set_remove(line->sharers, core);
	if (line->owner == core + 1)
		line->owner = 0;
	if (!memory->machine->l3_inclusive)
		fill_l3(memory, cluster_of(memory->machine, core), entry_line(entry), now);
}

static void fill_l1i(struct memory *memory, struct core_memory *core, uint64_t line)
{
	entry_t victim = cache_fill(&core->l1i, entry_of(code_place(memory, line), false));
	if (victim)
		tell_fetches(core, code_line(memory, entry_line(victim)));
}

static void line_fill(struct memory *memory, unsigned core, entry_t entry, enum access access, uint64_t now)
{
	struct core_memory *c = &memory->core[core];
	if (access != FETCH)
		cache_fill(&c->l1, entry);
	entry_t victim = cache_fill(&c->l2, entry);
	if (victim)
		line_evicted(memory, core, victim, now);
}

/* ---- an access that no cache of the core serves ---- */

/* Prices by distance stand side by side in prices.def. */
#define CONSECUTIVE(a, b, c)                                                                                     \
	_Static_assert(offsetof(struct prices, b) == offsetof(struct prices, a) + 8 && \
	               offsetof(struct prices, c) == offsetof(struct prices, b) + 8, \
	               "by distance")
CONSECUTIVE(l3, l3_socket, l3_machine);
CONSECUTIVE(transfer_cluster, transfer_socket, transfer_machine);
CONSECUTIVE(upgrade_cluster, upgrade_socket, upgrade_machine);
CONSECUTIVE(overlap_cluster, overlap_socket, overlap_machine);
static uint64_t by_distance(const uint64_t *nearest, enum distance far) { return nearest[far]; }

/* Another core owns the line: it gives it away, or shares it. Returns the latency. */
static uint64_t take_owned(struct memory *memory, unsigned core, uint64_t number, struct line *line, bool store,
                           uint64_t start)
{
	const struct machine *m = memory->machine;
	unsigned owner = line->owner - 1u;
	enum distance far = distance(m, core, owner);
	uint64_t latency = by_distance(&m->price.transfer_cluster, far);
	require(line->owner && owner != core && owner < m->cores);
	memory->core[core].traffic.transfer[far]++;
	if (store) {
		set_clear(line_l3(memory, line), memory->cluster_words);
		line_lose(memory, owner, number, start + latency / 2);
		set_remove(line->sharers, owner); /* an owner is the only one */
	} else {
		cache_downgrade(&memory->core[owner].l1, number);
		cache_downgrade(&memory->core[owner].l2, number);
		set_add(line_l3(memory, line), cluster_of(m, owner));
	}
	line->busy = start + latency;
	return latency;
}

/*
 * How much sooner a reader has a line that another core upgrades when it asks: its request is under way meanwhile. The
 * more of the upgrade is over, the less it saves.
 */
static uint64_t miss_overlapped(const struct memory *memory, unsigned core, const struct line *line, uint64_t now)
{
	const struct machine *m = memory->machine;
	if (!line->upgrade || !line->owner || line->owner == core + 1u || line->busy <= now)
		return 0;
	uint64_t left = line->busy - now < line->upgrade ? line->busy - now : line->upgrade;
	return by_distance(&m->price.overlap_cluster, distance(m, core, line->owner - 1u)) * left / line->upgrade;
}

/* A store to a line that others may read: they lose it. */
static uint64_t take_shared(struct memory *memory, unsigned core, uint64_t number, struct line *line, uint64_t start)
{
	const struct machine *m = memory->machine;
	uint64_t latency;
	require(set_any(line->sharers, 0, (unsigned)m->cores) && (!line->owner || line->owner == core + 1u));
	if (has_others(m, line->sharers, core)) {
		enum distance far = farthest_core(m, core, line->sharers);
		latency = by_distance(&m->price.upgrade_cluster, far);
		line->upgrade = (uint32_t)latency;
		memory->core[core].traffic.upgrade[far]++;
	} else {
		latency = m->price.l3; /* by the directory no other core has it */
		memory->core[core].traffic.upgrade[SAME_CLUSTER]++;
	}
	lose_all(memory, line, number, 0, (unsigned)m->cores, core, start + latency / 2);
	set_clear(line->sharers, memory->core_words + memory->cluster_words);
	line->busy = start + latency;
	return latency;
}

/* A clean line comes from the nearest L3 that has it. */
static uint64_t load_shared(struct memory *memory, unsigned core, struct line *line, bool store, uint64_t start)
{
	const struct machine *m = memory->machine;
	enum distance far = nearest_l3(m, core, line_l3(memory, line), line->sharers);
	uint64_t latency = by_distance(&m->price.l3, far);
	memory->core[core].traffic.l3[far]++;
	line->busy = start + (store ? latency : m->price.reader_gap);
	if (store)
		set_clear(line_l3(memory, line), memory->cluster_words);
	return latency;
}

static uint64_t load_dram(struct memory *memory, unsigned core, uint64_t number, struct line *line, uint64_t start)
{
	const struct machine *m = memory->machine;
	uint64_t *warm = &memory->warm[cluster_of(m, core)];
	bool first = !line->busy;
	line->busy = start;
	if (first && *warm) {
		--*warm;
		memory->core[core].traffic.l3[SAME_CLUSTER]++;
		return m->price.l3;
	}
	bool near = home_of(m, number) == socket_of(m, core);
	*(near ? &memory->core[core].traffic.dram_near : &memory->core[core].traffic.dram_far) += 1;
	return near ? m->price.dram_near : m->price.dram_far;
}

/* `before`: the cores that had it. */
static void tell_moved(const struct memory *memory, unsigned core, uint64_t number, uint64_t *before,
                       bool store, uint64_t now, uint64_t start, uint64_t arrival)
{
	bool upgrade = set_has(before, core);
	require(arrival >= now);
	set_remove(before, core);
	if (set_any(before, 0, (unsigned)memory->machine->cores))
		memory->moved(&(struct movement){ .core = core, .line = number, .store = store, .upgrade = upgrade,
		                                  .others = before, .when = now,
		                                  .queued = start > now ? start - now : 0, .wait = arrival - now });
}

/* Returns when the line is there. */
static __attribute__((noinline)) uint64_t miss_time(struct memory *memory, unsigned core, uint64_t number,
                                                    enum access access, uint64_t now)
{
	struct core_memory *c = &memory->core[core];
	const struct machine *m = memory->machine;
	struct line *line = directory_line(memory, number);
	uint64_t *l3 = line_l3(memory, line), before[SET_WORDS];
	if (memory->moved)
		memcpy(before, line->sharers, memory->core_words * sizeof(*before));
	bool store = access == STORE || access == ATOMIC;
	uint64_t start = line->busy > now ? line->busy : now, latency;
	if (start > now) {
		c->traffic.waits++;
		c->traffic.wait_time += start - now;
	}
	if (!store)
		start -= miss_overlapped(memory, core, line, now);
	line->upgrade = 0;
	bool alone = store;
	if (line->owner && line->owner != core + 1u) {
		latency = take_owned(memory, core, number, line, store, start);
	} else if (store && set_any(line->sharers, 0, (unsigned)m->cores)) {
		latency = take_shared(memory, core, number, line, start);
	} else if (set_any(line->sharers, 0, (unsigned)m->cores) || set_any(l3, 0, (unsigned)m->clusters)) {
		alone |= access != FETCH && !set_any(line->sharers, 0, (unsigned)m->cores) &&
		         !has_other_clusters(m, l3, cluster_of(m, core));
		latency = load_shared(memory, core, line, store, start);
	} else {
		alone = access != FETCH;
		latency = load_dram(memory, core, number, line, start);
	}
	set_add(line->sharers, core);
	line->owner = alone ? (uint16_t)(core + 1) : 0;
	require(!line->owner || !has_others(m, line->sharers, core));
	if (m->l3_inclusive)
		fill_l3(memory, cluster_of(m, core), number, start);
	line_fill(memory, core, entry_of(number, alone), access, start);
	if (memory->moved && access != FETCH)
		tell_moved(memory, core, number, before, store, now, start, start + latency);
	return start + latency;
}

uint64_t memory_access(struct memory *memory, unsigned core, uint64_t line, enum access access, uint64_t now)
{
	struct core_memory *c = &memory->core[core];
	const struct prices *price = &memory->machine->price;
	bool store = access != LOAD;
	uint64_t arrival = now;
	require(core < memory->machine->cores && access != FETCH);
	c->traffic.accesses++;
	if (line >= MEMORY_LINES)
		return now + price->dram_far;
	entry_t entry = cache_find(&c->l1, line);
	bool hit = entry && (!store || entry_writable(entry)), missed = !hit;
	if (missed) {
		entry = cache_find(&c->l2, line);
		if (entry && (!store || entry_writable(entry))) {
			cache_fill(&c->l1, entry);
			c->traffic.l2++;
			arrival = now + price->l2;
		} else {
			arrival = miss_time(memory, core, line, access, now);
		}
	}
	if (access == LOAD)
		return arrival;
	if (access == ATOMIC)
		return memory_drain(memory, core, arrival);
	if (hit && c->stores_done <= now)
		return now;
	return buffer_store(memory, c, now, arrival) + (missed ? price->store : 0);
}

uint64_t memory_fetch(struct memory *memory, unsigned core, uint64_t line, uint64_t now)
{
	struct core_memory *c = &memory->core[core];
	uint64_t arrival = now;
	if (line >= MEMORY_LINES)
		return now + memory->machine->price.dram_far;
	require(core < memory->machine->cores);
	if (!cache_has(&c->l1i, code_place(memory, line))) {
		c->traffic.fetches++;
		if (cache_find(&c->l2, line)) {
			c->traffic.l2++;
			arrival = now + memory->machine->price.l2;
		} else {
			arrival = miss_time(memory, core, line, FETCH, now);
		}
		fill_l1i(memory, c, line);
	}
	if (c->code)
		c->code[code_slot(line)] = line;
	return arrival;
}

uint64_t memory_approach(struct memory *memory, unsigned core, uint64_t line, uint64_t now, uint64_t *half)
{
	const struct machine *m = memory->machine;
	*half = 0;
	if (line >= MEMORY_LINES)
		return 0;
	require(core < m->cores);
	const struct line *l = directory_line(memory, line);
	uint64_t latency;
	if (l->owner == core + 1u)
		return 0;
	if (l->owner)
		latency = by_distance(&m->price.transfer_cluster, distance(m, core, l->owner - 1u));
	else if (has_others(m, l->sharers, core))
		latency = by_distance(&m->price.upgrade_cluster, farthest_core(m, core, l->sharers));
	else
		return 0;
	*half = latency / 2;
	return (l->busy > now ? l->busy - now : 0) + *half;
}

/* Makes the page the most recently used one of a set of a TLB. Returns whether it was there. */
static bool tlb_take(uint64_t *set, unsigned ways, uint64_t page)
{
	unsigned way = 0;
	while (way < ways - 1 && set[way] != page)
		way++;
	bool there = set[way] == page;
	for (; way > 0; way--)
		set[way] = set[way - 1];
	set[0] = page;
	return there;
}

uint64_t memory_translate(struct memory *memory, unsigned core, uint64_t address)
{
	struct core_memory *c = &memory->core[core];
	uint64_t number = address >> 12 & 0xfffffffff, page = number | c->space << 36;
	if (c->salt)
		number ^= salt_draw(c->salt, number / STLB_SETS);
	if (tlb_take(c->tlb[number % TLB_SETS], TLB_WAYS, page))
		return 0;
	if (tlb_take(c->stlb[number % STLB_SETS], STLB_WAYS, page))
		return memory->machine->price.tlb_second;
	c->traffic.walks++;
	return memory->machine->price.tlb_walk;
}

void memory_flush(struct memory *memory, unsigned core) { memory->core[core].space++; }
