/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Independent ping-pong on every core (Elphinstone 2016, section 5.1.2): each
 * has a client and a server in address spaces of their own, an endpoint and a
 * reply object, and shares nothing with the others but the kernel. Before each
 * Call and each answer comes an exponentially distributed delay, so that every
 * entry into the kernel is one arrival of the queueing model.
 */
#include "exponential.h"
#include "mark.h"
#include "output.h"
#include "pingpong.h"

enum { WARM_UP = 32 }; /* round trips of core 0 before those that count; every other core has made one by then */
_Static_assert((int)EXPONENTIAL_COUNT == SCALE_COUNT, "as scale.S has it");

extern const char scale_start[], scale_end[], scale_client[], scale_server[], scale_client_cycles[],
	scale_server_cycles[];
static const struct code code = { scale_start, scale_end };

/* What a core's threads work with; only they touch it while they run, but for `signal_at`. */
struct block {
	_Atomic uint64_t rounds, signal_at;
	uint64_t signal_call, signal_cap;
	_Atomic uint64_t drawn;
	uint64_t errors;
	char line[16];
	_Atomic uint64_t server_drawn;
	uint64_t server_errors;
	char page[SCALE_DELAYS - 80];
	uint32_t delays[SCALE_COUNT]; /* the client's; in units of the program */
	char page_rest[4096 - 4 * SCALE_COUNT];
	uint32_t server_delays[SCALE_COUNT];
};
_Static_assert(offsetof(struct block, signal_at) == SCALE_SIGNAL_AT && offsetof(struct block, signal_call) == SCALE_SIGNAL &&
               offsetof(struct block, drawn) == SCALE_DRAWN && offsetof(struct block, errors) == SCALE_ERRORS &&
               offsetof(struct block, server_drawn) == SCALE_SERVER_DRAWN &&
               offsetof(struct block, server_errors) == SCALE_SERVER_ERRORS &&
               offsetof(struct block, delays) == SCALE_DELAYS && offsetof(struct block, server_delays) == SCALE_SERVER_DELAYS && sizeof(struct block) <= SCALE_BLOCK,
               "as scale.S has it");
enum { MOST_CORES = (1 << 21) / SCALE_BLOCK };

static struct block *block_of(unsigned core) { return (struct block *)((char *)shared + core * SCALE_BLOCK); }

/* What has happened until a moment. */
struct snapshot {
	uint64_t time; /* TSC */
	struct counts {
		uint64_t rounds, drawn, idle;
		uint64_t entries, grabs, conflicts, fallbacks; /* of counting kernels */
	} core[MOST_CORES];
};
static struct snapshot before, after;
static uint64_t threads[2 * MOST_CORES];
static bool in_cycles;

/* Core 0 stands still meanwhile, for this thread runs there. */
static void look(struct snapshot *now, unsigned cores)
{
	now->time = read_tsc();
	for (unsigned i = 0; i < cores; i++) {
		struct block *block = block_of(i);
		struct counts *counts = &now->core[i];
		*counts = (struct counts){
			.rounds = block->rounds, .drawn = block->drawn + block->server_drawn, .idle = STAT[i].idle_cycles,
			.entries = STAT[i].entries, .fallbacks = STAT[i].transactions.fallbacks,
		};
		for (unsigned class = 0; class < LOCK_CLASSES; class++) {
			counts->grabs += STAT[i].lock[class].grabs;
			counts->conflicts += STAT[i].lock[class].conflicts;
		}
	}
}

static void pair_make(unsigned core, uint32_t delay)
{
	struct block *block = block_of(core);
	uint32_t mean = in_cycles ? delay : (delay + SCALE_UNIT / 2) / SCALE_UNIT;
	block->signal_at = core ? UINT64_MAX : WARM_UP;
	block->signal_call = SYS_SIGNAL;
	block->signal_cap = shared_done();
	exponential_fill(block->delays, mean, 2 * core);
	exponential_fill(block->server_delays, mean, 2 * core + 1);

	uint64_t endpoint = object(OBJECT_ENDPOINT, 0);
	uint64_t data = SHARED_THERE + core * SCALE_BLOCK;
	struct thread_registers client = { .rbx = data, .r13 = SYS_CALL, .r15 = badged(endpoint, 1, RIGHT_WRITE) };
	struct thread_registers server = { .rbx = data, .r13 = SYS_REPLY_RECV, .r15 = endpoint,
	                                   .rax = SYS_RECV, .rdi = endpoint, .r12 = object(OBJECT_REPLY, 0) };
	threads[2 * core] = thread_of(&code, space_of(&code), 0, core, in_cycles ? scale_server_cycles : scale_server, server);
	threads[2 * core + 1] =
		thread_of(&code, space_of(&code), 0, core, in_cycles ? scale_client_cycles : scale_client, client);
}

static bool all_run(unsigned cores)
{
	for (unsigned i = 0; i < cores; i++)
		if (!block_of(i)->rounds)
			return false;
	return true;
}

static void wait_rounds(uint64_t rounds)
{
	block_of(0)->signal_at = block_of(0)->rounds + rounds;
	shared_wait();
}

static void number(struct text *line, const char *name, uint64_t value)
{
	text_string(line, ",\"");
	text_string(line, name);
	text_string(line, "\":");
	text_number(line, value);
}

static void report(unsigned cores, uint32_t delay)
{
	for (unsigned i = 0; i < cores; i++) {
		const struct counts *a = &before.core[i], *b = &after.core[i];
		struct text line = { 0 };
		text_string(&line, "{\"event\":\"scale-core\"");
		number(&line, "cluster", ROOT->cluster);
		number(&line, "cpu", ROOT->cpu_number[i]);
		number(&line, "rounds", b->rounds - a->rounds);
		number(&line, "drawn", (b->drawn - a->drawn) * (in_cycles ? 1 : SCALE_UNIT));
		number(&line, "idle", b->idle - a->idle);
		number(&line, "entries", b->entries - a->entries);
		number(&line, "grabs", b->grabs - a->grabs);
		number(&line, "conflicts", b->conflicts - a->conflicts);
		number(&line, "fallbacks", b->fallbacks - a->fallbacks);
		text_string(&line, "}\n");
		output_results(line.bytes, line.length);
	}
	struct text line = { 0 };
	text_string(&line, "{\"event\":\"scale\"");
	number(&line, "cores", cores);
	number(&line, "delay", delay);
	number(&line, "cycles", after.time - before.time);
	text_string(&line, "}\n");
	output_results(line.bytes, line.length);
}

/* `rounds` are those of all pairs; each goes through all of its delays as often as the others, and at least once. */
static void measure(unsigned cores, uint32_t delay, unsigned rounds)
{
	shared_make(1);
	memset(shared, 0, sizeof(struct block));
	for (unsigned i = 0; i < cores; i++)
		pair_make(i, delay);
	for (unsigned i = 0; i < 2 * cores; i++)
		check_ok(tcb_resume(threads[i]));
	shared_wait();
	while (!all_run(cores))
		wait_rounds(1);
	MARK(1);
	look(&before, cores);
	wait_rounds(((rounds + cores - 1) / cores + SCALE_COUNT - 1) / SCALE_COUNT * SCALE_COUNT);
	MARK(2);
	look(&after, cores);
	for (unsigned i = 0; i < 2 * cores; i++)
		check_ok(tcb_suspend(threads[i]));
	for (unsigned i = 0; i < cores; i++)
		check_eq(block_of(i)->errors | block_of(i)->server_errors, 0);
	report(cores, delay);
	memory_reset();
}

void scale_measure(const struct scale *scale)
{
	in_cycles = !strcmp(scale->unit, "cycles");
	check(in_cycles || !strcmp(scale->unit, "instructions"));
	for (const uint32_t *cores = scale->cores; *cores; cores++) {
		check(*cores <= ROOT->cpu_count && *cores <= MOST_CORES);
		for (const uint32_t *delay = scale->delays; *delay; delay++)
			measure(*cores, *delay, scale->rounds);
	}
}
