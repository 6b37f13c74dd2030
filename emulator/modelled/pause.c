/* SPDX-License-Identifier: BSD-2-Clause */
#include "pause.h"
#include "access.h"
#include "observe.h"
#include "registers.h"

/* A loop with PAUSE that takes no longer than this waits for a line; it looks again after the other, whatever
 * happens. */
enum { LONGEST_LOOP = 200 * UNIT, KERNEL_TIMEOUT = 20000 * UNIT, PROGRAM_TIMEOUT = 3000 * UNIT };

/* The state at a core's last PAUSE. */
static struct last {
	uint64_t clock, taken, waited; /* lines taken from it, its waits */
	struct spin spin; /* of its programs */
} lasts[MOST_CORES];

bool pause_parks = true;
static FILE *out;

void pause_reports(FILE *file) { out = file; }

uint64_t pause_misparked(void)
{
	uint64_t turns = 0;
	for (unsigned i = 0; i < event_turns.count; i++)
		turns += lasts[i].spin.wrong;
	return turns;
}

void pause_looked(unsigned i, void *data)
{
	(void)data;
	looks[i].did |= SPIN_LOOKED;
}

void pause_disturbed(void)
{
	for (unsigned i = 0; i < event_turns.count; i++)
		looks[i].did |= SPIN_DISTURBED;
}

static void report_pause(unsigned i)
{
	static bool reported[MOST_CORES];
	const struct spin *spin = &lasts[i].spin;
	if (!spin->wrong || reported[i])
		return;
	reported[i] = true;
	fprintf(out, "{\"misparked\":%llu,\"core\":%u,\"pause\":\"%#llx\"}\n", (unsigned long long)spin->wrong, i,
	        (unsigned long long)spin->place);
	fflush(out);
}

/* Returns how many turns of its loop later the core goes on. */
static uint64_t core_park(unsigned i, uint64_t period, uint64_t most)
{
	uint64_t begin = looks[i].from, now = clock_of(&event_turns.core[i]);
	token_park(i, period, looks[i].last > begin ? looks[i].last - begin : 0, most);
	return (clock_of(&event_turns.core[i]) - now) / (period ? period : UNIT);
}

/*
 * Two pauses in a row between which no other core took a line, and all it touched was in L1: it waits for one, and is
 * parked until then. The time between the two is its loop's period. Returns it, or NEVER: it is not parked.
 */
static uint64_t period_of(unsigned i, bool *steady)
{
	const struct last *last = &lasts[i];
	uint64_t period = clock_of(&event_turns.core[i]) - last->clock;
	*steady = last->taken == memory.core[i].taken && last->waited == looks[i].waited;
	looks[i].from = last->clock;
	return pause_parks && *steady && event_turns.count > 1 && period < LONGEST_LOOP ? period : NEVER;
}

static void core_keep(unsigned i)
{
	struct last *last = &lasts[i];
	last->clock = clock_of(&event_turns.core[i]);
	last->taken = memory.core[i].taken;
	last->waited = looks[i].waited;
	looks[i].count = 0;
}

/*
 * A waiting loop of the kernel may count its turns; but none that is parked goes on by the count
 * (tests/structure/test_spinning.py): those that do read a port in each turn.
 */
static void pause_of_kernel(unsigned i, void *data)
{
	bool steady;
	(void)data;
	if (!core_runs(&event_turns, i))
		return;
	observe_pause(i);
	uint64_t period = period_of(i, &steady);
	if (period != NEVER && !(looks[i].did & SPIN_LOOKED))
		core_park(i, period, KERNEL_TIMEOUT);
	core_keep(i);
	looks[i].did = SPIN_DISTURBED;
}

static void pause_of_program(unsigned i, void *address)
{
	static const struct spin_source registers = { registers_general, registers_wide };
	struct spin *spin = &lasts[i].spin;
	bool steady;
	if (!core_runs(&event_turns, i))
		return;
	observe_pause(i);
	uint64_t period = period_of(i, &steady);
	uint64_t taken = memory.core[i].taken;
	bool same = spin_turn(spin, &registers, i, (uintptr_t)address, looks[i].did | (steady ? 0 : SPIN_TAKEN));
	if (period != NEVER && same)
		spin_skipped(spin, core_park(i, period, PROGRAM_TIMEOUT), same);
	report_pause(i);
	core_keep(i);
	looks[i].did = memory.core[i].taken == taken ? 0 : SPIN_TAKEN;
}

void pause_watch(struct qemu_plugin_insn *instruction, bool kernel)
{
	if (kernel)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, pause_of_kernel, PLUGIN_NO_REGISTERS, NULL);
	else
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, pause_of_program, PLUGIN_READS_REGISTERS,
		                                       (void *)(uintptr_t)qemu_plugin_insn_vaddr(instruction));
}
