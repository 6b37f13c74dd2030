/* SPDX-License-Identifier: BSD-2-Clause */
#include "console-turn.h"
#include <skerry/ledger.h>
#include <skerry/require.h>
#include "root.h"
#include "watch.h"

enum { NONE = 0, DRAWING = 1 /* a ticket that is not known yet: below all others */ };
#define HIGHEST (1ull << 62) /* beyond it a page shows nonsense */

static struct {
	uint64_t ticket, drawn_at;
	bool is_ours;
} turn;

static const struct ledger *ledgers(void) { return (const struct ledger *)ROOT_LEDGER_VADDR; }

/*
 * Hazard: store buffering. Of two that draw at once, one at least must see what the other shows: stores and loads of
 * tickets are seq_cst.
 */
static void show(uint64_t ticket) { atomic_store(&((struct ledger *)ROOT_LEDGER_VADDR)->manager.console, ticket); }

/* Returns the ticket of the cluster that ledger `i` is of. */
static uint64_t shown(uint32_t i)
{
	uint64_t ticket = atomic_load(&ledgers()[i].manager.console);
	return ticket > HIGHEST || watch_verdict(ROOT->ledger[i].cluster) ? NONE : ticket;
}

static void draw(void)
{
	uint64_t ticket = DRAWING;
	show(DRAWING);
	for (uint32_t i = 1; i < ROOT->ledger_count; i++) {
		const uint64_t other = shown(i); /* once: its cluster may take it back meanwhile */
		if (other > ticket)
			ticket = other;
	}
	turn.ticket = ticket + 1;
	turn.drawn_at = read_tsc();
	show(turn.ticket);
}

static bool is_first(void)
{
	require(turn.ticket > DRAWING);
	for (uint32_t i = 1; i < ROOT->ledger_count; i++) {
		uint64_t other = shown(i);
		if (other != NONE && (other < turn.ticket ||
		                      (other == turn.ticket && ROOT->ledger[i].cluster < ROOT->cluster)))
			return false;
	}
	return true;
}

bool console_turn_take(void)
{
	if (watch_console_is_taken())
		return false;
	if (turn.is_ours || ROOT->ledger_count < 2)
		return true;
	if (!turn.ticket)
		draw();
	turn.is_ours = is_first() || read_tsc() - turn.drawn_at > milliseconds(CONSOLE_TURN_MS);
	return turn.is_ours;
}

void console_turn_end(void)
{
	if (turn.ticket)
		show(NONE);
	turn.ticket = NONE;
	turn.is_ours = false;
}
