/* SPDX-License-Identifier: BSD-2-Clause */
#include "access.h"
#include <stdlib.h>
#include <string.h>
#include <skerry/require.h>
#include "fetch.h"

struct machine machine;
struct memory memory;
struct looks looks[MOST_CORES];
bool access_keeps_turn;
static uint64_t half[MOST_CORES]; /* of a transfer, paid before the locked instruction that comes */

/* A locked instruction, and the line that it touched last: the one that it is likely to touch next. */
struct locked {
	bool kernel;
	uint64_t any, last[]; /* of each core */
};

struct locked *locked_make(bool kernel)
{
	struct locked *locked = calloc(1, sizeof(*locked) + machine.cores * sizeof(*locked->last));
	if (!locked)
		abort();
	locked->kernel = kernel;
	return locked;
}

/*
 * Where a core found memory since it last changed what is at its addresses, so that most accesses need no look at
 * QEMU's TLB. The guest flushes a translation before it uses another, as it must for a processor's TLB.
 */
enum { PAGE_BITS = 12, PAGE_SIZE = 1 << PAGE_BITS, PAGES = 64, EPOCHS = 1 << PAGE_BITS };
static struct translations {
	uint64_t epoch; /* below EPOCHS - 1; grows when all translations go */
	struct page {
		uint64_t key; /* the address's page and the epoch; 0: none */
		uint64_t physical;
	} page[PAGES];
} translations[MOST_CORES];

static void forget_translations(struct translations *of)
{
	if (++of->epoch == EPOCHS - 1)
		memset(of, 0, sizeof(*of));
}

void access_remapped(unsigned i, void *data)
{
	(void)data;
	if (i < MOST_CORES)
		forget_translations(&translations[i]);
	else
		for (i = 0; i < machine.cores; i++)
			forget_translations(&translations[i]);
}

static uint64_t page_key(const struct translations *of, uint64_t address)
{
	require(of->epoch < EPOCHS - 1);
	return address >> PAGE_BITS | (of->epoch + 1) << (64 - PAGE_BITS);
}

static struct page *page_slot(struct translations *of, uint64_t address)
{
	return &of->page[(address >> PAGE_BITS) % PAGES];
}

static void keep_page(unsigned i, uint64_t address, uint64_t physical)
{
	*page_slot(&translations[i], address) = (struct page){ page_key(&translations[i], address),
	                                                       physical & ~(PAGE_SIZE - 1ull) };
}

static bool known_page(unsigned i, uint64_t address, uint64_t *physical)
{
	const struct page *page = page_slot(&translations[i], address);
	*physical = page->physical | (address & (PAGE_SIZE - 1));
	return page->key == page_key(&translations[i], address);
}

/* False if there is no memory, but a device or nothing. */
static bool find_memory(unsigned i, plugin_meminfo info, uint64_t address, uint64_t *physical)
{
	if (known_page(i, address, physical))
		return true;
	struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
	if (!where || qemu_plugin_hwaddr_is_io(where))
		return false;
	*physical = qemu_plugin_hwaddr_phys_addr(where);
	keep_page(i, address, *physical);
	return true;
}

static void look_at(struct looks *l, uint64_t line, uint64_t now)
{
	require(l->count <= MOST_LOOKS + 1);
	l->last = now;
	if (l->count && l->count <= MOST_LOOKS && l->look[l->count - 1].line == line)
		l->look[l->count - 1].at = now;
	else if (l->count < MOST_LOOKS)
		l->look[l->count++] = (struct look){ line, now };
	else
		l->count = MOST_LOOKS + 1;
}

void line_lost(unsigned i, uint64_t line, uint64_t when)
{
	const struct looks *l = &looks[i];
	(void)when;
	if (!queue_waits(&event_turns, i))
		return;
	if (l->count > MOST_LOOKS) {
		token_unpark(i, event_turns.core[i].ahead);
		return;
	}
	for (unsigned k = l->count; k > 0; k--)
		if (l->look[k - 1].line == line) {
			token_unpark(i, l->look[k - 1].at - l->from);
			return;
		}
}

/* Returns whether the access costs nothing: most do. It is made then. */
static inline bool access_repeats(unsigned i, uint64_t line, bool store, uint64_t now)
{
	if (!memory_repeats(&memory, i, line, store, now))
		return false;
	look_at(&looks[i], line, now);
	return true;
}

static void access_memory(unsigned i, uint64_t address, uint64_t physical, enum access access, bool kernel)
{
	struct runner *runner = &event_turns.core[i];
	uint64_t now = clock_of(runner), begin = now, end = now;
	if (access == ATOMIC) {
		begin -= half[i];
		half[i] = 0;
	}
	if (access == ATOMIC || !access_repeats(i, physical >> 6, access == STORE, now)) {
		look_at(&looks[i], physical >> 6, now);
		end = memory_access(&memory, i, physical >> 6, access, begin);
	}
	if (!kernel)
		end += memory_translate(&memory, i, address);
	require(end >= now || access == ATOMIC);
	if (end > now) {
		looks[i].waited += end - now;
		core_charge(runner, end - now);
	}
}

static void access_make(unsigned i, plugin_meminfo info, uint64_t address, enum access access, bool kernel)
{
	uint64_t physical;
	if (!event_turns.core[i].count)
		return;
	if (!kernel && access != LOAD)
		looks[i].did |= SPIN_STORED;
	if (!find_memory(i, info, address, &physical)) {
		core_charge(&event_turns.core[i], machine.price.mmio);
		looks[i].did |= SPIN_LOOKED;
	} else {
		access_memory(i, address, physical, access, kernel);
	}
}

static inline void touch_kernel(unsigned i, plugin_meminfo info, uint64_t address, enum access access)
{
	uint64_t physical;
	struct runner *runner = &event_turns.core[i];
	if (!runner->count)
		return;
	if (!known_page(i, address, &physical) || !access_repeats(i, physical >> 6, access == STORE, clock_of(runner)))
		access_make(i, info, address, access, true);
	if (!access_keeps_turn)
		let_others(i);
}

static void kernel_load(unsigned i, plugin_meminfo info, uint64_t address, void *data)
{
	(void)data;
	touch_kernel(i, info, address, LOAD);
}
static void kernel_store(unsigned i, plugin_meminfo info, uint64_t address, void *data)
{
	(void)data;
	touch_kernel(i, info, address, STORE);
}
const struct watch kernel_accesses = { kernel_load, kernel_store };

static void program_load(unsigned i, plugin_meminfo info, uint64_t address, void *data)
{
	(void)data;
	access_make(i, info, address, LOAD, false);
}
static void program_store(unsigned i, plugin_meminfo info, uint64_t address, void *data)
{
	(void)data;
	access_make(i, info, address, STORE, false);
}

const struct watch program_accesses = { program_load, program_store };

static void locked_access(unsigned i, plugin_meminfo info, uint64_t address, void *data)
{
	struct locked *locked = data;
	uint64_t physical;
	if (!event_turns.core[i].count)
		return;
	/* called for its load and for its store; the second finds the line in L1 */
	if (find_memory(i, info, address, &physical))
		locked->last[i] = locked->any = physical >> 6;
	access_make(i, info, address, ATOMIC, locked->kernel);
	/* Not between its load and its store. */
	if (locked->kernel && !access_keeps_turn && qemu_plugin_mem_is_store(info))
		let_others(i);
}
const struct watch locked_accesses = { locked_access, locked_access };

/* Makes those of the at most `most` accesses behind the one at `at`, `step` apart, that are in its line, if they cost
 * nothing. Returns how many. */
static unsigned repeat_in_line(unsigned i, uint64_t at, unsigned most, unsigned step, bool store)
{
	uint64_t physical;
	require(step && step <= 64);
	unsigned count = (unsigned)((63 - (at & 63)) / step);
	if (count > most)
		count = most;
	if (!count || !known_page(i, at, &physical) ||
	    !access_repeats(i, physical >> 6, store, clock_of(&event_turns.core[i])))
		return 0;
	memory.core[i].traffic.accesses += count - 1;
	return count;
}

static void access_unreported(unsigned i, uint64_t address, bool store)
{
	uint64_t physical;
	if (!known_page(i, address, &physical)) {
		if (!fetch_page(address & ~(PAGE_SIZE - 1ull), &physical))
			return;
		keep_page(i, address, physical);
		known_page(i, address, &physical);
	}
	access_memory(i, address, physical, store ? STORE : LOAD, true);
	let_others(i);
}

void access_row(unsigned i, uint64_t first, unsigned count, unsigned step, bool store)
{
	require(i < MOST_CORES && event_turns.core[i].count);
	for (unsigned k = 0; k < count; k++) {
		access_unreported(i, first + k * step, store);
		k += repeat_in_line(i, first + k * step, count - k - 1, step, store);
	}
}

void before_locked(unsigned i, void *data)
{
	struct locked *locked = data;
	struct runner *runner = &event_turns.core[i];
	half[i] = 0;
	if (!core_runs(&event_turns, i))
		return;
	uint64_t line = locked->last[i] ? locked->last[i] : locked->any;
	uint64_t ahead = line ? memory_approach(&memory, i, line, clock_of(runner), &half[i]) : 0;
	if (!ahead)
		return;
	core_charge(runner, ahead);
	let_others(i);
}

void drain_accesses(unsigned i, void *flush)
{
	struct runner *runner = &event_turns.core[i];
	if (!runner->count)
		return;
	uint64_t now = clock_of(runner);
	core_charge(runner, memory_drain(&memory, i, now) - now);
	if (flush) {
		memory_flush(&memory, i);
		access_remapped(i, NULL);
	}
	let_others(i);
}
