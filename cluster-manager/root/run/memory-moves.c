/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/errors.h>
#include <skerry/ledger.h>
#include <skerry/memory_control.h>
#include "console.h"
#include "map.h"
#include "memory-move.h"
#include "memory-moves.h"
#include "report.h"
#include "root.h"
#include "watch.h"

enum {
	TAKE_BACK = 400, /* ticks for which a cluster that lives may leave memory parked that is for it */
	AGAIN = 20,      /* ticks until what could not be taken is tried again */
};

static struct {
	uint64_t obeyed; /* the last order */
	uint32_t number, to;
	uint32_t ticks; /* until what has not been taken is taken back; 0: nothing is waited for */
} order_now;
static uint64_t seen;   /* changes, when parked memory was last looked for */
static uint32_t again;  /* ticks until it is looked for in any case; 0: it is not */

static const struct memory_control *control_words(void) { return (const struct memory_control *)ROOT_MEMORY_VADDR; }
/* those behind the last are none */
static uint64_t piece_count(void)
{
	return ROOT->memory_size - sizeof(struct memory_control);
}

static void report_event(enum memory_event what, uint32_t pieces, uint32_t cluster, int error)
{
	const struct report_moved body = { .number = order_now.number, .what = what, .pieces = pieces,
	                                   .cluster = cluster,
		                           .free = memory_free_pieces(), .error = (uint32_t)-error };
	report(REPORT_MOVED, &body, sizeof(body));
}

static bool is_parked_for(uint64_t piece, uint32_t cluster)
{
	return memory_read(control_words(), piece) == memory_byte(MEMORY_PARKED, cluster);
}

/* log2 of the bytes of the largest aligned block of at most `most` pieces that begins there and is parked for the
 * cluster. */
static unsigned block_at_piece(uint64_t piece, uint32_t cluster, uint64_t most)
{
	unsigned bits = MEMORY_PIECE_BITS;
	for (uint64_t size = 1; bits < MEMORY_MOVE_BITS_MAX && !(piece & size) && 2 * size <= most &&
	     piece + 2 * size <= piece_count(); size *= 2, bits++)
		for (uint64_t i = size; i < 2 * size; i++)
			if (!is_parked_for(piece + i, cluster))
				return bits;
	return bits;
}

/* Takes at most `most` pieces that are parked for `cluster`. Returns how many. */
static uint32_t take_parked(uint32_t cluster, uint64_t most, int *error)
{
	uint32_t taken = 0;
	*error = 0;
	for (uint64_t piece = 0; piece < piece_count() && taken < most; piece++) {
		if (!is_parked_for(piece, cluster))
			continue;
		unsigned bits = block_at_piece(piece, cluster, most - taken);
		uint64_t size = 1ull << (bits - MEMORY_PIECE_BITS);
		int failed = memory_gain(piece << MEMORY_PIECE_BITS, bits);
		if (failed)
			*error = failed;
		else
			taken += (uint32_t)size;
		piece += size - 1;
	}
	return taken;
}

/* Takes pieces of other clusters that have not taken them, on an order from outside. */
static void adopt_pieces(uint32_t pieces)
{
	uint32_t taken = 0;
	int error = 0;
	for (uint32_t i = 0; i < ROOT->controlled_count && taken < pieces; i++)
		taken += take_parked(ROOT->controlled[i], pieces - taken, &error);
	report_event(MEMORY_ADOPTED, taken, ROOT->cluster, error);
}

static void give_up(uint32_t pieces)
{
	uint32_t to = order_now.to, given = 0;
	int error = 0;
	if (!map_cluster(map, to))
		return report_event(MEMORY_REFUSED, 0, ROOT->cluster, -SKERRY_BAD_ARGUMENT);
	if (watch_verdict(to))
		return report_event(MEMORY_IS_DOWN, 0, to, 0);
	if (memory_free_pieces() < pieces)
		return report_event(MEMORY_TOO_LITTLE, 0, to, 0);
	given = memory_part_with(pieces, to, &error);
	order_now.ticks = given ? TAKE_BACK : 0;
	if (given)
		console_print("%u MiB are for cluster %u now", given << (MEMORY_PIECE_BITS - 20), to);
	report_event(given ? MEMORY_GIVEN : MEMORY_REFUSED, given, to, error);
}

static void order_obey(uint64_t word)
{
	if (!ledger_memory_is(word) || word == order_now.obeyed)
		return;
	order_now.obeyed = word;
	order_now.number = ledger_memory_number(word);
	order_now.to = ledger_memory_to(word);
	order_now.ticks = 0;
	if (order_now.to == ROOT->cluster)
		adopt_pieces(ledger_memory_pieces(word));
	else
		give_up(ledger_memory_pieces(word));
}

/* While the cluster is lost, its next life may take it. */
static void take_back(void)
{
	int error;
	if (!order_now.ticks || watch_verdict(order_now.to) || --order_now.ticks)
		return;
	uint32_t pieces = take_parked(order_now.to, UINT64_MAX, &error);
	if (pieces)
		report_event(MEMORY_RETURNED, pieces, order_now.to, error);
}

static uint32_t take_own(void)
{
	int error;
	seen = memory_changes(control_words());
	uint32_t pieces = take_parked(ROOT->cluster, UINT64_MAX, &error);
	again = error ? AGAIN : 0;
	if (pieces)
		console_print("%u MiB of memory are this cluster's now", pieces << (MEMORY_PIECE_BITS - 20));
	return pieces;
}

static void orders_poll(void)
{
	if (memory_changes(control_words()) == seen && (!again || --again))
		return;
	uint32_t pieces = take_own();
	if (pieces)
		report_event(MEMORY_TAKEN, pieces, ROOT->cluster, 0);
}

void memory_moves_begin(void)
{
	if (ROOT->memory_control)
		take_own();
}

void memory_moves_tick(void)
{
	if (!ROOT->memory_control || !ROOT->ledger_count)
		return;
	order_obey(atomic_load_explicit(&((const struct ledger *)ROOT_LEDGER_VADDR)->kernel.memory,
	                                memory_order_relaxed));
	take_back();
	orders_poll();
}
