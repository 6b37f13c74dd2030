/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Independent ping-pong on every core (Elphinstone 2016, section 5.1.2): each
 * has a client and a server in address spaces of their own, an endpoint and a
 * reply object, and shares nothing with the others but the kernel. Before each
 * Call and each answer comes an exponentially distributed delay, so that every
 * entry into the kernel is one arrival of the queueing model.
 */
#include <skerry/mark.h>
#include "bare.h"
#include "pingpong.h"

enum { MOST_CORES = 1024 }; /* of the machine */

/* The counters at a moment. */
struct snapshot {
	uint64_t time; /* TSC */
	struct counts {
		uint64_t rounds, drawn, idle;
		uint64_t entries, acquisitions, conflicts, fallbacks; /* of counting kernels */
	} core[MOST_CORES];
};
static struct snapshot before, after;

static struct block *block_of(const struct order *order, unsigned core)
{
	return block_in(cluster_frame(core / order->cores), core % order->cores);
}

/* Core 0 stands still meanwhile, for this thread runs there. */
static void take_snapshot(struct snapshot *now, const struct order *order)
{
	now->time = read_tsc();
	for (unsigned i = 0; i < order->cores * clusters(); i++) {
		struct block *block = block_of(order, i);
		struct counts *counts = &now->core[i];
		*counts = (struct counts){ .rounds = block->rounds, .drawn = block->drawn + block->server_drawn };
		if (i >= order->cores)
			continue; /* what another cluster's kernel counts is its own */
		counts->idle = STAT[i].idle_cycles;
		counts->entries = STAT[i].entries;
		counts->fallbacks = STAT[i].transactions.fallbacks;
		for (unsigned class = 0; class < LOCK_CLASSES; class++) {
			counts->acquisitions += STAT[i].lock[class].acquisitions;
			counts->conflicts += STAT[i].lock[class].conflicts;
		}
	}
}

static void wait_rounds(uint64_t rounds)
{
	block_in(shared, 0)->signal_at = block_in(shared, 0)->rounds + rounds;
	shared_wait();
}

static void add_number(struct text *line, const char *name, uint64_t value)
{
	text_format(line, ",\"%s\":%lu", name, value);
}

static void report_order(const struct order *order)
{
	for (unsigned i = 0; i < order->cores * clusters(); i++) {
		const struct counts *a = &before.core[i], *b = &after.core[i];
		struct text line = LINE;
		text_format(&line, "{\"event\":\"scale-core\"");
		add_number(&line, "cluster", block_of(order, i)->cluster);
		add_number(&line, "cpu", block_of(order, i)->cpu);
		add_number(&line, "rounds", b->rounds - a->rounds);
		add_number(&line, "drawn", (b->drawn - a->drawn) * (order->in_cycles ? 1 : SCALE_UNIT));
		add_number(&line, "idle", b->idle - a->idle);
		add_number(&line, "entries", b->entries - a->entries);
		add_number(&line, "acquisitions", b->acquisitions - a->acquisitions);
		add_number(&line, "conflicts", b->conflicts - a->conflicts);
		add_number(&line, "fallbacks", b->fallbacks - a->fallbacks);
		text_format(&line, "}\n");
		output_results(&line);
	}
	struct text line = LINE;
	text_format(&line, "{\"event\":\"scale\"");
	add_number(&line, "cores", order->cores * clusters());
	add_number(&line, "delay", order->delay);
	add_number(&line, "cycles", after.time - before.time);
	text_format(&line, "}\n");
	output_results(&line);
}

/* `rounds` are those of all pairs; each goes through all of its delays as often as the others, and at least once. */
static void measure_order(const struct order *order, unsigned rounds)
{
	unsigned cores = order->cores * clusters(), each = (rounds + cores - 1) / cores;
	check(cores <= MOST_CORES);
	MARK(0);
	shared_make(1);
	others_start(order);
	pairs_start(order);
	shared_wait();
	while (!pairs_run() || !others_have_started(order))
		wait_rounds(1);
	MARK(1);
	take_snapshot(&before, order);
	wait_rounds((each + SCALE_COUNT - 1) / SCALE_COUNT * SCALE_COUNT);
	MARK(2);
	take_snapshot(&after, order);
	others_stop(order);
	pairs_stop();
	others_wait_stopped(order);
	report_order(order);
	memory_reset();
}

void scale_measure(const struct scale *scale)
{
	struct order order = { .in_cycles = !strcmp(scale->unit, "cycles"), .section = scale->section };
	check(order.in_cycles || !strcmp(scale->unit, "instructions"));
	check(!order.section || (!order.in_cycles && clusters() == 1));
	for (const uint32_t *cores = scale->cores; *cores; cores++) {
		check(*cores <= ROOT->cpu_count);
		for (const uint32_t *delay = scale->delays; *delay; delay++) {
			order.number++;
			order.cores = *cores;
			order.delay = *delay;
			measure_order(&order, scale->rounds);
		}
	}
}
