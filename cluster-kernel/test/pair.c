/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"
#include <skerry/core_control.h>
#include "harness.h"

struct hosted *pair[2];
static struct hosted *saved;

void be(unsigned which)
{
	saved = saved ? saved : machine;
	machine = pair[which];
}

void be_oneself(void)
{
	machine = saved;
	saved = 0;
}

void pair_end(void)
{
	for (unsigned i = 0; i < 2; i++)
		hosted_destroy(pair[i]);
}

unsigned pair_cpu(unsigned which, unsigned index) { return (PAIR_FIRST + which) * HOSTED_CORES + index; }

void pair_of_movers(uint64_t memory)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct hosted_controlled controlled[] = { { PAIR_FIRST + 1 - i, PAIR_CORES, 0 } };
		const struct hosted_foreign foreign[] = { { PAIR_CORES, pair_cpu(1 - i, 1) } };
		struct hosted_config config = { .cluster = PAIR_FIRST + i, .cores = PAIR_CORES + 1,
		                                .absent = 1 << PAIR_CORES, .memory = memory,
			                        .seed = machine->config.seed, .controlled_count = 1,
			                        .controlled = controlled,
			                        .foreign_count = 1, .foreign = foreign };
		pair[i] = hosted_create(&config);
	}
}

uint64_t by(unsigned which, uint64_t label, uint64_t number, uint64_t to)
{
	be(which);
	uint64_t error = call(ROOT_SLOT_CLUSTER_CONTROL, label, W(number, to), NONE);
	settle();
	be_oneself();
	return error;
}

uint64_t tried(unsigned which, uint64_t label, uint64_t number, uint64_t to)
{
	uint64_t error = by(which, label, number, to);
	return error == SKERRY_BUSY && objects_have_homes() ? by(which, label, number, to) : error;
}

uint64_t word_of(unsigned number) { return core_read(hosted_core_control(number)); }

void moves(unsigned from, unsigned number, unsigned times)
{
	const uint32_t before = core_moves(word_of(number)), giver = PAIR_FIRST + from, taker = PAIR_FIRST + 1 - from;
	EXPECT(tried(from, CORE_LEAVE, number, taker), 0);
	EXPECT(word_of(number), core_word(before, giver, taker, CORE_PARKED));
	EXPECT(by(from, CORE_LEAVE, number, taker), SKERRY_BUSY);
	EXPECT(tried(1 - from, CORE_TAKE, number, 0), 0);
	EXPECT(word_of(number), core_word(before + 1, taker, taker, CORE_OWNED));
	EXPECT(by(1 - from, CORE_TAKE, number, 0), SKERRY_BUSY);
	EXPECT(by(from, CORE_TAKE, number, 0), SKERRY_BUSY);
	EXPECT(core_moves(word_of(number)), times);
}

bool pair_changes(unsigned which, enum granularity wanted)
{
	be(which);
	EXPECT(call(ROOT_SLOT_CONTROL, CONTROL_GRANULARITY, W(wanted), NONE), 0);
	bool under_way = word(machine->root, 0);
	settle();
	be_oneself();
	return under_way;
}

uint64_t large_untyped(unsigned bits)
{
	uint64_t slot = U;
	while (slot_of(slot)->cap.type != OBJECT_UNTYPED || slot_of(slot)->cap.size_bits < bits ||
	       slot_of(slot)->cap.flags)
		slot++;
	return slot;
}

void cut(unsigned bits, uint64_t slot, unsigned count)
{
	uint64_t large = large_untyped(bits + 1);
	EXPECT(call(large, UNTYPED_RETYPE, W(OBJECT_UNTYPED, bits, slot, count), W(CNODE)), 0);
	delete(large);
}
