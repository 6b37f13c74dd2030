/* SPDX-License-Identifier: BSD-2-Clause */
/* Lock statistics from what cores read and write: the accesses of cluster-kernel/lock/, in cycles counted by hand. */
#include "locks.h"
#include <string.h>
#include "test-common.h"

enum { TAIL = 0x8000, NODE = 0x10000, TICKET = 0x9000, CALL = 1, CORES = 8 };
static char text[1 << 16];
static bool taken; /* by the last access */

/* One access at `now`, which takes a cycle. Physical memory is as far as virtual. */
static void at(unsigned core, uint64_t now, bool store, bool atomic, uint64_t address, unsigned size, uint64_t value)
{
	taken = locks_access(&(struct lock_access){ .core = core, .store = store, .atomic = atomic, .address = address,
	                                    .physical = address,
	                                    .value = value, .size = size, .before = now * UNIT,
	                                    .after = (now + 1) * UNIT });
}
static void load(unsigned core, uint64_t now, uint64_t address, uint64_t value)
{
	at(core, now, false, false, address, 4, value);
}
static void store(unsigned core, uint64_t now, uint64_t address, uint64_t value)
{
	at(core, now, true, false, address, 4, value);
}
static void exchange(unsigned core, uint64_t now, uint64_t address, unsigned size, uint64_t old, uint64_t value)
{
	at(core, now, false, true, address, size, old);
	at(core, now, true, true, address, size, value);
}

static void says(const char *part)
{
	FILE *out = fmemopen(text, sizeof(text), "w");
	locks_write(out);
	fclose(out);
	if (!strstr(text, part)) {
		fprintf(stderr, "%s is not in %s\n", part, text);
		exit(1);
	}
}

/* Core 0 has it from 11 to 50; core 1 wants it at 20 and has it from 61 to 70. */
static void clh(void)
{
	locks_make(PROTOCOL_CLH, TAIL, CORES);
	locks_entered(0, CALL);
	store(0, 9, NODE, 1);
	exchange(0, 10, TAIL, 8, NODE + 0x400, NODE);
	EXPECT(taken, false);
	load(0, 10, NODE + 0x400, 0);
	EXPECT(taken, true);
	load(0, 15, 0x777000, 0); /* what is done inside */
	store(0, 16, NODE + 0x40, 0); /* not its node */
	store(1, 19, NODE + 0x100, 1);
	exchange(1, 20, TAIL, 8, NODE, NODE + 0x100);
	load(1, 21, NODE, 1);
	EXPECT(taken, false); /* core 0 has it */
	locks_moved(1, NODE / 64, NODE);
	store(0, 50, NODE, 0);
	EXPECT(taken, false);
	load(1, 60, NODE, 0);
	EXPECT(taken, true);
	locks_moved(1, 5, 5 * 64);
	store(1, 70, NODE + 0x100, 0);
	says("\"address\":32768,\"acquisitions\":2,\"conflicts\":1,\"handovers\":1,"
	     "\"wait\":42,\"wait_max\":41,\"hold\":48,\"hold_max\":39,"
	     "\"lock_moves\":1,\"inside_moves\":1,\"handover\":12}");
	says("{\"kind\":1,\"entries\":1,\"moves\":0,\"acquisitions\":1,\"conflicts\":0,\"handovers\":0,\"wait\":1,");
	says("{\"kind\":511,\"entries\":0,\"moves\":2,\"acquisitions\":1,\"conflicts\":1,");
	locks_reset();
	says("\"locks\":[],\"kinds\":[]");
	exchange(0, 80, TAIL, 8, NODE + 0x100, NODE + 0x400); /* its last holder is still known */
	load(0, 80, NODE + 0x100, 0);
	says("\"acquisitions\":1,\"conflicts\":0,\"handovers\":1,\"wait\":1,\"wait_max\":1,\"hold\":0,");
	locks_free();
}

/* Core 0 finds it free; core 1 waits for it and has no successor. */
static void mcs(void)
{
	locks_make(PROTOCOL_MCS, TAIL, CORES);
	at(0, 9, true, false, NODE, 8, 0);
	exchange(0, 10, TAIL, 8, 0, NODE);
	EXPECT(taken, true);
	exchange(1, 20, TAIL, 8, NODE, NODE + 0x100);
	store(1, 21, NODE + 0x108, 1);
	at(1, 22, true, false, NODE, 8, NODE + 0x100);
	load(1, 23, NODE + 0x108, 1);
	at(0, 30, false, false, NODE, 8, NODE + 0x100);
	store(0, 31, NODE + 0x108, 0);
	load(1, 40, NODE + 0x108, 0);
	at(1, 49, false, false, NODE + 0x100, 8, 0);
	exchange(1, 50, TAIL, 8, NODE + 0x100, 0);
	says("\"acquisitions\":2,\"conflicts\":1,\"handovers\":1,"
	     "\"wait\":22,\"wait_max\":21,\"hold\":29,\"hold_max\":20,");
	exchange(1, 60, TAIL, 8, 0, NODE + 0x100); /* a successor comes between the look and the compare: it fails */
	exchange(1, 70, TAIL, 8, NODE + 0x200, 0);
	at(1, 71, false, false, NODE + 0x100, 8, NODE + 0x200);
	store(1, 72, NODE + 0x208, 0);
	says("\"acquisitions\":3,\"conflicts\":1,\"handovers\":1,\"wait\":23,\"wait_max\":21,\"hold\":40,");
	says("\"inside_moves\":0,\"handover\":12");
	locks_free();
}

static void take(unsigned core, uint64_t now, uint64_t lock, uint64_t ticket, uint64_t serving)
{
	exchange(core, now, lock, 4, ticket, 1); /* QEMU tells what is added, not the sum */
	load(core, now, lock + 4, serving);
}

/* Several are held at once, and given up in any order; what is added elsewhere is no lock. */
static void tickets(void)
{
	locks_make(PROTOCOL_TICKET, 0, CORES);
	take(0, 10, TICKET, 7, 7);
	take(0, 20, TICKET + 0x100, 3, 3);
	exchange(0, 22, 0x500000, 4, 12, 1); /* a counter */
	load(0, 23, 0x500100, 12);
	take(1, 25, TICKET, 8, 7);
	EXPECT(taken, false);
	load(0, 30, TICKET + 4, 7);
	store(0, 30, TICKET + 4, 8);
	load(1, 40, TICKET + 4, 8);
	EXPECT(taken, true);
	store(0, 50, TICKET + 0x104, 4);
	store(1, 60, TICKET + 4, 9);
	says("\"address\":36864,\"acquisitions\":2,\"conflicts\":1,\"handovers\":1,"
	     "\"wait\":17,\"wait_max\":16,\"hold\":38,\"hold_max\":19,\"lock_moves\":0,"
	     "\"inside_moves\":0,\"handover\":12}");
	says("\"address\":37120,\"acquisitions\":1,\"conflicts\":0,\"handovers\":0,"
	     "\"wait\":1,\"wait_max\":1,\"hold\":29,\"hold_max\":29,");
	EXPECT(strstr(text, "5242880") != NULL, 0);
	locks_free();
}

int main(void)
{
	clh();
	mcs();
	tickets();
	return 0;
}
