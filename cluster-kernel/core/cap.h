/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capabilities, the slots that hold them, and the derivation tree.
 *
 * The tree is written as brackets: each capability has an opening and a closing one in a doubly linked list, and the
 * capabilities between the two were derived from it. So deletion is O(1): the children implicitly become children of
 * the parent. Each root has a list of its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>
#include "assert.h"

struct kernel;
struct cpu;

enum { CAP_NULL = 0, CAP_ZOMBIE = 255 }; /* other types: enum skerry_object; zombie.h */
enum {
	CAP_DEVICE = 1, /* untyped, frame: content is kept, the kernel never touches it */
	CAP_MAPPED = 2, /* frame, page table: cap_vaddr() and `vspace` are valid */
	CAP_THREAD = 4, /* held in a slot of a TCB: CSpace, VSpace or IPC buffer of a thread */
	/* frame in a fine domain: a reader has its slot to itself (guard.h); never where a writer is inside */
	CAP_LOCKED = 16,
	CAP_LISTENER = 32, /* notification: held for a doorbell of a channel */
	CAP_NOTED = 8,  /* frame: some core's struct protection may name its slot (protect.h) */
};

struct cap {
	uint8_t type;
	uint8_t rights;
	union {
		uint8_t size_bits; /* untyped, CNode: log2 of slots */
		uint8_t page_high; /* frame, page table: with page_low cap_vaddr() */
	};
	uint8_t flags;
	union {
		uint32_t guard_bits; /* CNode */
		uint32_t references; /* in slot 0 of a CNode: capabilities to that CNode */
		uint32_t page_low;   /* frame, page table */
		/* untyped: 1 + the number of the 2 MiB frame that [used, zeroed) is a copy of; 0: it is zeroes */
		uint32_t copied;
	};
	uint64_t object; /* kernel address; of untypeds and frames the physical address */
	union {
		uint64_t badge;    /* of endpoint, notification, I/O ports, doorbell; of a CNode its guard */
		uint64_t used;     /* untyped: bytes handed out */
		uint64_t domain;   /* frame: id of the mapping domain that it is in, domain.h; 0: the kernel's own */
		struct slot *next; /* zombie: the next of kernel->reap_list */
	};
	union {
		uint64_t vspace; /* frame, page table: id of the VSpace it is mapped in */
		uint64_t limit;  /* CNode: its slots, if a capability pointer is an index into it; else 0 */
		uint64_t zeroed; /* untyped: memory from `used` up to here is known to be zero */
		uint64_t cursor; /* zombie: slots before this are empty */
	};
};

struct link {
	struct link *previous, *next;
};

struct slot {
	_Alignas(1u << SLOT_BITS) struct cap cap;
	struct link open, close;
};
_Static_assert(sizeof(struct slot) == 1u << SLOT_BITS, "the ABI's slot size");

static inline struct slot *link_slot(const struct link *link)
{
	return (struct slot *)((uint64_t)link & -(uint64_t)sizeof(struct slot));
}
static inline bool link_opens(const struct link *link) { return link == &link_slot(link)->open; }

static inline bool slot_empty(const struct slot *slot) { return slot->cap.type == CAP_NULL; }
static inline bool slot_has_children(const struct slot *slot)
{
	kernel_assert(slot_empty(slot) || (slot->open.next && slot->close.previous));
	return slot->open.next != &slot->close && !slot_empty(slot);
}

/* Returns where a frame or page table is mapped: the page, which has 35 bits. */
static inline uint64_t cap_vaddr(const struct cap *cap)
{
	return ((uint64_t)cap->page_high << 32 | cap->page_low) << 12;
}
static inline void cap_set_vaddr(struct cap *cap, uint64_t vaddr)
{
	kernel_assert(vaddr >> 12 < 1ull << 40);
	cap->page_high = (uint8_t)(vaddr >> 44);
	cap->page_low = (uint32_t)(vaddr >> 12);
}

/*
 * Programs may copy the capabilities of an object until it has this many. What is left of the count is for copies that
 * the kernel makes: in the slots of a thread, of a listener, of an interrupt. A machine has no memory for so many of
 * these.
 */
enum { CAP_COPIES_LEFT = 1 << 28 };
/* Returns whether one more copy may be counted. */
bool cap_may_be_copied(const struct cap *cap);
/* Puts `cap` into the empty `slot` as a child of `parent` (null: a root of the tree). */
void slot_insert(struct slot *slot, const struct cap *cap, struct slot *parent);
/* Moves the capability to the empty `to`, keeping its place in the tree. */
void slot_move(struct slot *to, struct slot *from);
/* Empties the slot. Does not change the object's count or the object. */
void slot_remove(struct slot *slot);

/*
 * Deletes; may stop at any preemption point (work.h). Returns false when the budget is spent first; call it again then.
 * The last capability of an object ends the object; of a CNode, it makes a zombie. Deletion may reach the caller's own
 * capabilities, its slots, and the calling thread.
 */
bool slot_delete(struct cpu *cpu, struct slot *slot);
/* Deletes all descendants. */
bool slot_revoke(struct cpu *cpu, struct slot *slot);
