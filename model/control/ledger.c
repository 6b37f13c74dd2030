/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel's last words in its ledger (skerry/ledger.h), and a reader
 * (skerry/ledger_read.h) that looks while they are written, and again. The
 * kernel dies before each of its stores in turn: what the reader finds then is
 * silence, or all of the words. The end of its report changes none of them.
 */
#include <setjmp.h>
#include <string.h>
#include "explore.h"
#include <skerry/ledger_read.h>

enum { LOOKS = 2, CORE = 1, CORES = 2, STORES = LEDGER_TEXT_WORDS + 3, AFTER = STORES + 1 };
enum { SILENT, SPOKE };
static const char text[] = "exception in the kernel";

static struct ledger_kernel ledger;
static jmp_buf dead;

static void begin(void)
{
	memset(&ledger, 0, sizeof(ledger));
	atomic_store_explicit(&ledger.state, LEDGER_RUNNING, memory_order_relaxed);
	explore_name(&ledger, sizeof(ledger), "ledger");
}

static void die(void) { longjmp(dead, 1); }

/* Before its store number `step`; 0: not at all. */
static void kernel(unsigned step)
{
	if (!setjmp(dead)) {
		explore_die_at(step, die);
		ledger_last_words(&ledger, LEDGER_EXCEPTION, CORE, text);
		ledger_report_ended(&ledger);
	}
	explore_die_at(0, die);
}

/* Whether it spoke; a word that is wrong is a failure. */
static bool look(void)
{
	struct ledger_words words;
	if (!ledger_read_words(&ledger, CORES, &words))
		return false;
	EXPLORE_CHECK(words.reason == LEDGER_EXCEPTION && words.core == CORE && !strcmp(words.text, text),
	              "words that were not said");
	return true;
}

static void reader(void)
{
	bool spoke = false;
	for (unsigned i = 0; i < LOOKS; i++) {
		bool now = look();
		EXPLORE_CHECK(now || !spoke, "words that are unsaid");
		spoke = now;
	}
	explore_outcome(spoke);
}

static void lives(unsigned self) { self ? reader() : kernel(0); }

static void spoken(void) { EXPLORE_CHECK(look(), "words that nobody finds"); }
static void unspoken(void) { EXPLORE_CHECK(!look(), "half of the words are taken for all"); }

static void reports(unsigned self) { self ? reader() : kernel(AFTER); }

#define DIES(n) static void dies_##n(unsigned self) { self ? reader() : kernel(n); }
DIES(1) DIES(2) DIES(3) DIES(4) DIES(5) DIES(6) DIES(7) DIES(8) DIES(9) DIES(10) DIES(11)
_Static_assert(STORES == 11, "a case for each store");

#define CASE(n) { "dies before store " #n, 2, dies_##n, .begin = begin, .end = unspoken, .outcomes = 1 << SILENT }
static const struct explore_case cases[] = {
	{ "says all", 2, lives, .begin = begin, .end = spoken, .outcomes = 1 << SILENT | 1 << SPOKE },
	{ "dies while it reports", 2, reports, .begin = begin, .end = spoken, .outcomes = 1 << SILENT | 1 << SPOKE },
	CASE(1), CASE(2), CASE(3), CASE(4), CASE(5), CASE(6), CASE(7), CASE(8), CASE(9), CASE(10), CASE(11),
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
