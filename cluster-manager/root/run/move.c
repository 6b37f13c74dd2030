/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/core_control.h>
#include <skerry/ledger.h>
#include <skerry/stubs.h>
#include "console.h"
#include "cores.h"
#include "map.h"
#include "move.h"
#include "report.h"
#include "root.h"

/* ticks in which a core may still have something to do, a deadline of a thread that has left it, say */
enum { TRIES = 40 };
/* cores at a tick, in turn: each look is a system call that has the kernel for itself, which takes the longer the more
 * cores it has */
enum { LOOKS = 16 };

static struct {
	uint64_t obeyed; /* the last order */
	uint32_t number, cpu, to, tries;
	bool is_leaving;
} order_now;
static bool is_joined[BOOT_MAX_CPUS]; /* by index: a core that the map does not give us is ours */

static uint64_t read_core(uint32_t cpu, uint32_t *index)
{
	uint64_t word, at;
	if (core_control_read(ROOT_SLOT_CLUSTER_CONTROL, cpu, &word, &at))
		return 0;
	*index = (uint32_t)at;
	return word;
}

static void report_event(enum core_event what, uint32_t cpu, uint32_t to, int error)
{
	const struct report_core body = { .number = order_now.number, .what = what, .cpu = cpu, .to = to,
	                                  .error = (uint32_t)-error };
	report(REPORT_CORE, &body, sizeof(body));
}

/* Why a core is not given up; CORE_LEFT: nothing speaks against it here, the kernel has the last word. */
static enum core_event core_refusal(uint32_t index)
{
	if (index == 0)
		return CORE_IS_FIRST;
	return core_has_programs(index) ? CORE_HAS_PROGRAMS : CORE_LEFT;
}

void move_started(uint32_t application)
{
	const struct map_cluster *own = map_cluster(map, ROOT->cluster);
	uint32_t core = core_of(application);
	int32_t cpu = map_core_cpu(map, own, core);
	if (core == map->application[application].core || cpu == MAP_NONE)
		return;
	const struct report_core body = { .what = CORE_RUNS, .cpu = (uint32_t)cpu, .to = ROOT->cluster,
	                                  .application = application };
	report(REPORT_CORE, &body, sizeof(body));
}

static void give_up(void)
{
	uint32_t index = 0;
	uint64_t word = read_core(order_now.cpu, &index);
	enum core_event why = core_refusal(index);
	order_now.is_leaving = false;
	if (core_state(word) != CORE_OWNED || core_owner(word) != ROOT->cluster)
		return report_event(CORE_IS_NOT_OURS, order_now.cpu, order_now.to, 0);
	if (why != CORE_LEFT)
		return report_event(why, order_now.cpu, order_now.to, 0);
	core_given_up(index); /* no program is placed on it any more */
	int error = core_leave_for(ROOT_SLOT_CLUSTER_CONTROL, order_now.cpu, order_now.to);
	if (!error) {
		is_joined[index] = false;
		return report_event(CORE_LEFT, order_now.cpu, order_now.to, 0);
	}
	if (error == -SKERRY_BUSY && order_now.tries++ < TRIES) {
		order_now.is_leaving = true; /* again at the next tick */
		return;
	}
	if (is_joined[index])
		core_gained(index, order_now.cpu);
	report_event(CORE_REFUSED, order_now.cpu, order_now.to, error);
}

static void order_obey(uint64_t word)
{
	if (!ledger_move_is(word) || word == order_now.obeyed)
		return;
	order_now.obeyed = word;
	order_now.number = ledger_move_number(word);
	order_now.cpu = ledger_move_core(word);
	order_now.to = ledger_move_to(word);
	order_now.tries = 0;
	if (order_now.to != ROOT->cluster) {
		order_now.is_leaving = true;
		return;
	}
	int error = core_control_take(ROOT_SLOT_CLUSTER_CONTROL, order_now.cpu);
	if (error)
		report_event(CORE_REFUSED, order_now.cpu, order_now.to, error);
}

/* Parked for us, or on the way to us, or here. */
static void look_at(uint32_t cpu)
{
	uint32_t index = 0;
	uint64_t word = read_core(cpu, &index);
	bool is_ours = core_state(word) == CORE_OWNED && core_owner(word) == ROOT->cluster;
	if (core_state(word) == CORE_PARKED && core_to(word) == ROOT->cluster)
		core_control_take(ROOT_SLOT_CLUSTER_CONTROL, cpu);
	if (is_ours && !is_joined[index] && !(order_now.is_leaving && order_now.cpu == cpu)) {
		is_joined[index] = true;
		if (index >= ROOT->cpu_count)
			core_gained(index, cpu);
		console_print("core %s is this cluster's now", map->cpu[cpu].name);
		report_event(CORE_JOINED, cpu, ROOT->cluster, 0);
	}
}

/* The core of the last order is looked at each time. */
static void look_around(void)
{
	static uint32_t next;
	for (uint32_t i = 0; i < LOOKS && i < ROOT->room; i++) {
		look_at(ROOT->cpu_number[next]);
		next = next + 1 < ROOT->room ? next + 1 : 0;
	}
	if (order_now.obeyed && ROOT->room > LOOKS)
		look_at(order_now.cpu);
}

/* Marks the cores that the map gives us and that were not moved as joined: they are not reported. */
static void moves_begin(void)
{
	for (uint32_t i = 0; i < ROOT->cpu_count; i++) {
		uint32_t index = 0;
		uint64_t word = read_core(ROOT->cpu_number[i], &index);
		is_joined[i] = core_owner(word) == ROOT->cluster && core_state(word) == CORE_OWNED;
	}
}

void moves_tick(void)
{
	static bool has_begun;
	const struct map_cluster *own = map_cluster(map, ROOT->cluster);
	if (!ROOT->core_control || !ROOT->ledger_count || !own->spare_cores)
		return;
	if (!has_begun)
		moves_begin();
	has_begun = true;
	order_obey(atomic_load_explicit(&((const struct ledger *)ROOT_LEDGER_VADDR)->kernel.move,
	                                memory_order_relaxed));
	if (order_now.is_leaving)
		give_up();
	look_around();
}
