/* SPDX-License-Identifier: BSD-2-Clause */
#include "locality.h"
#include <skerry/cluster_mask.h>
#include "cnode.h"
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "reply.h"
#include LOCKING_HEADER

/* Null: the object has no locality. */
static struct object_lock *lock_of_cap(const struct cap *cap)
{
	switch (cap->type) {
	case OBJECT_ENDPOINT: return &((struct endpoint *)cap->object)->lock;
	case OBJECT_NOTIFICATION: return &((struct notification *)cap->object)->lock;
	case OBJECT_REPLY: return &((struct reply *)cap->object)->lock;
	default: return 0;
	}
}

static uint64_t check_cap(const struct cap *cap)
{
	if (cap->type == CAP_NULL)
		return SKERRY_EMPTY_SLOT;
	if (!lock_of_cap(cap))
		return SKERRY_BAD_CAP;
	return cap->type == OBJECT_REPLY || (cap->rights & RIGHT_READ) ? SKERRY_OK : SKERRY_NO_RIGHTS;
}

/* Counts one object more, or less, at the home of `mask`: a core does not leave while it is the home of an object. */
static void count_home(struct kernel *kernel, uint32_t mask, uint32_t more)
{
	if (mask != MASK_ALL)
		kernel->homes[mask_least(mask)] += more;
}

void locality_forget(struct kernel *kernel, const struct cap *cap)
{
	const struct object_lock *lock = lock_of_cap(cap);
	if (objects_have_homes() && lock)
		count_home(kernel, object_locality(lock), -1u);
}

/*
 * Stores the mask in a normal form: a single core of this kernel is mask_of(), which object_alone() compares with; all
 * cores are MASK_ALL.
 */
bool locality_set(struct kernel *kernel, const struct cap *cap, uint64_t mask)
{
	uint64_t count = mask > UINT32_MAX ? 0 : mask_count((uint32_t)mask, kernel->cpu_count);
	struct object_lock *lock = lock_of_cap(cap);
	if (!count || (mask != MASK_ALL && !kernel_has_core(kernel, mask_least((uint32_t)mask))))
		return false;
	if (count == 1 && mask_least((uint32_t)mask) > MASK_EXACT_LAST)
		return false;
	if (count == 1)
		mask = mask_of((uint32_t)mask_least((uint32_t)mask));
	else if (count == kernel->cpu_count)
		mask = MASK_ALL;
	count_home(kernel, object_locality(lock), -1u);
	object_set_locality(lock, (uint32_t)mask);
	count_home(kernel, object_locality(lock), 1);
	return true;
}

uint64_t invoke_locality(struct cpu *cpu, struct slot *node, uint64_t info)
{
	assert_exclusive();
	kernel_assert(node->cap.type == OBJECT_CNODE);
	bool set = message_label(info) == CNODE_LOCALITY;
	struct thread *thread = current(cpu);
	if (message_words(info) < (set ? 2u : 1u))
		return SKERRY_TRUNCATED;
	if (!(node->cap.rights & RIGHT_READ))
		return SKERRY_NO_RIGHTS;
	const struct slot *slot = cnode_slot(&node->cap, message_word(thread, 0));
	if (!slot)
		return SKERRY_BAD_ARGUMENT;
	uint64_t error = check_cap(&slot->cap);
	if (error)
		return error;
	if (set)
		return locality_set(kernel_of(cpu), &slot->cap, message_word(thread, 1)) ? SKERRY_OK
		       : SKERRY_BAD_ARGUMENT;
	uint32_t mask = object_locality(lock_of_cap(&slot->cap));
	message_set_word(thread, 0, mask);
	message_set_word(thread, 1, mask_least(mask));
	return SKERRY_OK;
}
