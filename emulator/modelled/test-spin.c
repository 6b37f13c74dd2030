/* SPDX-License-Identifier: BSD-2-Clause */
/* Loops with PAUSE, played: which of them are where they were a turn ago, and which turns must not be skipped. */
#include <string.h>
#include "spin.h"
#include "test-common.h"

enum { CORE = 3, PLACE = 0x401000 };

static struct {
	uint64_t general[SPIN_GENERAL], wide[SPIN_WIDE];
	unsigned wide_reads;
} now;

static uint64_t read_general(unsigned core, unsigned number)
{
	EXPECT(core, CORE);
	return now.general[number];
}
static void read_wide(unsigned core, uint64_t to[SPIN_WIDE])
{
	EXPECT(core, CORE);
	now.wide_reads++;
	memcpy(to, now.wide, sizeof(now.wide));
}
static const struct spin_source source = { read_general, read_wide };

static bool turn(struct spin *spin, unsigned did) { return spin_turn(spin, &source, CORE, PLACE, did); }

/* Returns a loop that has changed nothing for three turns. */
static struct spin settled(void)
{
	struct spin spin = { 0 };
	for (unsigned i = 0; i < SPIN_GENERAL; i++)
		now.general[i] = 1000 + i;
	for (unsigned i = 0; i < SPIN_WIDE; i++)
		now.wide[i] = 2000 + i;
	EXPECT(turn(&spin, 0), 0); /* the first */
	EXPECT(turn(&spin, 0), 0); /* the general registers are the same; of the others nothing was known */
	EXPECT(turn(&spin, 0), 1);
	EXPECT(turn(&spin, SPIN_TAKEN), 1);
	EXPECT(spin.wrong, 0);
	return spin;
}

/* A loop that counts in any register is never there, and if turns of it were skipped all the same, they count. */
static void test_registers(uint64_t *counter)
{
	struct spin spin = settled();
	for (unsigned i = 0; i < 5; i++) {
		--*counter;
		EXPECT(turn(&spin, 0), 0);
	}
	EXPECT(spin.wrong, 0);
	spin = settled();
	spin_skipped(&spin, 7, true);
	--*counter;
	EXPECT(turn(&spin, 0), 0);
	EXPECT(spin.wrong, 7);
	turn(&spin, 0);
	EXPECT(turn(&spin, 0), 1);
	EXPECT(spin.wrong, 7); /* once */
}

/* One that counts in memory, or by the time. */
static void test_did(unsigned did)
{
	struct spin spin = settled();
	EXPECT(turn(&spin, did), 0);
	EXPECT(turn(&spin, did), 0);
	EXPECT(turn(&spin, 0) & turn(&spin, 0), 0);
	EXPECT(turn(&spin, 0), 1);
	spin_skipped(&spin, 5, true);
	EXPECT(turn(&spin, did), 0);
	EXPECT(spin.wrong, did & SPIN_DISTURBED ? 0 : 5);
	EXPECT(turn(&spin, 0) & turn(&spin, 0), 0);
	EXPECT(turn(&spin, 0), 1);
	spin_skipped(&spin, 5, true); /* what another core did explains it */
	now.general[0]++;
	EXPECT(turn(&spin, did | SPIN_TAKEN), 0);
	EXPECT(spin.wrong, did & SPIN_DISTURBED ? 0 : 5);
}

/* `pause; pause;`: the registers are the same at both, and the loop counts. */
static void test_places(void)
{
	struct spin spin = settled();
	EXPECT(spin_turn(&spin, &source, CORE, PLACE + 2, 0), 0);
	EXPECT(turn(&spin, 0), 0);
	EXPECT(spin_turn(&spin, &source, CORE, PLACE + 2, 0), 0);
}

static void test_skipped(void)
{
	struct spin spin = settled();
	spin_skipped(&spin, 100, true);
	EXPECT(turn(&spin, 0), 1);
	spin_skipped(&spin, 100, true);
	EXPECT(turn(&spin, 0), 1);
	EXPECT(spin.wrong, 0);
	spin_skipped(&spin, 0, false); /* parked without a reason, and no turn was skipped */
	EXPECT(spin.wrong, 0);
	spin_skipped(&spin, 9, false);
	EXPECT(spin.wrong, 9);
	EXPECT(turn(&spin, 0), 1);
	EXPECT(spin.wrong, 9);
}

int main(void)
{
	for (unsigned i = 0; i < SPIN_GENERAL; i++)
		test_registers(&now.general[i]);
	for (unsigned i = 0; i < SPIN_WIDE; i++)
		test_registers(&now.wide[i]);
	test_did(SPIN_STORED);
	test_did(SPIN_LOOKED);
	test_did(SPIN_DISTURBED);
	test_places();
	test_skipped();
	/* A loop that counts in general registers, as most do, costs no look at the others. */
	struct spin spin = settled();
	now.wide_reads = 0;
	for (unsigned i = 0; i < 100; i++, now.general[1]++)
		turn(&spin, 0);
	EXPECT(now.wide_reads <= 1, 1);
	return 0;
}
