/* SPDX-License-Identifier: BSD-2-Clause */
/* Retype: what it refuses, what it zeroes, and that no two objects ever share a byte. */
#include "ktest.h"

#define NODE ROOT_SLOT_CNODE
enum { LARGE = 2 << 20 };

static int retype(uint64_t untyped, enum skerry_object type, unsigned size_bits, uint64_t first, uint64_t count)
{
	return untyped_retype(IPC, untyped, type, size_bits, NODE, first, count);
}

static const enum skerry_object fixed[] = { OBJECT_TCB, OBJECT_ENDPOINT, OBJECT_NOTIFICATION, OBJECT_REPLY,
                                            OBJECT_VSPACE,
	                                    OBJECT_PAGE_TABLE, OBJECT_FRAME_4K, OBJECT_FRAME_2M, OBJECT_FRAME_1G };
enum { FIXED = sizeof(fixed) / sizeof(fixed[0]) };

TEST(fixed_sizes, 1, 0, "retype: BAD_ARGUMENT for the size of what has but one")
{
	static const unsigned size[] = { 1, 4, 6, 11, 12, 13, 21, 30, 64, 255, ~0u };
	for (unsigned i = 0; i < FIXED; i++)
		for (unsigned j = 0; j < sizeof(size) / sizeof(size[0]); j++)
			check_error(retype(test_memory(), fixed[i], size[j], slot(), 1), BAD_ARGUMENT);
}

TEST(wide_words, 1, 0, "retype: BAD_ARGUMENT for words beyond 32 bits, whatever their lower half")
{
	static const struct { uint64_t word[4]; } bad[] = {
		{ { 1ull << 32 | OBJECT_ENDPOINT, 0, 1, 1 } }, { { OBJECT_UNTYPED, 1ull << 32 | 12, 1, 1 } },
		{ { OBJECT_ENDPOINT, 0, 1ull << 32 | 1, 1 } }, { { OBJECT_ENDPOINT, 0, 1, 1ull << 32 | 1 } },
		{ { OBJECT_CNODE, 1ull << 32 | 4, 1, 1 } }, { { 1ull << 63 | OBJECT_TCB, 0, 1, 1 } },
		{ { OBJECT_ENDPOINT, 1ull << 32, 1, 1 } },
	};
	uint64_t node = object(OBJECT_CNODE, 4);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct message m = { .word = { bad[i].word[0], bad[i].word[1], bad[i].word[2], bad[i].word[3] } };
		IPC->caps[0] = node;
		check_error(invoke(test_memory(), UNTYPED_RETYPE, 1, 4, &m), BAD_ARGUMENT);
	}
}

TEST(count_limits, 1, 0, "retype: 1 and 256 objects of every size that fits, and neither 0 nor 257")
{
	for (unsigned i = 0; i < FIXED - 2; i++) { /* large frames would not fit */
		uint64_t first = slots(RETYPE_COUNT_MAX + 1);
		check_error(retype(test_memory(), fixed[i], 0, first, 0), BAD_ARGUMENT);
		check_error(retype(test_memory(), fixed[i], 0, first, RETYPE_COUNT_MAX + 1), BAD_ARGUMENT);
		check(is_empty(first));
		check_ok(retype(test_memory(), fixed[i], 0, first, RETYPE_COUNT_MAX));
		check(is_empty(first + RETYPE_COUNT_MAX));
		for (unsigned j = 0; j < RETYPE_COUNT_MAX; j++)
			check_ok(cnode_delete(NODE, first + j));
		check_ok(retype(test_memory(), fixed[i], 0, first, 1));
		check(is_empty(first + 1));
		check_ok(cnode_revoke(NODE, test_memory()));
	}
}

TEST(order, 1, 0, "retype: a refused one changes nothing, whichever argument is wrong")
{
	uint64_t child = object(OBJECT_UNTYPED, 13), first = slots(4), node = object(OBJECT_CNODE, 1);
	check_ok(retype(child, OBJECT_FRAME_4K, 0, first, 1));
	check_error(retype(child, OBJECT_FRAME_4K, 0, first + 1, 2), NO_MEMORY);
	check_error(retype(child, OBJECT_FRAME_4K, 0, first, 1), SLOT_FULL);
	check_error(untyped_retype(IPC, child, OBJECT_FRAME_4K, 0, node, 1, 2), BAD_ARGUMENT);
	check_error(untyped_retype(IPC, child, OBJECT_FRAME_4K, 0, child, 1, 1), BAD_CAP);
	check_ok(retype(child, OBJECT_FRAME_4K, 0, first + 1, 1)); /* the room is still there */
	check_error(retype(child, OBJECT_REPLY, 0, first + 2, 1), NO_MEMORY);
}

/* Dirties an untyped of 1 << bits by frames of it. */
static void dirty(uint64_t memory, unsigned bits)
{
	uint64_t pages = 1ull << (bits - 12), frame = slots(RETYPE_COUNT_MAX);
	if (bits >= 21) {
		for (uint64_t i = 0; i < pages >> 9; i++) {
			check_ok(retype(memory, OBJECT_FRAME_2M, 0, frame + i, 1));
			check_ok(frame_map(IPC, frame + i, ROOT_SLOT_VSPACE, LARGE_WINDOW, RIGHT_READ | RIGHT_WRITE,
			                   0));
			for (uint64_t *word = place(LARGE_WINDOW), *end = word + (2 << 20) / 8; word < end; word += 8)
				*word = ~0ull;
			check_ok(frame_unmap(frame + i));
		}
	} else {
		for (uint64_t i = 0; i < pages; i++) {
			check_ok(retype(memory, OBJECT_FRAME_4K, 0, frame + i, 1));
			check_ok(frame_map(IPC, frame + i, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ | RIGHT_WRITE, 0));
			for (unsigned word = 0; word < 512; word++)
				((uint64_t *)place(WINDOW))[word] = ~0ull;
			check_ok(frame_unmap(frame + i));
		}
	}
	check_ok(cnode_revoke(NODE, memory));
}

/* All objects of dirty memory behave as new ones: they hold nothing, nobody waits, nothing is mapped. */
TEST(fresh_objects, 1, 0, "retype: objects of memory that was written full are as new as any")
{
	uint64_t memory = object(OBJECT_UNTYPED, 16), cap = slot(), word;
	struct message m = { 0 };
	dirty(memory, 16);
	check_ok(retype(memory, OBJECT_ENDPOINT, 0, cap, 1));
	check_error(ipc_nb_receive(cap, 0, &m), WOULD_BLOCK);
	check_ok(ipc_nb_send(cap, &m));
	check_ok(cnode_revoke(NODE, memory));

	dirty(memory, 16);
	check_ok(retype(memory, OBJECT_NOTIFICATION, 0, cap, 1));
	check_ok(notification_poll(cap, &word));
	check_eq(word, 0);
	check_ok(tcb_bind(IPC, ROOT_SLOT_TCB, cap));
	check_ok(cnode_revoke(NODE, memory));

	dirty(memory, 16);
	check_ok(retype(memory, OBJECT_REPLY, 0, cap, 1));
	check_error(ipc_reply(cap, &m), NO_REPLY);
	check_ok(cnode_revoke(NODE, memory));

	dirty(memory, 16);
	check_ok(retype(memory, OBJECT_CNODE, 10, cap, 1));
	for (unsigned i = 1; i < 1024; i++)
		check_error(cnode_copy(IPC, NODE, slot(), cap, i, RIGHT_ALL), EMPTY_SLOT);
	check_ok(cnode_revoke(NODE, memory));

	dirty(memory, 16);
	struct thread_registers r, zero = { 0 };
	check_ok(retype(memory, OBJECT_TCB, 0, cap, 1));
	check_ok(tcb_read_registers(IPC, cap, &r));
	for (unsigned i = 3; i < THREAD_REGISTER_WORDS; i++)
		check_eq(((uint64_t *)&r)[i], ((uint64_t *)&zero)[i]);
	check_eq(r.rip | r.rsp, 0);
	check_error(tcb_unbind(cap), EMPTY_SLOT);
	check_error(tcb_resume(cap), BAD_ARGUMENT);
	check_ok(tcb_time(cap, &word));
	check_eq(word, 0);
	check_ok(cnode_revoke(NODE, memory));
}

TEST(fresh_spaces, 1, 0, "retype: page tables and address spaces of memory that was written full map nothing")
{
	uint64_t memory = object(OBJECT_UNTYPED, 16), vspace = slot(), table = slots(3),
	         frame = object(OBJECT_FRAME_4K, 0);
	dirty(memory, 16);
	check_ok(retype(memory, OBJECT_VSPACE, 0, vspace, 1));
	check_ok(retype(memory, OBJECT_PAGE_TABLE, 0, table, 3));
	for (uint64_t address = 0; address < 0x7fffffe00000; address += 1ull << 40)
		check_error(frame_map(IPC, frame, vspace, address, RIGHT_READ, 0), MISSING_TABLE);
	for (unsigned i = 0; i < 3; i++)
		check_ok(page_table_map(IPC, table + i, vspace, FOREIGN_CODE));
	for (unsigned i = 0; i < 512; i++) { /* each entry of the lowest */
		check_ok(frame_map(IPC, frame, vspace, (FOREIGN_CODE & ~0x1fffffull) + i * 4096, RIGHT_READ, 0));
		check_ok(frame_unmap(frame));
	}
}

TEST(zeroed_large, 1, 0, "retype: a large frame of memory that was written full is zero from end to end")
{
	uint64_t memory = object(OBJECT_UNTYPED, 22), frame = slot(), sum = 0;
	dirty(memory, 22);
	check_ok(retype(memory, OBJECT_FRAME_4K, 0, slot(), 1)); /* the first half is in use now */
	check_ok(retype(memory, OBJECT_FRAME_2M, 0, frame, 1));
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, LARGE_WINDOW, RIGHT_READ, 0));
	for (uint64_t *word = place(LARGE_WINDOW), *end = word + (2 << 20) / 8; word < end; word++)
		sum |= *word;
	check_eq(sum, 0);
}

TEST(zeroed_between, 1, 0, "retype: small frames are zero, however those before them were made and deleted")
{
	uint64_t memory = object(OBJECT_UNTYPED, 17), seed = 77, frame = slots(32), sum = 0;
	for (unsigned turn = 0; turn < 6; turn++) {
		dirty(memory, 17);
		for (unsigned i = 0; i < 12; i++) {
			unsigned kind = random_next(&seed) % 3;
			if (kind == 0)
				check_ok(retype(memory, OBJECT_ENDPOINT, 0, slots(3), 1 + random_next(&seed) % 3));
			if (kind == 1)
				check_ok(retype(memory, OBJECT_UNTYPED, 6 + random_next(&seed) % 6, slot(), 1));
			check_ok(retype(memory, OBJECT_FRAME_4K, 0, frame + i, 1));
			check_ok(frame_map(IPC, frame + i, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, 0));
			for (unsigned word = 0; word < 512; word++)
				sum |= ((uint64_t *)place(WINDOW))[word];
			check_eq(sum, 0);
			check_ok(frame_unmap(frame + i));
		}
		check_ok(cnode_revoke(NODE, memory));
	}
}

/*
 * Fills an untyped with objects of sizes at random until nothing fits any
 * more. Frames are the ones whose places can be seen; an untyped's place is
 * that of a frame made of it, and revoked.
 */
TEST(filled, 1, 0, "retype: an untyped filled with mixed sizes holds no two in the same place, and wastes no more than "
                   "alignment asks")
{
	enum { BITS = 20, MOST = 256 };
	static struct { uint64_t base, size; } made[MOST];
	static uint8_t taken[1 << (BITS - 12)];
	for (uint64_t seed = 1; seed < 6; seed++) {
		uint64_t memory = object(OBJECT_UNTYPED, BITS), random = seed * 0x9e3779b97f4a7c15, first = slots(MOST),
		         base = 0, probe = slot();
		unsigned count = 0;
		for (unsigned i = 0; i < sizeof(taken); i++)
			taken[i] = 0;
		for (unsigned misses = 0; count < MOST && misses < 40;) {
			unsigned bits = 12 + random_next(&random) % 5;
			int error = retype(memory, OBJECT_UNTYPED, bits, first + count, 1);
			if (error) {
				check_error(error, NO_MEMORY);
				misses++;
				continue;
			}
			check_ok(retype(first + count, OBJECT_FRAME_4K, 0, probe, 1));
			check_ok(frame_address(probe, &made[count].base));
			check_ok(cnode_delete(NODE, probe));
			made[count].size = 1ull << bits;
			base = count ? base : made[0].base;
			uint64_t offset = made[count].base - base;
			check(offset < 1ull << BITS && made[count].size <= (1ull << BITS) - offset);
			check_eq(offset & (made[count].size - 1), 0);
			for (uint64_t page = offset >> 12; page < (offset + made[count].size) >> 12; page++)
				check_eq(taken[page]++, 0);
			count++;
		}
		check_error(retype(memory, OBJECT_FRAME_4K, 0, probe, 1), NO_MEMORY);
		unsigned unused = 0;
		for (unsigned i = 0; i < sizeof(taken); i++)
			unused += !taken[i];
		check(unused < sizeof(taken) / 2);
		check_ok(cnode_revoke(NODE, memory));
	}
}

/* Kernel objects have no address that can be seen: if two of them shared memory, one's life would show in another. */
TEST(apart, 1, 0, "retype: a page of small objects of all kinds live side by side")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), endpoint = slots(16), notification = slots(16), reply = slots(16),
	         word;
	for (unsigned i = 0; i < 16; i++) {
		check_ok(retype(memory, OBJECT_ENDPOINT, 0, endpoint + i, 1));
		check_ok(retype(memory, OBJECT_NOTIFICATION, 0, notification + i, 1));
		check_ok(retype(memory, OBJECT_REPLY, 0, reply + i, 1));
	}
	check_ok(retype(memory, OBJECT_CNODE, 4, slot(), 1));
	check_error(retype(memory, OBJECT_REPLY, 0, slot(), 1), NO_MEMORY);
	for (unsigned i = 0; i < 16; i++)
		check_ok(notification_signal(badged(notification + i, 1ull << i, RIGHT_ALL)));
	for (unsigned i = 0; i < 16; i++) {
		struct message m = { 0 };
		check_error(ipc_nb_receive(endpoint + i, reply + i, &m), WOULD_BLOCK);
		check_error(ipc_reply(reply + i, &m), NO_REPLY);
		check_ok(cnode_delete(NODE, endpoint + i));
	}
	for (unsigned i = 0; i < 16; i++) {
		check_ok(notification_poll(notification + i, &word));
		check_eq(word, 1ull << i);
	}
}

TEST(every_slot, 1, 0, "retype: a CNode can be filled to its last slot, and then takes nothing")
{
	enum { SLOTS = 1 << 10 };
	uint64_t node = object(OBJECT_CNODE, 10), endpoint = object(OBJECT_ENDPOINT, 0);
	for (unsigned first = 1; first < SLOTS; first += 93)
		check_ok(untyped_retype(IPC, test_memory(), OBJECT_REPLY, 0, node, first, 93)); /* 11 * 93 = 1023 */
	for (unsigned i = 1; i < SLOTS; i++)
		check_error(cnode_copy(IPC, node, i, NODE, endpoint, RIGHT_ALL), SLOT_FULL);
	check_error(untyped_retype(IPC, test_memory(), OBJECT_REPLY, 0, node, SLOTS - 1, 1), SLOT_FULL);
	check_error(untyped_retype(IPC, test_memory(), OBJECT_REPLY, 0, node, SLOTS, 1), BAD_ARGUMENT);
	check_ok(cnode_delete(node, SLOTS - 1));
	check_ok(cnode_copy(IPC, node, SLOTS - 1, NODE, endpoint, RIGHT_ALL));
}

TEST(all_memory, 1, 0, "retype: all memory of the test can be used up to the last byte, and had again")
{
	for (unsigned turn = 0; turn < 2; turn++) {
		uint64_t frame = slots(17);
		check_ok(retype(test_memory(), OBJECT_FRAME_2M, 0, frame, 15));
		uint64_t page = slots(RETYPE_COUNT_MAX);
		for (unsigned i = 0; i < 2; i++) {
			check_ok(retype(test_memory(), OBJECT_FRAME_4K, 0, page, RETYPE_COUNT_MAX));
			page = slots(RETYPE_COUNT_MAX);
		}
		static const enum skerry_object any[] = { OBJECT_ENDPOINT, OBJECT_TCB, OBJECT_FRAME_4K, OBJECT_VSPACE,
		                                          OBJECT_FRAME_2M };
		for (unsigned i = 0; i < 5; i++)
			check_error(retype(test_memory(), any[i], 0, page, 1), NO_MEMORY);
		check_error(retype(test_memory(), OBJECT_UNTYPED, 4, page, 1), NO_MEMORY);
		check_error(retype(test_memory(), OBJECT_CNODE, 1, page, 1), NO_MEMORY);
		check_ok(cnode_revoke(NODE, test_memory()));
	}
}

TEST(smallest, 1, 0, "retype: untypeds down to 16 bytes, of which nothing can be made but untypeds")
{
	uint64_t memory = object(OBJECT_UNTYPED, 6), small = slots(5);
	check_ok(retype(memory, OBJECT_UNTYPED, 4, small, 4));
	check_error(retype(memory, OBJECT_UNTYPED, 4, small + 4, 1), NO_MEMORY);
	check_error(retype(small, OBJECT_ENDPOINT, 0, small + 4, 1), NO_MEMORY);
	check_ok(retype(small, OBJECT_UNTYPED, 4, small + 4, 1));
	check_ok(cnode_revoke(NODE, memory));
	check_ok(retype(memory, OBJECT_ENDPOINT, 0, small, 1));
}
