/* SPDX-License-Identifier: BSD-2-Clause */
#include "untyped.h"
#include "cap.h"
#include "cnode.h"
#include "frame.h"
#include "kernel.h"
#include "memory.h"
#include "message.h"
#include "thread.h"
#include "vspace.h"

enum { UNTYPED_BITS_MIN = 4, UNTYPED_BITS_MAX = 47, CNODE_BITS_MAX = 32 };

/* log2 of the object's size, 0 for what cannot be made from untyped memory. */
static unsigned object_bits(uint64_t object, uint64_t size_bits)
{
	switch (object) {
	case OBJECT_UNTYPED: return size_bits >= UNTYPED_BITS_MIN && size_bits <= UNTYPED_BITS_MAX ? size_bits : 0;
	case OBJECT_CNODE: return size_bits >= 1 && size_bits <= CNODE_BITS_MAX ? size_bits + SLOT_BITS : 0;
	case OBJECT_TCB: return TCB_BITS;
	case OBJECT_ENDPOINT: return ENDPOINT_BITS;
	case OBJECT_NOTIFICATION: return NOTIFICATION_BITS;
	case OBJECT_REPLY: return REPLY_BITS;
	case OBJECT_VSPACE: return VSPACE_BITS;
	case OBJECT_PAGE_TABLE: return PAGE_TABLE_BITS;
	case OBJECT_FRAME_4K:
	case OBJECT_FRAME_2M:
	case OBJECT_FRAME_1G: return frame_bits(object);
	default: return 0;
	}
}

static bool is_physical(uint64_t object)
{
	return object == OBJECT_UNTYPED || (object >= OBJECT_FRAME_4K && object <= OBJECT_FRAME_1G);
}

static void make_object(struct cpu *cpu, struct slot *slot, struct slot *untyped, uint64_t object, unsigned size_bits,
                        unsigned bits, uint64_t paddr)
{
	bool device = untyped->cap.flags & CAP_DEVICE;
	struct cap cap = { .type = object, .rights = RIGHT_ALL, .size_bits = size_bits, .flags = device ? CAP_DEVICE : 0 };
	cap.object = is_physical(object) ? paddr : (uint64_t)direct(paddr);
	if (!device && object != OBJECT_UNTYPED)
		memory_zero(direct(paddr), 1ull << bits);
	switch (object) {
	case OBJECT_CNODE: cap.guard_bits = 64 - size_bits; break;
	case OBJECT_TCB: thread_init(direct(paddr)); break;
	case OBJECT_VSPACE: vspace_init(kernel_of(cpu), direct(paddr)); break;
	}
	slot_insert(slot, &cap, untyped);
}

uint64_t invoke_untyped(struct cpu *cpu, struct slot *untyped, uint64_t info)
{
	const struct thread *thread = current(cpu);
	struct cap *cap = &untyped->cap;
	if (message_label(info) != UNTYPED_RETYPE)
		return SKERRY_BAD_LABEL;
	if (message_words(info) < 4)
		return SKERRY_TRUNCATED;
	uint64_t object = message_word(thread, 0), size_bits = message_word(thread, 1);
	uint64_t first = message_word(thread, 2), count = message_word(thread, 3);
	unsigned bits = object_bits(object, size_bits);
	struct slot *node = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	if (!bits || count == 0 || count > RETYPE_COUNT_MAX)
		return SKERRY_BAD_ARGUMENT;
	if ((cap->flags & CAP_DEVICE) && !is_physical(object))
		return SKERRY_BAD_ARGUMENT;
	if (!node)
		return SKERRY_BAD_CAP;
	if (first >= 1ull << node->cap.size_bits || count > (1ull << node->cap.size_bits) - first)
		return SKERRY_BAD_ARGUMENT;
	for (uint64_t i = 0; i < count; i++) {
		struct slot *slot = cnode_slot(&node->cap, first + i);
		if (!slot)
			return SKERRY_BAD_ARGUMENT;
		if (!slot_empty(slot))
			return SKERRY_SLOT_FULL;
	}
	if (object == OBJECT_VSPACE && !vspace_room(kernel_of(cpu), count))
		return SKERRY_NO_RESOURCE;
	uint64_t size = 1ull << cap->size_bits;
	uint64_t used = slot_has_children(untyped) ? cap->used : 0;
	uint64_t start = (used + (1ull << bits) - 1) & -(1ull << bits);
	if (start > size || count > (size - start) >> bits)
		return SKERRY_NO_MEMORY;

	/* commit */
	cap->used = start + (count << bits);
	for (uint64_t i = 0; i < count; i++)
		make_object(cpu, cnode_slot(&node->cap, first + i), untyped, object, size_bits, bits,
		            cap->object + start + (i << bits));
	return SKERRY_OK;
}
