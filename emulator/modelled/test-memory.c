/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The coherence model against cycles counted by hand: for each state of a line, each kind of access, each distance.
 * Cores 0, 1 share an L3; 2, 3 that of the same socket; 4..7 are the other socket's.
 */
#include "test-common.h"

enum { LINE = 100, FAR_LINE = (1 << 20 >> 6) + 7 };

static struct machine machine;
static struct memory memory;
static unsigned lost_by;
static uint64_t lost_at;
static unsigned lost_count;

static void on_lost(unsigned core, uint64_t line, uint64_t when)
{
	(void)line;
	lost_by = core;
	lost_at = when / UNIT;
	lost_count++;
}

static void begin(void)
{
	machine = small_machine();
	memory_make(&memory, &machine);
	memory.lost = on_lost;
	lost_count = 0;
}
static void end(void) { memory_free(&memory); }

/* Cycles from `now` until the core goes on. */
static uint64_t at(unsigned core, uint64_t line, enum access access, uint64_t now)
{
	return memory_access(&memory, core, line, access, now * UNIT) / UNIT - now;
}
static uint64_t drained(unsigned core, uint64_t now) { return memory_drain(&memory, core, now * UNIT) / UNIT - now; }

static void loads(void)
{
	begin();
	EXPECT(at(0, LINE, LOAD, 0), 181);       /* nobody has it, memory of its socket */
	EXPECT(at(0, LINE, LOAD, 1000), 0);      /* L1 */
	EXPECT(at(1, LINE, LOAD, 2000), 110);    /* the owner has it alone (E): a transfer within the L3 */
	EXPECT(at(1, LINE, LOAD, 3000), 0);
	EXPECT(at(2, LINE, LOAD, 4000), 70);     /* shared now: from the other L3 of the socket */
	EXPECT(at(3, LINE, LOAD, 5000), 40);     /* from its own L3 */
	EXPECT(at(4, LINE, LOAD, 6000), 160);    /* from the other socket */
	EXPECT(at(5, LINE, LOAD, 7000), 40);
	EXPECT(at(0, FAR_LINE, LOAD, 8000), 261); /* memory of the other socket */
	EXPECT(at(4, FAR_LINE + 1, LOAD, 8000), 181);
	EXPECT(lost_count, 0);
	end();
}

static void stores(void)
{
	begin();
	EXPECT(at(0, LINE, STORE, 0), 1);        /* the buffer takes it, ... */
	EXPECT(drained(0, 1), 180);              /* ... and it is visible when the line has come */
	EXPECT(at(0, LINE, STORE, 1000), 0);     /* L1, owned */
	EXPECT(drained(0, 1000), 0);
	EXPECT(at(1, LINE, STORE, 2000), 1);
	EXPECT(drained(1, 2000), 110);
	EXPECT(lost_by, 0);
	EXPECT(lost_at, 2055);                   /* half way */
	EXPECT(at(2, LINE, STORE, 3000), 1);
	EXPECT(drained(2, 3000), 140);
	EXPECT(at(4, LINE, STORE, 4000), 1);
	EXPECT(drained(4, 4000), 214);
	EXPECT(lost_by, 2);
	EXPECT(lost_count, 3);
	EXPECT(at(2, LINE, LOAD, 5000), 214);    /* modified, the other socket's */
	EXPECT(at(4, LINE, LOAD, 6000), 0);      /* it keeps a copy */
	end();
}

static void upgrades(void)
{
	static const struct {
		unsigned reader, cycles;
	} far[] = { { 1, 80 }, { 2, 100 }, { 5, 180 } };
	for (unsigned i = 0; i < 3; i++) {
		begin();
		at(0, LINE, LOAD, 0);
		at(far[i].reader, LINE, LOAD, 1000);
		EXPECT(at(0, LINE, STORE, 2000), 1);
		EXPECT(drained(0, 2000), far[i].cycles);
		EXPECT(lost_by, far[i].reader);
		EXPECT(at(0, LINE, STORE, 3000), 0);
		end();
	}
	begin(); /* of several the farthest counts */
	at(0, LINE, LOAD, 0);
	for (unsigned core = 1; core < 8; core++)
		at(core, LINE, LOAD, 1000 * core);
	EXPECT(at(0, LINE, ATOMIC, 9000), 180);
	EXPECT(lost_count, 7);
	end();
}

static void alone_it_is_exclusive(void)
{
	begin();
	at(0, LINE, LOAD, 0);
	EXPECT(at(0, LINE, STORE, 1000), 0); /* E becomes M without a word */
	EXPECT(drained(0, 1000), 0);
	end();
}

/* A line that moves is busy: requests queue. */
static void lines_are_busy(void)
{
	begin();
	at(0, LINE, ATOMIC, 0);
	EXPECT(at(1, LINE, ATOMIC, 1000), 110);
	EXPECT(at(2, LINE, ATOMIC, 1010), 100 + 140); /* until 1110, and its own transfer */
	EXPECT(at(4, LINE, ATOMIC, 1020), 230 + 214);
	EXPECT(memory.core[4].traffic.waits, 1);
	EXPECT(memory.core[4].traffic.wait_time / UNIT, 230);
	end();
}

/* Cores that load a shared line at once are served one behind the other. */
static void readers_queue(void)
{
	begin();
	at(0, LINE, LOAD, 0);
	at(1, LINE, LOAD, 1000); /* shared from here on */
	at(2, LINE, LOAD, 2000);
	EXPECT(at(3, LINE, LOAD, 3000), 40);
	EXPECT(at(4, LINE, LOAD, 3005), 15 + 160); /* the L3 answers again 20 cycles after core 3 */
	end();
}

static void the_store_buffer_is_in_order(void)
{
	begin();
	at(4, LINE, STORE, 0); /* owned by the other socket */
	at(0, LINE + 1, LOAD, 0);
	EXPECT(at(0, LINE, STORE, 1000), 1);     /* done at 1214 */
	EXPECT(at(0, LINE + 1, STORE, 1001), 0); /* a hit, but behind the first */
	EXPECT(drained(0, 1002), 212);
	EXPECT(at(0, LINE + 1, STORE, 1003), 0);
	EXPECT(at(0, LINE + 1, STORE, 1004), 0);
	EXPECT(at(0, LINE + 1, STORE, 1005), 209); /* four are outstanding: it waits for the first */
	EXPECT(memory.core[0].traffic.stalls, 1);
	EXPECT(at(0, LINE + 1, LOAD, 1300), 0);
	end();
}

static void atomics_wait_for_stores(void)
{
	begin();
	at(4, LINE, STORE, 0);
	at(0, LINE + 1, STORE, 0);
	EXPECT(at(0, LINE, STORE, 1000), 1);
	EXPECT(at(0, LINE + 1, ATOMIC, 1001), 213);
	EXPECT(at(0, LINE + 1, LOAD, 2000), 0);
	end();
}

static void levels(void)
{
	begin(); /* L1 has 4 sets of 2, L2 8 of 4, L3 32 of 8: lines 32 apart share a set in all */
	for (unsigned i = 0; i < 3; i++)
		at(0, LINE + 32 * i, LOAD, 1000 * i);
	EXPECT(at(0, LINE, LOAD, 4000), 8); /* left L1, not L2 */
	EXPECT(at(0, LINE, LOAD, 5000), 0);
	for (unsigned i = 3; i < 6; i++)
		at(0, LINE + 32 * i, LOAD, 3000 + 1000 * i);
	EXPECT(at(0, LINE + 32, LOAD, 20000), 40); /* left L2, not L3 */
	EXPECT(at(2, LINE + 64, LOAD, 21000), 70);
	for (unsigned i = 6; i < 8; i++)
		at(0, LINE + 32 * i, LOAD, 30000 + 1000 * i);
	EXPECT(lost_count, 0);
	at(0, LINE + 32 * 8, LOAD, 40000); /* the ninth of the set: line 0 of it was fetched first */
	EXPECT(at(1, LINE, LOAD, 41000), 181);
	end();
}

/* A line that leaves an inclusive L3 leaves its cores, too. */
static void inclusion(void)
{
	for (unsigned inclusive = 0; inclusive < 2; inclusive++) {
		begin();
		machine.l3_inclusive = inclusive;
		at(0, LINE, STORE, 0);
		for (unsigned i = 1; i < 9; i++) { /* core 1 fills the set of the L3 that they share */
			at(1, LINE + 32 * i, LOAD, 1000 * i);
			at(1, LINE + 32 * i, LOAD, 1000 * i + 500);
		}
		EXPECT(lost_count, inclusive);
		EXPECT(at(0, LINE, LOAD, 20000), inclusive ? 181 : 0);
		end();
	}
}

/* A reader asks for a line while another core upgrades it. */
static void a_hand_over(void)
{
	begin();
	machine.price.overlap_cluster = 60 * UNIT;
	at(0, LINE, LOAD, 0);
	at(1, LINE, LOAD, 1000);
	at(0, LINE, STORE, 2000);                        /* an upgrade, until 2080 */
	EXPECT(at(1, LINE, LOAD, 2000), 80 + 110 - 60);  /* from its begin on */
	at(0, LINE, STORE, 4000);
	EXPECT(at(1, LINE, LOAD, 4040), 40 + 110 - 30);  /* half of it is over */
	at(0, LINE, STORE, 6000);
	EXPECT(at(1, LINE, LOAD, 6080), 110);            /* all of it */
	at(0, LINE, STORE, 8000);
	EXPECT(at(1, LINE, ATOMIC, 8000), 80 + 110);     /* only readers' requests overlap */
	at(0, LINE, STORE, 10000);                       /* no upgrade, a transfer until 10110 */
	EXPECT(at(1, LINE, LOAD, 10000), 110 + 110);
	end();
}

static void an_atomic_approaches(void)
{
	uint64_t half;
	begin();
	at(4, LINE, STORE, 0);
	EXPECT(memory_approach(&memory, 0, LINE, 1000 * UNIT, &half) / UNIT, 107);
	EXPECT(half / UNIT, 107);
	at(5, LINE, ATOMIC, 1000); /* under way until 1110 */
	EXPECT(memory_approach(&memory, 0, LINE, 1010 * UNIT, &half) / UNIT, 100 + 107);
	EXPECT(memory_approach(&memory, 5, LINE, 1200 * UNIT, &half), 0);
	EXPECT(half, 0);
	EXPECT(memory_approach(&memory, 0, MEMORY_LINES, 0, &half), 0);
	end();
}

static void translations(void)
{
	begin();
	EXPECT(memory_translate(&memory, 0, 0x400000) / UNIT, 25);
	EXPECT(memory_translate(&memory, 0, 0x400fff), 0);
	EXPECT(memory_translate(&memory, 1, 0x400000) / UNIT, 25);
	memory_flush(&memory, 0);
	EXPECT(memory_translate(&memory, 0, 0x400000) / UNIT, 25);
	EXPECT(memory_translate(&memory, 1, 0x400000), 0);
	end();
}

/* Translates so many pages that share a set of both TLBs, from the first. Returns the sum of the cycles. */
static uint64_t translate_set(unsigned pages)
{
	uint64_t cycles = 0;
	for (uint64_t n = 0; n < pages; n++)
		cycles += memory_translate(&memory, 0, (5 + n * STLB_SETS) << 12) / UNIT;
	return cycles;
}

static void sets_of_translations(void)
{
	begin();
	EXPECT(translate_set(TLB_WAYS), TLB_WAYS * 25);
	EXPECT(translate_set(TLB_WAYS), 0);
	EXPECT(memory_translate(&memory, 0, 6 << 12) / UNIT, 25); /* another set */
	EXPECT(translate_set(TLB_WAYS), 0);
	EXPECT(translate_set(TLB_WAYS + 1), 25);
	EXPECT(translate_set(TLB_WAYS + 1), (TLB_WAYS + 1) * 7); /* the least recently used one leaves */
	EXPECT(memory_translate(&memory, 0, 5ull << 12) / UNIT, 7);
	EXPECT(memory_translate(&memory, 0, (5ull + TLB_WAYS * STLB_SETS) << 12), 0);
	memory_flush(&memory, 0);
	EXPECT(translate_set(STLB_WAYS), STLB_WAYS * 25);
	EXPECT(translate_set(STLB_WAYS), STLB_WAYS * 7);
	EXPECT(translate_set(STLB_WAYS + 1), STLB_WAYS * 7 + 25);
	EXPECT(translate_set(STLB_WAYS + 1), (STLB_WAYS + 1) * 25);
	EXPECT(memory.core[0].traffic.walks, TLB_WAYS + 2 + STLB_WAYS + 1 + STLB_WAYS + 1);
	end();
}

/* A line that no core has accessed yet is in the L3 of the core that asks, until its capacity has been asked for. */
static void a_warm_start(void)
{
	begin();
	at(1, LINE + 999, LOAD, 0);
	memory_warm(&memory);
	EXPECT(at(0, LINE + 999, LOAD, 1000), 110); /* as always */
	EXPECT(at(0, LINE, LOAD, 2000), 40);
	EXPECT(at(4, LINE, LOAD, 3000), 214); /* core 0 has it alone */
	EXPECT(at(4, LINE + 1, STORE, 4000), 1);
	EXPECT(drained(4, 4001), 39);
	for (unsigned i = 1; i < 32 * 8; i++)
		EXPECT(at(0, LINE + 1000 + i, LOAD, 4000 + 1000 * i), 40);
	EXPECT(at(0, LINE + 2000, LOAD, 1000000), 181);
	EXPECT(at(0, LINE + 1008, LOAD, 1001000), 181); /* left for that one, and comes from where it is */
	EXPECT(at(4, LINE + 2001, LOAD, 1002000), 40);
	end();
}

static void beyond_the_model(void)
{
	begin();
	EXPECT(at(0, MEMORY_LINES, LOAD, 0), 261);
	EXPECT(at(0, MEMORY_LINES - 1, LOAD, 0), 261);
	end();
}

static uint64_t fetched(unsigned core, uint64_t line, uint64_t now)
{
	return memory_fetch(&memory, core, line, now * UNIT) / UNIT - now;
}

/* L1I has 2 sets of 2 ways here: LINE, LINE + 2, LINE + 4 go into one set. */
static void fetches(void)
{
	uint64_t code[CODE_SLOTS] = { 0 };
	begin();
	memory.core[0].code = code;
	EXPECT(fetched(0, LINE, 0), 181);       /* nobody has it, memory of its socket */
	EXPECT(code[code_slot(LINE)], LINE);    /* not to be told again */
	EXPECT(fetched(0, LINE, 1000), 0);
	EXPECT(at(0, LINE, LOAD, 1100), 8);     /* not in the L1 for data: from L2 */
	EXPECT(fetched(1, LINE, 2000), 40);     /* shared from the start (E is for data): from their L3 */
	EXPECT(fetched(4, LINE, 3000), 160);    /* from the other socket */
	EXPECT(fetched(0, LINE + 2, 4000), 181);
	EXPECT(fetched(0, LINE, 5000), 0);      /* a hit changes no order: it stays the first that came, ... */
	EXPECT(fetched(0, LINE + 4, 6000), 181);
	EXPECT(code[code_slot(LINE)], 0);       /* ... and is the first to leave */
	EXPECT(fetched(0, LINE, 7000), 8);      /* L2 has it */
	EXPECT(memory.core[0].traffic.fetches, 4);
	EXPECT(at(2, LINE, STORE, 8000), 1);    /* a store into code invalidates all copies */
	EXPECT(drained(2, 8000), 180);
	EXPECT(code[code_slot(LINE)], 0);
	EXPECT(lost_count, 3);
	EXPECT(fetched(0, LINE, 9000), 140);    /* and has it alone: a transfer */
	EXPECT(fetched(0, MEMORY_LINES, 9500), 261);
	end();
}

/* A block of three lines, executed twice on two cores: by hand 3 x 181, 3 x 40, then nothing; as data it is
 * exclusive. */
static void code_is_shared(void)
{
	uint64_t cost[2][2] = { { 0 } };
	begin();
	for (unsigned turn = 0; turn < 2; turn++)
		for (unsigned core = 0; core < 2; core++)
			for (uint64_t line = 0; line < 3; line++)
				cost[turn][core] += fetched(core, LINE + line, 1000 * (2 * turn + core) + 200 * line);
	EXPECT(cost[0][0], 3 * 181);
	EXPECT(cost[0][1], 3 * 40);
	EXPECT(cost[1][0] + cost[1][1], 0);
	end();
}

/* Whatever cores do: one owner, the only core that has it writable; every core with a copy is in the directory. */
static void invariants(void)
{
	static uint64_t code[8][CODE_SLOTS];
	uint64_t seed = 88172645463325252ull, now[8] = { 0 };
	begin();
	for (unsigned core = 0; core < 8; core++)
		memory.core[core].code = code[core];
	for (unsigned step = 0; step < 200000; step++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		unsigned core = seed % 8;
		uint64_t line = 1 + (seed >> 8) % 600, before = now[core];
		enum access access = (enum access)((seed >> 32) % 4);
		now[core] = access == FETCH ? memory_fetch(&memory, core, line, now[core] + UNIT)
		                            : memory_access(&memory, core, line, access, now[core] + UNIT);
		EXPECT(now[core] > before, 1);
		if (step % 256)
			continue;
		for (line = 1; line <= 600; line++) {
			unsigned writers = 0, holders = 0;
			for (core = 0; core < 8; core++) {
				entry_t entry = cache_find(&memory.core[core].l2, line),
				        inner = cache_find(&memory.core[core].l1, line);
				EXPECT(inner && !entry, 0); /* L1 is within L2 */
				EXPECT(inner && inner != entry, 0);
				bool has_code = cache_has(&memory.core[core].l1i, line);
				EXPECT(has_code && !entry, 0); /* and so is L1I */
				EXPECT(code[core][code_slot(line)] == line && !has_code, 0);
				writers += entry && entry_writable(entry);
				holders += entry != 0;
			}
			EXPECT(writers && holders > 1, 0);
		}
	}
	end();
}

static void begin_salted(uint64_t salt)
{
	machine = small_machine();
	machine.l1i = (struct cache_shape){ PAGE_LINES, 1 };
	machine.l2 = (struct cache_shape){ 4 * PAGE_LINES, 1 };
	memory_make(&memory, &machine);
	memory_salt(&memory, salt);
}

/* Fetches a page of code, then the first line of another. Returns which line of the first has left L1I, which has one
 * way; `copy`: the same code elsewhere in memory. */
static uint64_t evicted_code(uint64_t salt, uint64_t copy)
{
	const uint64_t first = (copy + 10) * PAGE_LINES, second = first + PAGE_LINES;
	static uint64_t code[CODE_SLOTS]; /* of lines that L1I has */
	uint64_t missing = 0, missed = 0;
	begin_salted(salt);
	memory.core[0].code = code;
	for (uint64_t line = 0; line < PAGE_LINES; line++) {
		memory_place_code(&memory, first + line, 0x401000 + (line << 6));
		fetched(0, first + line, 1000 * line);
	}
	memory_place_code(&memory, second, 0x407000);
	fetched(0, second, 100000);
	EXPECT(memory.core[0].traffic.fetches, PAGE_LINES + 1); /* a page's lines have places of their own */
	for (uint64_t line = 0; line < PAGE_LINES; line++)
		if (code[code_slot(first + line)] != first + line) {
			missing++;
			missed = line;
		}
	EXPECT(missing, 1);
	end();
	return missed;
}

/* Returns whether the lines drive each other out of the L2 of the core, which has one way. */
static bool conflict(unsigned core, uint64_t line, uint64_t other)
{
	static uint64_t now;
	at(core, line, LOAD, now += 1000);
	at(core, other, LOAD, now += 1000);
	return !cache_has(&memory.core[core].l2, line);
}

/* Touches the page. Returns the set in which the second TLB has it from then on. */
static unsigned set_of_page(unsigned core, uint64_t page)
{
	unsigned set = 0;
	memory_translate(&memory, core, page << 12);
	while (set < STLB_SETS && (memory.core[core].stlb[set][0] & 0xfffffffff) != page)
		set++;
	EXPECT(set < STLB_SETS, true);
	return set;
}

/* Returns how many sets the pages of one group of STLB_SETS have. */
static unsigned sets_of_group(unsigned core, uint64_t group)
{
	bool used[STLB_SETS] = { 0 };
	unsigned count = 0;
	for (uint64_t page = group * STLB_SETS; page < (group + 1) * STLB_SETS; page++) {
		bool *of = &used[set_of_page(core, page)];
		count += !*of;
		*of = true;
	}
	return count;
}

static void salts(void)
{
	enum { SALTS = 4, PAGE = 3 * STLB_SETS + 5, GROUP = 4 * PAGE_LINES, GROUPS = 64 };
	unsigned moved = 0, conflicts = 0, differ = 0, placed = 0;
	EXPECT(evicted_code(0, 0), 0);
	for (uint64_t salt = 1; salt <= SALTS; salt++)
		moved += evicted_code(salt, 0) != 0;
	EXPECT(moved > SALTS / 2, true);
	EXPECT(evicted_code(SALTS, 1000), evicted_code(SALTS, 0)); /* all copies of a program are rotated alike */
	begin_salted(0);
	EXPECT(set_of_page(0, PAGE), 5);
	EXPECT(conflict(0, GROUP, 2 * GROUP), true);
	end();
	begin_salted(1);
	for (unsigned core = 0; core < 8; core++)
		placed |= 1u << set_of_page(core, PAGE) % 32;
	EXPECT(__builtin_popcount(placed) > 4, true); /* each core has places of its own */
	EXPECT(sets_of_group(0, 3), STLB_SETS); /* neighbours have sets of their own */
	for (uint64_t group = 2; group < 2 + GROUPS; group++) {
		conflicts += conflict(0, GROUP, group * GROUP);
		differ += conflict(0, GROUP, group * GROUP) != conflict(1, GROUP, group * GROUP);
	}
	EXPECT(conflicts > GROUPS / 16 && conflicts < GROUPS / 2, true); /* one in four */
	EXPECT(differ > GROUPS / 16, true);
	for (uint64_t page = 1; page < 4; page++)
		EXPECT(conflict(0, GROUP, GROUP + page * PAGE_LINES), false); /* neighbours keep different colours */
	end();
}

int main(void)
{
	loads();
	stores();
	upgrades();
	a_hand_over();
	alone_it_is_exclusive();
	lines_are_busy();
	readers_queue();
	the_store_buffer_is_in_order();
	atomics_wait_for_stores();
	levels();
	inclusion();
	an_atomic_approaches();
	translations();
	sets_of_translations();
	a_warm_start();
	beyond_the_model();
	fetches();
	code_is_shared();
	invariants();
	salts();
	return 0;
}
