/* SPDX-License-Identifier: BSD-2-Clause */
#include "exponential.h"
#include "pingpong.h"

enum { WARM_UP = 32 }; /* round trips of core 0 after which its client first signals */
_Static_assert((int)EXPONENTIAL_COUNT == SCALE_COUNT, "as scale.S has it");

extern const char scale_start[], scale_end[], scale_client[], scale_server[], scale_client_cycles[],
	scale_server_cycles[], scale_section[];
static const struct code code = { scale_start, scale_end };

static uint64_t threads[2 * PINGPONG_CORES];
static unsigned pair_count, thread_count;

static void add_thread(unsigned core, const char *entry, struct thread_registers registers)
{
	threads[thread_count++] = thread_of(&code, space_of(&code), 0, core, entry, registers);
}

static void block_make(unsigned core, uint32_t delay, bool in_cycles)
{
	struct block *block = block_in(shared, core);
	uint32_t mean = in_cycles ? delay : (delay + SCALE_UNIT / 2) / SCALE_UNIT;
	uint64_t seed = 2 * ROOT->cpu_number[core];
	*block = (struct block){
		.signal_at = ROOT->cluster || core ? UINT64_MAX : WARM_UP,
		.signal_call = SYS_SIGNAL,
		.signal_cap = shared_done(),
		.cluster = ROOT->cluster,
		.cpu = ROOT->cpu_number[core],
	};
	exponential_fill(block->delays, mean, seed);
	exponential_fill(block->server_delays, mean, seed + 1);
}

static void section_make(unsigned core, uint32_t section)
{
	struct thread_registers registers = { .rbx = SHARED_THERE + core * SCALE_BLOCK,
	                                      .r12 = SHARED_THERE + (order_block() + 1) * SCALE_BLOCK,
	                                      .r15 = (section + SCALE_UNIT / 2) / SCALE_UNIT };
	add_thread(core, scale_section, registers);
}

static void pair_make(unsigned core, bool in_cycles)
{
	uint64_t endpoint = object_of(core, OBJECT_ENDPOINT), data = SHARED_THERE + core * SCALE_BLOCK;
	struct thread_registers client = { .rbx = data, .r13 = SYS_CALL, .r15 = badged(endpoint, 1, RIGHT_WRITE) };
	struct thread_registers server = { .rbx = data, .r13 = SYS_REPLY_RECV, .r15 = endpoint,
	                                   .rax = SYS_RECV, .rdi = endpoint, .r12 = object_of(core, OBJECT_REPLY) };
	add_thread(core, in_cycles ? scale_server_cycles : scale_server, server);
	add_thread(core, in_cycles ? scale_client_cycles : scale_client, client);
}

void pairs_start(const struct order *order)
{
	pair_count = order->cores;
	thread_count = 0;
	memset(block_in(shared, order_block() + 1), 0, 64);
	for (unsigned i = 0; i < pair_count; i++) {
		block_make(i, order->delay, order->in_cycles);
		if (order->section)
			section_make(i, order->section);
		else
			pair_make(i, order->in_cycles);
	}
	for (unsigned i = 0; i < thread_count; i++)
		check_ok(tcb_resume(threads[i]));
}

bool pairs_run(void)
{
	for (unsigned i = 0; i < pair_count; i++)
		if (!block_in(shared, i)->rounds)
			return false;
	return true;
}

void pairs_stop(void)
{
	for (unsigned i = 0; i < thread_count; i++)
		check_ok(tcb_suspend(threads[i]));
	for (unsigned i = 0; i < pair_count; i++)
		check_eq(block_in(shared, i)->errors | block_in(shared, i)->server_errors, 0);
}
