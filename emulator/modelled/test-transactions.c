/* SPDX-License-Identifier: BSD-2-Clause */
/* Transactions, their aborts and fallbacks, in cycles counted by hand. */
#include "transactions.h"
#include <string.h>
#include "test-common.h"

enum { LINE = 100, BEGIN = 10, COMMIT = 5, ABORT = 150, LOCK = 110 + 18, ATTEMPTS = 3 };
static struct machine machine;
static struct transactions all;

static void make(unsigned kernel_cores)
{
	machine = small_machine();
	machine.price.transaction_begin = BEGIN * UNIT;
	machine.price.transaction_commit = COMMIT * UNIT;
	machine.price.transaction_abort = ABORT * UNIT;
	machine.price.atomic = 18 * UNIT;
	uint16_t kernel[8];
	for (unsigned i = 0; i < 8; i++)
		kernel[i] = (uint16_t)(i / kernel_cores);
	transactions_make(&all, &machine, kernel);
}

/* All in cycles. */
static uint64_t begin(unsigned core, uint64_t now)
{
	return transaction_begin(&all, core, ATTEMPTS, now * UNIT) / UNIT;
}
static uint64_t commit(unsigned core, uint64_t now) { return transaction_commit(&all, core, now * UNIT) / UNIT; }
static uint64_t touch(unsigned core, uint64_t line, bool store, uint64_t now)
{
	return transaction_touch(&all, core, line, store, now * UNIT) / UNIT;
}
static uint64_t moved(unsigned core, uint64_t line, bool store, uint64_t now)
{
	return transaction_moved(&all, &(struct movement){ .core = core, .line = line, .store = store,
	                                                   .when = now * UNIT }) / UNIT;
}
/* A transaction of the core from 0 to 1000 that writes the line at 400. */
static void writes(unsigned core)
{
	EXPECT(begin(core, 0), BEGIN);
	EXPECT(touch(core, LINE, true, 400), 0);
	EXPECT(commit(core, 1000 - COMMIT), COMMIT);
}
static void counts(unsigned core, uint64_t begun, uint64_t committed, uint64_t fallbacks)
{
	const struct transaction_counts *c = &all.core[core].counts;
	EXPECT(c->begun, begun);
	EXPECT(c->committed, committed);
	EXPECT(c->fallbacks, fallbacks);
	uint64_t aborted = 0;
	for (unsigned i = 0; i < ABORT_REASONS; i++)
		aborted += c->aborted[i];
	EXPECT(aborted + committed, begun);
}

static void alone(void)
{
	make(8);
	writes(0);
	EXPECT(begin(1, 1000), BEGIN); /* behind it: no conflict */
	EXPECT(moved(1, LINE, true, 1100), 0);
	EXPECT(commit(1, 1200), COMMIT);
	counts(0, 1, 1, 0);
	counts(1, 1, 1, 0);
	transactions_free(&all);
}

/* Two that overlap: the second touches the line before the first has, is aborted when that does, and reaches it
 * later. */
static void conflict(void)
{
	make(8);
	writes(0);
	begin(1, 0);
	/* asks at 100: aborted at 400; again from 550, there at 650: aborted; again from 800, at 900: the third, then
	 * the lock */
	EXPECT(moved(1, LINE, true, 100), 900 + ABORT + LOCK + 100 - 100);
	EXPECT(commit(1, 2000), 0); /* with the lock there is nothing to commit */
	counts(1, 3, 0, 1);
	EXPECT(all.core[1].counts.aborted[BY_CONFLICT], 3);
	transactions_free(&all);

	make(8);
	writes(0);
	begin(1, 700); /* asks at 850: aborted; again from 1000, there at 1150 */
	EXPECT(moved(1, LINE, false, 850), 300);
	EXPECT(commit(1, 1300), COMMIT);
	counts(1, 2, 1, 0);
	EXPECT(all.core[1].counts.lost / UNIT, 850 - 700 + ABORT);
	transactions_free(&all);
}

/* Two that read a line do not conflict; one that writes it does, with each of them. */
static void readers(void)
{
	make(8);
	for (unsigned core = 0; core < 3; core++) {
		begin(core, 100 * core);
		EXPECT(moved(core, LINE, false, 500), 0);
		EXPECT(touch(core, LINE, false, 500), 0);
		commit(core, 1000 + 10 * core);
	}
	for (unsigned core = 0; core < 3; core++)
		counts(core, 1, 1, 0);
	transactions_free(&all);

	make(8);
	for (unsigned core = 0; core < 2; core++) {
		begin(core, 0);
		touch(core, LINE, false, 100);
		commit(core, 1000 - COMMIT);
	}
	begin(2, 900);
	EXPECT(moved(2, LINE, true, 950) > 0, 1);
	commit(2, 2000);
	EXPECT(all.core[2].counts.aborted[BY_CONFLICT], 1);
	begin(1, 900); /* of the two readers one is itself */
	EXPECT(moved(1, LINE, true, 950) > 0, 1);
	transactions_free(&all);
}

/* An access outside a transaction aborts one: its core pays later, and once. */
static void outside(void)
{
	make(8);
	writes(0);
	EXPECT(moved(1, LINE, false, 600), 0);
	EXPECT(moved(2, LINE, false, 610), 0);
	EXPECT(begin(0, 1000), 600 + ABORT + BEGIN);
	EXPECT(commit(0, 2000), COMMIT);
	counts(0, 3, 2, 0);
	transactions_free(&all);
}

/* L1 has 4 sets of 2 lines, L2 8 of 4. */
static void capacity(void)
{
	make(8);
	begin(0, 0);
	EXPECT(touch(0, 4, true, 100), 0);
	EXPECT(touch(0, 8, false, 100), 0);
	EXPECT(touch(0, 12, false, 100), 0);
	EXPECT(touch(0, 5, true, 100), 0); /* of another set */
	EXPECT(touch(0, 8, true, 200), 0);
	EXPECT(touch(0, 12, true, 300), ABORT + LOCK + 300); /* at once the lock, and all again */
	EXPECT(commit(0, 1000), 0);
	counts(0, 1, 0, 1);
	EXPECT(all.core[0].counts.aborted[BY_CAPACITY], 1);
	begin(1, 3000);
	for (unsigned i = 0; i < 4; i++)
		EXPECT(touch(1, 8 * i, false, 3000), 0);
	EXPECT(touch(1, 8 * 4, false, 3000) > 0, 1);
	transactions_free(&all);
}

/* The lock of a fallback: of a kernel's own cores those wait that begin, and those are aborted that run. */
static void the_lock(void)
{
	make(4);
	begin(1, 0);
	commit(1, 700); /* under way when core 0 takes the lock */
	begin(0, 0);
	for (unsigned i = 0; i < 3; i++)
		touch(0, 4 * (i + 1), true, 100); /* aborted at 100, has the lock from 378 */
	EXPECT(commit(0, 1000), 0);
	EXPECT(begin(2, 500), 1000 + 110 - 500 + BEGIN); /* it sees the lock held */
	EXPECT(commit(2, 2000), COMMIT);
	EXPECT(all.core[2].counts.aborted[BY_LOCK], 1);
	EXPECT(begin(3, 300), BEGIN); /* not yet held */
	EXPECT(commit(3, 500), 1000 + 110 + 205 - 500);
	EXPECT(begin(4, 500), BEGIN); /* another kernel's */
	EXPECT(commit(4, 600), COMMIT);
	EXPECT(begin(1, 3000), 378 + ABORT + BEGIN);
	transactions_free(&all);
}

static void explicit_aborts(void)
{
	make(8);
	begin(0, 0);
	EXPECT(transaction_lock_held(&all, 0, 50 * UNIT) / UNIT, ABORT);
	EXPECT(transaction_runs(&all, 0), 0);
	begin(0, 1000);
	EXPECT(transaction_irrevocable(&all, 0, 1300 * UNIT) / UNIT, ABORT + 300);
	EXPECT(commit(0, 2000), 0); /* the kernel has its lock */
	counts(0, 2, 0, 1);
	transactions_free(&all);
}

static void the_result(void)
{
	static char text[4096];
	make(8);
	begin(3, 0);
	transactions_reset(&all);
	commit(3, 10);
	writes(0);
	FILE *out = fmemopen(text, sizeof(text), "w");
	transactions_write(out, &all);
	fclose(out);
	EXPECT(strcmp(text,
	              "{\"begun\":2,\"committed\":2,\"fallbacks\":0,\"lost\":0,\"aborted_lock\":0,\"aborted_capacity\":0,"
	                    "\"aborted_conflict\":0,\"aborted_irrevocable\":0}"), 0);
	transactions_free(&all);
}

int main(void)
{
	alone();
	conflict();
	readers();
	outside();
	capacity();
	the_lock();
	explicit_aborts();
	the_result();
	return 0;
}
