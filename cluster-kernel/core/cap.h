/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capabilities, the slots that hold them, and the derivation tree.
 *
 * The tree is a doubly linked list in preorder; a slot's descendants are the
 * slots after it with a greater depth, up to the first that is not deeper.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/syscall.h>

struct kernel;
struct cpu;

enum { CAP_NULL = 0 }; /* other types: enum skerry_object */
enum {
	CAP_DEVICE = 1, /* untyped, frame: content is kept, the kernel never touches it */
	CAP_MAPPED = 2, /* frame, page table: `mapped_*` are valid */
};

struct cap {
	uint8_t type;
	uint8_t rights;
	uint8_t size_bits; /* untyped, CNode (log2 of slots), frame */
	uint8_t flags;
	uint32_t guard_bits; /* CNode */
	uint64_t object;     /* kernel address; of untypeds and frames the physical address */
	union {
		uint64_t badge;  /* endpoint, notification, I/O ports, doorbell; guard of a CNode */
		uint64_t used;   /* untyped: bytes handed out */
		uint64_t vaddr;  /* frame, page table: where it is mapped */
	};
	uint64_t vspace; /* frame, page table: id of the VSpace it is mapped in */
};

struct slot {
	struct cap cap;
	struct slot *previous, *next;
	uint32_t depth;
	uint32_t references; /* slot 0 of a CNode only: capabilities to that CNode */
	uint64_t reserved;
};
_Static_assert(sizeof(struct slot) == 1u << SLOT_BITS, "the ABI's slot size");

static inline bool slot_empty(const struct slot *slot) { return slot->cap.type == CAP_NULL; }
static inline bool slot_has_children(const struct slot *slot)
{
	return slot->next && slot->next->depth > slot->depth;
}

/* Puts `cap` into the empty `slot` as a child of `parent` (null: a root of the tree). */
void slot_insert(struct slot *slot, const struct cap *cap, struct slot *parent);
/* Moves the capability to the empty `to`, keeping its place in the tree. */
void slot_move(struct slot *to, struct slot *from);
/* Empties the slot; the last capability of an object destroys the object. */
void slot_delete(struct cpu *cpu, struct slot *slot);
/* Deletes all descendants. */
void slot_revoke(struct cpu *cpu, struct slot *slot);
