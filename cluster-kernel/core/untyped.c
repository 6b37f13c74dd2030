/* SPDX-License-Identifier: BSD-2-Clause */
#include "untyped.h"
#include "cap.h"
#include "cnode.h"
#include "derive.h"
#include "domain.h"
#include "frame.h"
#include "kernel.h"
#include "memory.h"
#include "message.h"
#include "thread.h"
#include "vspace.h"
#include "work.h"
#include LOCKING_HEADER

enum { UNTYPED_BITS_MIN = 4, UNTYPED_BITS_MAX = 47, CNODE_BITS_MAX = 32, ZERO_STEP = 512 };

/*
 * Arithmetic of retype. Contracts: docs/proofs.md.
 */

/* Returns where the next object of this size begins in an untyped of which `used` bytes are handed out. */
/*@ requires 4 <= bits <= 47 && used <= 1 << 47;
  @ assigns \nothing;
  @ ensures bits: aligned: \result % (1 << bits) == 0;
  @ ensures bits: next: used <= \result < used + (1 << bits); */
static inline uint64_t object_start(uint64_t used, unsigned bits)
{
	return (used + (1ull << bits) - 1) & -(1ull << bits);
}

/* Returns whether `count` objects of this size fit between `start` and the untyped's end. */
/*@ requires 4 <= bits <= 47 && size <= 1 << 47 && start <= 1 << 48;
  @ requires count <= RETYPE_COUNT_MAX;
  @ assigns \nothing;
  @ ensures bits: \result <==> start + count * (1 << bits) <= size; */
static inline bool objects_fit(uint64_t start, uint64_t count, unsigned bits, uint64_t size)
{
	return !(start > size || count > (size - start) >> bits);
}

/* Returns whether `count` slots from `first` on are in the CNode; slot 0 is none of them. */
/*@ requires slots <= 1 << 32;
  @ assigns \nothing;
  @ ensures \result <==> first >= 1 && first < slots && first + count <= slots; */
static inline bool slots_fit(uint64_t first, uint64_t count, uint64_t slots)
{
	return !(first == 0 || first >= slots || count > slots - first);
}

/* Returns how many bytes are zeroed at once. */
/*@ requires left > 0;
  @ assigns \nothing;
  @ ensures 0 < \result <= left && \result <= ZERO_STEP;
  @ ensures \result == left || \result == ZERO_STEP; */
static inline uint64_t zero_step(uint64_t left) { return left < ZERO_STEP ? left : ZERO_STEP; }

/* Returns how many objects the rest of the budget allows: at least one, for progress. */
/*@ requires 0 < cost <= 1000000 && left <= 1000000 && count > 0;
  @ assigns \nothing;
  @ ensures some: 1 <= \result <= count;
  @ ensures budget: left > 0 ==> (\result - 1) * cost < left;
  @ ensures most: left > 0 && \result < count ==> \result * cost >= left; */
static inline uint64_t objects_allowed(int left, int cost, uint64_t count)
{
	uint64_t allowed = left <= 0 ? 1 : (uint64_t)((left + cost - 1) / cost);
	return allowed < count ? allowed : count;
}
/* Returns log2 of the object's size; 0 if it cannot be made from untyped memory, or not of this size. */
static unsigned object_bits(uint64_t object, uint64_t size_bits)
{
	switch (object) {
	case OBJECT_UNTYPED: return size_bits >= UNTYPED_BITS_MIN && size_bits <= UNTYPED_BITS_MAX ? size_bits : 0;
	case OBJECT_CNODE: return size_bits >= 1 && size_bits <= CNODE_BITS_MAX ? size_bits + SLOT_BITS : 0;
	}
	if (size_bits)
		return 0;
	switch (object) {
	case OBJECT_TCB: return TCB_BITS;
	case OBJECT_ENDPOINT: return ENDPOINT_BITS;
	case OBJECT_NOTIFICATION: return NOTIFICATION_BITS;
	case OBJECT_REPLY: return REPLY_BITS;
	case OBJECT_VSPACE: return VSPACE_BITS;
	case OBJECT_PAGE_TABLE: return PAGE_TABLE_BITS;
	case OBJECT_DOMAIN: return DOMAIN_BITS;
	case OBJECT_FRAME_4K:
	case OBJECT_FRAME_2M:
	case OBJECT_FRAME_1G: return frame_bits(object);
	default: return 0;
	}
}

/*@ assigns \nothing;
  @ ensures \result <==> object == OBJECT_UNTYPED || OBJECT_FRAME_4K <= object <= OBJECT_FRAME_1G; */
static bool is_physical(uint64_t object)
{
	return object == OBJECT_UNTYPED || (object >= OBJECT_FRAME_4K && object <= OBJECT_FRAME_1G);
}

struct retype {
	struct slot *untyped, *node;
	uint64_t object, size_bits, first, count;
	unsigned bits;  /* log2 of an object's size */
	uint64_t start; /* of the first, from the untyped's beginning */
	bool resumed;   /* the call goes on: an earlier entry found all slots empty */
};

/* Returns the slots that the call has still to fill, as thread->retype_left. Never 0, since `first` is not. */
static uint64_t slots_left(const struct retype *r) { return r->first << 16 | r->count; }

/* Whether the first `count` slots are empty. */
static bool slots_empty(struct cpu *cpu, const struct retype *r, uint64_t count)
{
	kernel_assert(count <= r->count && r->node->cap.type == OBJECT_CNODE);
	work_done(cpu, count * WORK_EMPTY_SLOT);
	for (uint64_t i = 0; i < count; i++)
		if (!slot_empty(cnode_slot(&r->node->cap, r->first + i)))
			return false;
	return true;
}

/* `copies`: for UNTYPED_COPY, whose second word is no size. */
static uint64_t decode_retype(struct cpu *cpu, struct slot *untyped, uint64_t info, bool copies, struct retype *r)
{
	kernel_assert(untyped->cap.type == OBJECT_UNTYPED);
	const struct thread *thread = current(cpu);
	const struct cap *cap = &untyped->cap;
	*r = (struct retype){ .untyped = untyped, .object = message_word(thread, 0),
	                      .size_bits = copies ? 0 : message_word(thread, 1),
		              .first = message_word(thread, 2), .count = message_word(thread, 3) };
	r->bits = object_bits(r->object, r->size_bits);
	r->node = message_cap_of(cpu, info, 0, OBJECT_CNODE);
	if (!r->bits || r->count == 0 || r->count > RETYPE_COUNT_MAX)
		return SKERRY_BAD_ARGUMENT;
	if ((cap->flags & CAP_DEVICE) && (copies || !is_physical(r->object)))
		return SKERRY_BAD_ARGUMENT;
	if (copies && r->object != OBJECT_FRAME_4K && r->object != OBJECT_FRAME_2M)
		return SKERRY_BAD_ARGUMENT;
	if (!r->node)
		return SKERRY_BAD_CAP;
	if (!(r->node->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;
	if (!slots_fit(r->first, r->count, 1ull << r->node->cap.size_bits))
		return SKERRY_BAD_ARGUMENT;
	r->resumed = thread->retype_left == slots_left(r);
	if (!r->resumed && !slots_empty(cpu, r, r->count))
		return SKERRY_SLOT_FULL;
	if (r->object == OBJECT_VSPACE && !vspace_room(kernel_of(cpu), r->count))
		return SKERRY_NO_RESOURCE;
	uint64_t size = 1ull << cap->size_bits;
	uint64_t used = slot_has_children(untyped) ? cap->used : 0;
	kernel_assert(used <= size);
	r->start = object_start(used, r->bits);
	if (!objects_fit(r->start, r->count, r->bits, size))
		return SKERRY_NO_MEMORY;
	return SKERRY_OK;
}

/*
 * Zeroes the new objects' memory from where the last call stopped. Returns false when the budget ends first.
 *
 * Invariant: the bytes in [used, zeroed) are zero. The gap that alignment skips was not zeroed, so `used` passes it
 * together with `zeroed`; another retype that runs before this one resumes cannot allocate from the gap.
 */
static bool zero_memory(struct cpu *cpu, const struct retype *r)
{
	struct cap *cap = &r->untyped->cap;
	uint64_t end = r->start + (r->count << r->bits);
	kernel_assert(!(cap->flags & CAP_DEVICE) && end <= 1ull << cap->size_bits);
	kernel_assert(cap->zeroed >= cap->used || cap->zeroed < r->start);
	if (cap->zeroed < r->start || cap->copied)
		cap->used = cap->zeroed = r->start;
	cap->copied = 0;
	while (cap->zeroed < end) {
		uint64_t step = zero_step(end - cap->zeroed);
		memory_zero(direct(cap->object + cap->zeroed), step);
		cap->zeroed += step;
		work_done(cpu, step / 64 * WORK_ZERO);
		if (work_over(cpu))
			return cap->zeroed >= end;
	}
	return true;
}

/* Returns the address of the first object that is still to be made. */
static void make_object(struct cpu *cpu, const struct retype *r)
{
	kernel_assert(r->count > 0 && slot_empty(cnode_slot(&r->node->cap, r->first)));
	const struct cap *untyped = &r->untyped->cap;
	uint64_t paddr = untyped->object + r->start;
	kernel_assert(!(paddr & ((1ull << r->bits) - 1)));
	kernel_assert(r->start + (1ull << r->bits) <= 1ull << untyped->size_bits);
	struct cap cap = { .type = r->object, .rights = RIGHT_ALL, .size_bits = r->size_bits,
		           .flags = untyped->flags & CAP_DEVICE };
	cap.object = is_physical(r->object) ? paddr : (uint64_t)direct(paddr);
	work_done(cpu, WORK_OBJECT);
	switch (r->object) {
	case OBJECT_CNODE: cap_set_guard(&cap, 0, 64 - r->size_bits); break;
	case OBJECT_TCB: thread_init(direct(paddr)); break;
	case OBJECT_VSPACE:
		vspace_init(kernel_of(cpu), direct(paddr));
		work_done(cpu, WORK_VSPACE);
		break;
	case OBJECT_DOMAIN: domain_init(kernel_of(cpu), direct(paddr)); break;
	}
	object_locks_change(cpu, r->object, 1);
	slot_insert(cnode_slot(&r->node->cap, r->first), &cap, r->untyped);
}

/* The same for this call. */
static uint64_t batch_size(const struct cpu *cpu, const struct retype *r)
{
	kernel_assert(r->count > 0);
	int cost = WORK_OBJECT + (r->object == OBJECT_VSPACE ? WORK_VSPACE : 0) + (r->resumed ? WORK_EMPTY_SLOT : 0);
	return objects_allowed(cpu->own.work_left, cost, r->count);
}

static uint64_t retype_batch(struct cpu *cpu, struct retype *r)
{
	struct cap *cap = &r->untyped->cap;
	if (!slot_has_children(r->untyped) && cap->used)
		cap->used = cap->zeroed = cap->copied = 0; /* its last user may have left data */
	if (!(cap->flags & CAP_DEVICE) && r->object != OBJECT_UNTYPED && !zero_memory(cpu, r))
		return KERNEL_AGAIN;
	/*
	 * Another thread may have filled a slot since the earlier entry. The slots that this entry fills are looked at
	 * again, not the rest: the cost of the whole call stays linear in its count.
	 */
	uint64_t count = batch_size(cpu, r);
	if (r->resumed && !slots_empty(cpu, r, count))
		return SKERRY_SLOT_FULL;
	for (; count; count--) {
		make_object(cpu, r);
		r->start += 1ull << r->bits;
		r->first++;
		r->count--;
		cap->used = r->start;
	}
	if (r->count == 0)
		return SKERRY_OK;
	message_set_word(current(cpu), 2, r->first); /* the restarted call makes the objects that are left */
	message_set_word(current(cpu), 3, r->count);
	return KERNEL_AGAIN;
}

/* --- frames with the content of others --- */

/* Finds the frame whose content the next object gets. */
static uint64_t find_content(struct cpu *cpu, uint64_t info, const struct retype *r, const struct cap **content)
{
	const struct slot *node = message_cap_of(cpu, info, 1, OBJECT_CNODE);
	const struct slot *slot;
	if (!node)
		return SKERRY_BAD_CAP;
	if (!(node->cap.rights & RIGHT_READ))
		return SKERRY_NO_RIGHTS;
	slot = cnode_slot(&node->cap, message_word(current(cpu), 1));
	if (!slot || slot->cap.type != r->object || (slot->cap.flags & CAP_DEVICE))
		return SKERRY_BAD_CAP;
	*content = &slot->cap;
	return slot->cap.rights & RIGHT_READ ? SKERRY_OK : SKERRY_NO_RIGHTS;
}

/*
 * Copies the content from where the last call stopped. Returns false when the budget ends first.
 *
 * Hazard: memory that is taken for zeroed, or for a copy, and is neither. [used, zeroed) holds the beginning of the
 * frame that `copied` names until the object is made. Zeroing begins anew there, and so does a copy of another frame,
 * or by a thread whose last call was not this one.
 */
static bool copy_memory(struct cpu *cpu, const struct retype *r, const struct cap *content)
{
	enum { STEP = 16384 };
	struct cap *cap = &r->untyped->cap;
	const uint64_t end = r->start + (1ull << r->bits);
	const uint32_t number = (uint32_t)(content->object >> 21) + 1;
	kernel_assert(!(cap->flags & CAP_DEVICE) && end <= 1ull << cap->size_bits);
	if (!r->resumed || cap->copied != number || cap->used != r->start)
		cap->zeroed = r->start;
	cap->used = r->start;
	cap->copied = number;
	while (cap->zeroed < end) {
		const uint64_t left = end - cap->zeroed, step = left < STEP ? left : STEP;
		arch_copy(direct(cap->object + cap->zeroed), direct(content->object + (cap->zeroed - r->start)), step);
		cap->zeroed += step;
		work_done(cpu, (int)(step / 64 * WORK_COPY));
		if (work_over(cpu))
			return cap->zeroed >= end;
	}
	return true;
}

/* Makes frames until the budget is spent. A later entry finds in the words what is left. */
static uint64_t copy_frames(struct cpu *cpu, struct retype *r, uint64_t info)
{
	struct cap *cap = &r->untyped->cap;
	struct thread *thread = current(cpu);
	const struct cap *content;
	if (!slot_has_children(r->untyped) && cap->used)
		cap->used = cap->zeroed = cap->copied = 0;
	while (r->count) {
		uint64_t error = find_content(cpu, info, r, &content);
		if (error)
			return error;
		if (r->resumed && !slots_empty(cpu, r, 1))
			return SKERRY_SLOT_FULL;
		if (!copy_memory(cpu, r, content))
			return KERNEL_AGAIN;
		make_object(cpu, r);
		r->start = cap->used = cap->zeroed = r->start + (1ull << r->bits);
		cap->copied = 0;
		r->first++;
		r->count--;
		if (!r->count)
			break;
		message_set_word(thread, 1, message_word(thread, 1) + 1);
		message_set_word(thread, 2, r->first);
		message_set_word(thread, 3, r->count);
		if (work_over(cpu))
			return KERNEL_AGAIN;
	}
	return SKERRY_OK;
}

uint64_t invoke_untyped(struct cpu *cpu, struct slot *untyped, uint64_t info)
{
	assert_exclusive();
	struct thread *thread = current(cpu);
	struct retype r;
	const bool copies = message_label(info) == UNTYPED_COPY;
	if (message_label(info) != UNTYPED_RETYPE && !copies)
		return SKERRY_BAD_LABEL;
	if (message_words(info) < 4)
		return SKERRY_TRUNCATED;
	uint64_t result = decode_retype(cpu, untyped, info, copies, &r);
	if (!result)
		result = copies ? copy_frames(cpu, &r, info) : retype_batch(cpu, &r);
	thread->retype_left = result == KERNEL_AGAIN ? slots_left(&r) : 0;
	return result;
}
