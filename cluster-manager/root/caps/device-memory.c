/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames at given addresses: the untyped that holds one is halved until a piece is just the frame. */
#include "device-memory.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

enum { PIECES_MAX = 1024 };

struct piece {
	uint64_t paddr;
	unsigned bits;
	int slot;
};

static struct piece piece[PIECES_MAX], made[PIECES_MAX]; /* untypeds; frames */
static uint32_t piece_count, made_count;

void device_memory_init(void)
{
	for (uint32_t i = 0; i < ROOT->untyped_count && piece_count < PIECES_MAX; i++)
		if (ROOT->untyped[i].kind == ROOT_UNTYPED_DEVICE)
			piece[piece_count++] = (struct piece){ ROOT->untyped[i].paddr, ROOT->untyped[i].size_bits,
							       ROOT_SLOT_UNTYPED + (int)i };
}

static struct piece *piece_find(uint64_t paddr, unsigned bits)
{
	for (uint32_t i = 0; i < piece_count; i++)
		if (piece[i].bits >= bits && paddr >= piece[i].paddr && paddr - piece[i].paddr < 1ull << piece[i].bits)
			return &piece[i];
	return NULL;
}

/* The slot of a frame of 1 << bits bytes at `paddr`, or an error. */
static int make_frame(uint64_t paddr, enum skerry_object type, unsigned bits)
{
	struct piece *p = piece_find(paddr, bits);
	if (!p)
		return -SKERRY_NOT_FOUND;
	while (p->bits > bits) {
		int halves = piece_count < PIECES_MAX ? slots_take(2) : -SKERRY_NO_RESOURCE;
		int error = halves < 0 ? halves : untyped_retype(IPC, (uint64_t)p->slot, OBJECT_UNTYPED, p->bits - 1,
								 ROOT_SLOT_CNODE, (uint64_t)halves, 2);
		if (error)
			return error;
		struct piece low = { p->paddr, p->bits - 1, halves };
		struct piece high = { p->paddr + (1ull << low.bits), low.bits, halves + 1 };
		bool in_high = paddr >= high.paddr;
		*p = in_high ? high : low;
		piece[piece_count++] = in_high ? low : high;
	}
	int frame = slots_take(1);
	int error = frame < 0 ? frame : untyped_retype(IPC, (uint64_t)p->slot, type, 0, ROOT_SLOT_CNODE,
						       (uint64_t)frame, 1);
	if (error)
		return error;
	*p = piece[--piece_count];
	return frame;
}

/* The same; one that was mapped for a program that ended is taken from there. */
static int frame_at(uint64_t paddr, enum skerry_object type, unsigned bits)
{
	for (uint32_t i = 0; i < made_count; i++)
		if (made[i].paddr == paddr && made[i].bits == bits) {
			frame_unmap((uint64_t)made[i].slot);
			return made[i].slot;
		}
	if (made_count == PIECES_MAX)
		return -SKERRY_NO_RESOURCE;
	uint32_t before = owner_set(OWNER_MANAGER);
	int frame = make_frame(paddr, type, bits);
	owner_set(before);
	if (frame >= 0)
		made[made_count++] = (struct piece){ paddr, bits, frame };
	return frame;
}

int device_memory_map(int vspace, uint64_t paddr, uint64_t size, uint64_t vaddr)
{
	for (uint64_t done = 0; done < size;) {
		bool large = size - done >= SIZE_2M && !((paddr + done) & (SIZE_2M - 1)) &&
		             !((vaddr + done) & (SIZE_2M - 1));
		int frame = large ? frame_at(paddr + done, OBJECT_FRAME_2M, 21)
		    : frame_at(paddr + done, OBJECT_FRAME_4K, 12);
		int error = frame < 0 ? frame :
			vspace_map(vspace, frame, vaddr + done, RIGHT_READ | RIGHT_WRITE, CACHE_DISABLED);
		if (error)
			return error;
		done += large ? SIZE_2M : SIZE_4K;
	}
	return 0;
}
