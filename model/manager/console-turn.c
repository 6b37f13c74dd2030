/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The console's turn among managers (cluster-manager/root/link/console-turn.c):
 * no two of them write at once, and each has its turn. Two instances of the
 * file, each with its own cluster's ledger first.
 */
#include <stdatomic.h>
#include "explore.h"
#include <skerry/ledger.h>
#include "root.h"
#include "watch.h"

enum { MANAGERS = 2 };

bool console_turn_take_0(void), console_turn_take_1(void);
void console_turn_end_0(void), console_turn_end_1(void);

static struct ledger page[MANAGERS];
static struct root_info info[MANAGERS];
static uint64_t written; /* to the console */

struct ledger *model_ledger(uint32_t i) { return &page[(explore_self() + i) % MANAGERS]; }
const struct root_info *root_of_self(void) { return &info[explore_self()]; }
const struct watch_verdict *watch_verdict(uint32_t cluster) { return (void)cluster, (void *)0; }
bool watch_console_is_taken(void) { return false; }
_Noreturn void manager_panic(const char *format, ...) { explore_fail("the manager panics: %s", format); }
int bell_signal(uint64_t doorbell) { return (void)doorbell, 0; }
int bell_listen(void) { return 0; }

static void set_up(void)
{
	for (uint32_t i = 0; i < MANAGERS; i++) {
		info[i].cluster = i;
		info[i].ledger_count = MANAGERS;
		for (uint32_t k = 0; k < MANAGERS; k++)
			info[i].ledger[k].cluster = (i + k) % MANAGERS;
		explore_name(&page[i].manager.console, sizeof(page[i].manager.console), i ? "ticket 1" : "ticket 0");
	}
	explore_name(&written, sizeof(written), "console");
}

static void take_and_write(unsigned self)
{
	while (!(self ? console_turn_take_1() : console_turn_take_0()))
		explore_relax();
	written++;
	self ? console_turn_end_1() : console_turn_end_0();
}

static void end(void) { EXPLORE_CHECK(written == MANAGERS, "%u lines", (unsigned)written); }

static const struct explore_case cases[] = {
	{ .name = "two lines at once", .threads = MANAGERS, .set_up = set_up, .thread = take_and_write, .end = end },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
