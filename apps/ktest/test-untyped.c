/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

static int retype(uint64_t untyped, uint64_t type, unsigned size_bits, uint64_t first, uint64_t count)
{
	return untyped_retype(IPC, untyped, (enum skerry_object)type, size_bits, ROOT_SLOT_CNODE, first, count);
}

static uint64_t address_of(uint64_t frame)
{
	uint64_t address;
	check_ok(frame_address(frame, &address));
	return address;
}

/* Where an untyped begins: its first frame says. */
static uint64_t base_of(uint64_t untyped)
{
	uint64_t frame = slot();
	check_ok(retype(untyped, OBJECT_FRAME_4K, 0, frame, 1));
	uint64_t address = address_of(frame);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, frame));
	return address;
}

TEST(every_kind, 1, 0, "untyped: every kind of object can be made")
{
	static const struct { enum skerry_object type; unsigned bits; } kind[] = {
		{ OBJECT_UNTYPED, 12 }, { OBJECT_TCB, 0 }, { OBJECT_ENDPOINT, 0 }, { OBJECT_NOTIFICATION, 0 },
		{ OBJECT_REPLY, 0 }, { OBJECT_CNODE, 4 }, { OBJECT_VSPACE, 0 }, { OBJECT_PAGE_TABLE, 0 },
		{ OBJECT_FRAME_4K, 0 }, { OBJECT_FRAME_2M, 0 }, { OBJECT_DOMAIN, 0 },
	};
	for (unsigned i = 0; i < sizeof(kind) / sizeof(kind[0]); i++)
		check(!is_empty(object(kind[i].type, kind[i].bits)));
}

TEST(count, 1, 0, "untyped: a count fills consecutive slots and no other")
{
	uint64_t first = slots(12);
	check_ok(retype(test_memory(), OBJECT_ENDPOINT, 0, first + 1, 10));
	check(is_empty(first));
	check(is_empty(first + 11));
	for (unsigned i = 1; i <= 10; i++)
		check(!is_empty(first + i));
}

TEST(greatest_count, 1, 0, "untyped: 256 objects at a time")
{
	check_ok(retype(test_memory(), OBJECT_REPLY, 0, slots(RETYPE_COUNT_MAX), RETYPE_COUNT_MAX));
}

TEST(adjacent, 1, 0, "untyped: objects of one retype lie side by side")
{
	uint64_t frame = objects(OBJECT_FRAME_4K, 0, 16);
	for (unsigned i = 1; i < 16; i++)
		check_eq(address_of(frame + i), address_of(frame) + i * 4096);
}

TEST(disjoint, 1, 0, "untyped: objects of different sizes never overlap")
{
	struct { uint64_t base, size; } made[24];
	for (unsigned i = 0; i < 24; i++) {
		unsigned bits = 12 + i * 7 % 6;
		made[i].base = base_of(object(OBJECT_UNTYPED, bits));
		made[i].size = 1ull << bits;
		check_eq(made[i].base & (made[i].size - 1), 0);
		for (unsigned j = 0; j < i; j++)
			check(made[i].base + made[i].size <= made[j].base ||
			      made[j].base + made[j].size <= made[i].base);
	}
}

TEST(inside, 1, 0, "untyped: objects of a child lie inside the child")
{
	uint64_t child = object(OBJECT_UNTYPED, 16), base = base_of(child), frame = slots(16);
	check_ok(retype(child, OBJECT_FRAME_4K, 0, frame, 16));
	for (unsigned i = 0; i < 16; i++)
		check(address_of(frame + i) - base < 0x10000);
}

TEST(alignment, 1, 0, "untyped: objects are aligned to their size")
{
	object(OBJECT_ENDPOINT, 0);
	check_eq(address_of(object(OBJECT_FRAME_4K, 0)) % 4096, 0);
	object(OBJECT_ENDPOINT, 0);
	check_eq(address_of(object(OBJECT_FRAME_2M, 0)) % (2 << 20), 0);
}

TEST(zeroed, 1, 0, "untyped: memory is zeroed when it is used again")
{
	uint64_t child = object(OBJECT_UNTYPED, 14), frame = slots(4);
	for (unsigned turn = 0; turn < 3; turn++) {
		check_ok(retype(child, OBJECT_FRAME_4K, 0, frame, 4));
		for (unsigned i = 0; i < 4; i++) {
			check_ok(frame_map(IPC, frame + i, ROOT_SLOT_VSPACE, WINDOW + i * 4096,
			                   RIGHT_READ | RIGHT_WRITE, 0));
			uint64_t *page = place(WINDOW + i * 4096);
			for (unsigned w = 0; w < 512; w++) {
				check_eq(page[w], 0);
				page[w] = ~0ull;
			}
		}
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, child));
	}
}

TEST(exhausted, 1, 0, "untyped: exactly as many objects as there is room for")
{
	uint64_t child = object(OBJECT_UNTYPED, 16), frame = slots(17);
	for (unsigned i = 0; i < 16; i++)
		check_ok(retype(child, OBJECT_FRAME_4K, 0, frame + i, 1));
	check_error(retype(child, OBJECT_FRAME_4K, 0, frame + 16, 1), NO_MEMORY);
	check_error(retype(child, OBJECT_ENDPOINT, 0, frame + 16, 1), NO_MEMORY);
}

TEST(all_or_none, 1, 0, "untyped: a count that does not fit makes nothing")
{
	uint64_t child = object(OBJECT_UNTYPED, 16), frame = slots(17);
	check_error(retype(child, OBJECT_FRAME_4K, 0, frame, 17), NO_MEMORY);
	for (unsigned i = 0; i < 17; i++)
		check(is_empty(frame + i));
	check_ok(retype(child, OBJECT_FRAME_4K, 0, frame, 16));
}

TEST(too_large, 1, 0, "untyped: an object larger than the untyped is refused")
{
	check_error(retype(test_memory(), OBJECT_FRAME_1G, 0, slot(), 1), NO_MEMORY);
	check_error(retype(test_memory(), OBJECT_UNTYPED, 47, slot(), 1), NO_MEMORY);
	check_error(retype(test_memory(), OBJECT_CNODE, 32, slot(), 1), NO_MEMORY);
	check_error(retype(object(OBJECT_UNTYPED, 4), OBJECT_ENDPOINT, 0, slot(), 1), NO_MEMORY);
}

TEST(after_revoke, 1, 0, "untyped: revoke makes all of it free again")
{
	uint64_t child = object(OBJECT_UNTYPED, 16), frame = slots(16), address = 0;
	for (unsigned turn = 0; turn < 4; turn++) {
		check_ok(retype(child, OBJECT_FRAME_4K, 0, frame, 16));
		check(!turn || address_of(frame) == address);
		address = address_of(frame);
		check_ok(cnode_revoke(ROOT_SLOT_CNODE, child));
		for (unsigned i = 0; i < 16; i++)
			check(is_empty(frame + i));
	}
}

TEST(after_delete, 1, 0, "untyped: it is free again when the last child is deleted, not before")
{
	uint64_t child = object(OBJECT_UNTYPED, 12), endpoint = slots(64), copy = slot();
	check_ok(retype(child, OBJECT_ENDPOINT, 0, endpoint, 64));
	check_ok(cnode_copy(IPC, ROOT_SLOT_CNODE, copy, ROOT_SLOT_CNODE, endpoint + 5, RIGHT_ALL));
	for (unsigned i = 0; i < 64; i++) {
		check_error(retype(child, OBJECT_ENDPOINT, 0, slot(), 1), NO_MEMORY);
		check_ok(cnode_delete(ROOT_SLOT_CNODE, endpoint + i));
	}
	check_error(retype(child, OBJECT_ENDPOINT, 0, endpoint, 1), NO_MEMORY);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, copy));
	check_ok(retype(child, OBJECT_ENDPOINT, 0, endpoint, 64));
}

TEST(nested_revoke, 1, 0, "untyped: revoke reaches through untypeds within untypeds")
{
	uint64_t outer = object(OBJECT_UNTYPED, 18), parent = outer, last = 0;
	for (unsigned bits = 17; bits >= 12; bits--) {
		last = slot();
		check_ok(retype(parent, OBJECT_UNTYPED, bits, last, 1));
		parent = last;
	}
	uint64_t endpoint = slot();
	check_ok(retype(last, OBJECT_ENDPOINT, 0, endpoint, 1));
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, outer));
	check(is_empty(endpoint));
	check(is_empty(last));
	check(!is_empty(outer));
}

TEST(bad_object, 1, 0, "untyped: BAD_ARGUMENT for what cannot be made of memory")
{
	static const uint64_t type[] = { 0, OBJECT_IRQ_HANDLER, OBJECT_IRQ_CONTROL, OBJECT_IO_PORT, OBJECT_CHANNEL,
	                                 OBJECT_CLUSTER_CONTROL,
		                         OBJECT_DOORBELL, OBJECT_CONTROL, OBJECT_DOMAIN + 1, 255, 256 + OBJECT_TCB };
	for (unsigned i = 0; i < sizeof(type) / sizeof(type[0]); i++)
		check_error(retype(test_memory(), type[i], 12, slot(), 1), BAD_ARGUMENT);
}

TEST(bad_size, 1, 0, "untyped: BAD_ARGUMENT for a size out of range")
{
	check_error(retype(test_memory(), OBJECT_UNTYPED, 3, slot(), 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_UNTYPED, 48, slot(), 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_UNTYPED, 0, slot(), 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_CNODE, 0, slot(), 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_CNODE, 33, slot(), 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_CNODE, ~0u, slot(), 1), BAD_ARGUMENT);
}

TEST(bad_count, 1, 0, "untyped: BAD_ARGUMENT for no objects and for more than 256")
{
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, slot(), 0), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, slot(), RETYPE_COUNT_MAX + 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, slot(), ~0ull), BAD_ARGUMENT);
}

TEST(bad_slot, 1, 0, "untyped: BAD_ARGUMENT for slots outside the CNode, and for slot 0")
{
	uint64_t end = 1ull << ROOT_CNODE_BITS;
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, 0, 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, end, 1), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, end - 1, 2), BAD_ARGUMENT);
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, ~0ull, 2), BAD_ARGUMENT);
	check(is_empty(end - 1));
}

TEST(bad_node, 1, 0, "untyped: BAD_CAP without a CNode")
{
	uint64_t endpoint = object(OBJECT_ENDPOINT, 0), s = slot();
	check_error(untyped_retype(IPC, test_memory(), OBJECT_ENDPOINT, 0, endpoint, s, 1), BAD_CAP);
	check_error(untyped_retype(IPC, test_memory(), OBJECT_ENDPOINT, 0, 0, s, 1), BAD_CAP);
	struct message m = { .word = { OBJECT_ENDPOINT, 0, s, 1 } };
	IPC->caps[0] = ROOT_SLOT_CNODE;
	check_error(invoke(test_memory(), UNTYPED_RETYPE, 0, 4, &m), BAD_CAP);
}

TEST(full_slot, 1, 0, "untyped: SLOT_FULL for one full slot among many, and nothing is made")
{
	uint64_t s = slots(4);
	check_ok(retype(test_memory(), OBJECT_ENDPOINT, 0, s + 2, 1));
	check_error(retype(test_memory(), OBJECT_ENDPOINT, 0, s, 4), SLOT_FULL);
	check(is_empty(s) && is_empty(s + 1) && is_empty(s + 3));
}

TEST(truncated, 1, 0, "untyped: TRUNCATED for fewer than four words")
{
	for (unsigned words = 0; words < 4; words++) {
		struct message m = { .word = { OBJECT_ENDPOINT, 0, slot(), 1 } };
		IPC->caps[0] = ROOT_SLOT_CNODE;
		check_error(invoke(test_memory(), UNTYPED_RETYPE, 1, words, &m), TRUNCATED);
	}
}

TEST(bad_label, 1, 0, "untyped: BAD_LABEL for other invocations")
{
	struct message m = { 0 };
	check_error(invoke(test_memory(), UNTYPED_COPY + 1, 0, 4, &m), BAD_LABEL);
	check_error(invoke(test_memory(), CNODE_COPY, 0, 4, &m), BAD_LABEL);
	check_error(invoke(test_memory(), 0, 0, 4, &m), BAD_LABEL);
}

TEST(vspace_limit, 1, 0, "untyped: NO_RESOURCE for more address spaces than there may be")
{
	enum { MOST = 4000 }; /* KERNEL_VSPACES; one more exists: ours */
	uint64_t s = slots(MOST), made = 0;
	while (made < MOST && retype(test_memory(), OBJECT_VSPACE, 0, s + made, 1) == 0)
		made++;
	check_eq(made, MOST - 1);
	check_error(retype(test_memory(), OBJECT_VSPACE, 0, s + made, 1), NO_RESOURCE);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, s + 7));
	check_ok(cnode_delete(ROOT_SLOT_CNODE, s + 100));
	uint64_t again = slots(3);
	check_error(retype(test_memory(), OBJECT_VSPACE, 0, again, 3), NO_RESOURCE);
	check_ok(retype(test_memory(), OBJECT_VSPACE, 0, again, 2));
}

static uint64_t special(enum root_untyped_kind kind)
{
	for (unsigned i = 0; i < ROOT->untyped_count; i++)
		if (ROOT->untyped[i].kind == kind && ROOT->untyped[i].size_bits >= 12)
			return ROOT_SLOT_UNTYPED + i;
	return 0;
}

TEST(modules_only_frames, 1, 0, "untyped: memory with content makes nothing but frames and untypeds")
{
	uint64_t memory = special(ROOT_UNTYPED_MODULES);
	static const enum skerry_object kernel_object[] = { OBJECT_TCB, OBJECT_ENDPOINT, OBJECT_NOTIFICATION,
	                                                    OBJECT_REPLY,
		                                            OBJECT_VSPACE, OBJECT_PAGE_TABLE };
	check(memory);
	for (unsigned i = 0; i < sizeof(kernel_object) / sizeof(kernel_object[0]); i++)
		check_error(retype(memory, kernel_object[i], 0, slot(), 1), BAD_ARGUMENT);
	check_error(retype(memory, OBJECT_CNODE, 4, slot(), 1), BAD_ARGUMENT);
	uint64_t child = slot();
	check_ok(retype(memory, OBJECT_UNTYPED, 14, child, 1));
	check_error(retype(child, OBJECT_ENDPOINT, 0, slot(), 1), BAD_ARGUMENT);
	check_ok(retype(child, OBJECT_FRAME_4K, 0, slot(), 1));
}

TEST(modules_keep, 1, NEEDS_PROCESSOR, "untyped: memory with content keeps it")
{
	uint64_t frame = slot();
	check(ROOT->module_count);
	check_ok(retype(special(ROOT_UNTYPED_MODULES), OBJECT_FRAME_4K, 0, frame, 1));
	check_eq(address_of(frame), ROOT->modules.base);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ, CACHE_WRITE_BACK));
	uint64_t sum = 0;
	for (unsigned i = 0; i < 512; i++)
		sum |= ((uint64_t *)WINDOW)[i];
	check(sum);
}
