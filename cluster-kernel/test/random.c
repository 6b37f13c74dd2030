/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"
#include <string.h>
#include "check.h"

static uint64_t shuffle(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state >> 16;
}

static bool next_random(struct records *self, uint8_t record[RECORD_SIZE])
{
	for (unsigned i = 0; i < RECORD_SIZE; i += 4)
		memcpy(record + i, &(uint32_t){ shuffle(&self->state) }, 4);
	return true;
}

static bool next_of_input(struct records *self, uint8_t record[RECORD_SIZE])
{
	size_t size = self->size < RECORD_SIZE ? self->size : RECORD_SIZE;
	if (!size)
		return false;
	memset(record, 0, RECORD_SIZE);
	memcpy(record, self->data, size);
	self->data += size;
	self->size -= size;
	return true;
}

struct records records_random(uint64_t seed)
{
	return (struct records){ .next = next_random, .state = seed * 0x9e3779b97f4a7c15ull + 1 };
}

struct records records_of(const uint8_t *data, size_t size)
{
	return (struct records){ .next = next_of_input, .data = data, .size = size };
}

/* Whose turn it is: as the records say, and each in its turn where they say 0, so that all go on. */
struct turns {
	uint64_t state;
	unsigned next;
};

static unsigned choose(void *argument, unsigned count)
{
	struct turns *turns = argument;
	return turns->state ? shuffle(&turns->state) % count : turns->next++ % count;
}

/* Somebody can still make calls: runs, or waits for a deadline that comes while the test runs. */
static bool alive(const struct hosted *machine)
{
	enum { REACH_SLICES = 8 };
	uint64_t horizon = hosted_now(machine) + REACH_SLICES * machine->kernel.slice;
	for (unsigned c = 0; c < machine->config.cores; c++) {
		const struct cpu *cpu = machine->kernel.cpu[c];
		uint64_t first = cpu->shared.timers.first[1]; /* the earliest deadline */
		if (!kernel_has_core(&machine->kernel, c))
			continue; /* its deadlines were all cancelled */
		if (cpu->shared.current != &cpu->shared.idle || (first && first <= horizon))
			return true;
	}
	return false;
}

/* Both ends of its channel are here: what is rung is received. */
static struct hosted *create(struct hosted_config config)
{
	const struct hosted_link link = { .id = 0, .side = 0, .peer = 0, .peer_cores = config.cores };
	static const struct hosted_controlled controlled[] = { { .cluster = 5, .cores = 2 },
	                                                       { .cluster = 6, .cores = 60 } };
	config.gsis = 4;
	config.controlled_count = 2;
	config.controlled = controlled;
	config.channel_count = 1;
	config.channel = &link;
	struct hosted *machine = hosted_create(&config);
	players_make(machine);
	kernel_check(machine);
	return machine;
}

static void run(struct hosted *machine)
{
	hosted_run(machine);
	kernel_check(machine);
}

unsigned random_run(struct records *records, unsigned cores, unsigned steps, uint64_t seed)
{
	struct hosted *machine = create((struct hosted_config){ .cores = cores, .seed = seed });
	struct turns turns = { 0 };
	uint8_t record[RECORD_SIZE];
	unsigned done = 0;
	machine->config.choose = choose;
	machine->config.choose_argument = &turns;
	while (done < steps && alive(machine) && records->next(records, record)) {
		unsigned core = (record[RECORD_CORE] & ~OPERATION_HOLD) % cores;
		if (machine->core[core].order != ORDER_NONE)
			run(machine);
		turns.state = turns.state * 31 + (record[RECORD_TURNS] | record[RECORD_TURNS + 1] << 8);
		operation_do(machine, core, record);
		done++;
		if (!(record[RECORD_CORE] & OPERATION_HOLD)) {
			run(machine);
			turns.state = 0;
		}
	}
	run(machine);
	hosted_destroy(machine);
	return done;
}

void random_input(const uint8_t *data, size_t size, unsigned cores_max)
{
	if (!size)
		return;
	struct records records = records_of(data + 1, size - 1);
	random_run(&records, 1 + data[0] % cores_max, RANDOM_INPUT_STEPS, 0);
}

/* One core's share of the calls. */
struct share {
	_Alignas(64) struct records records;
	uint64_t left;
};

static bool ask(void *argument, struct hosted *machine, unsigned core)
{
	struct share *share = (struct share *)argument + core;
	uint8_t record[RECORD_SIZE];
	while (share->left) {
		share->left--;
		share->records.next(&share->records, record);
		if (operation_do(machine, core, record))
			return true;
	}
	return false;
}

enum { ROUND = 300 };       /* calls of a core before all come to rest and are checked */
enum { ROUNDS_IDLE = 500 }; /* in which nobody makes a call: more means that somebody was not woken */

/* Interrupts, so that waiters for one go on. */
static void stir(struct hosted *machine, uint64_t *state)
{
	hosted_raise_pin(machine, shuffle(state) % 4);
	hosted_advance(machine, shuffle(state) % 3 ? 20000 : machine->kernel.slice);
}

uint64_t random_threads(unsigned cores, uint64_t calls, uint64_t seed)
{
	struct hosted *machine = create((struct hosted_config){ .cores = cores, .seed = seed, .threads = true });
	struct share share[HOSTED_CORES];
	uint64_t done = 0, state = seed | 1;
	unsigned idle = 0;
	for (unsigned c = 0; c < cores; c++)
		share[c].records = records_random(seed * HOSTED_CORES + c);
	machine->config.program = ask;
	machine->config.program_argument = share;
	while (done < calls && alive(machine)) {
		for (unsigned c = 0; c < cores; c++)
			share[c].left = ROUND;
		stir(machine, &state);
		for (unsigned c = 0; c < cores; c++)
			machine->core[c].quiet = false;
		run(machine);
		uint64_t before = done;
		for (unsigned c = 0; c < cores; c++)
			done += ROUND - share[c].left;
		idle = done == before ? idle + 1 : 0;
		CHECK(idle < ROUNDS_IDLE, "threads are alive, and none makes a system call", done, seed);
	}
	hosted_destroy(machine);
	return done;
}
