/* SPDX-License-Identifier: BSD-2-Clause */
#include "direct.h"
#include <string.h>
#include <skerry/memory_control.h>
#include "arch.h"
#include "arena.h"
#include "hosted.h"
#include "kernel.h"

#define PIECE (1ull << MEMORY_PIECE_BITS)
#define PIECES (((uint64_t)ARENA_CLUSTERS + 1) << (ARENA_PART_BITS - MEMORY_PIECE_BITS))
#define WORDS_BASE 0x9000000ull /* in part 0, as the clusters' control words */
enum { GARBAGE = 0xa5 };

static uint8_t mapped_by[PIECES]; /* cluster + 1; 0: no kernel has the piece */
static bool has_words;

uint64_t hosted_memory_size(void) { return memory_control_size(PIECES); }
struct memory_control *hosted_memory_control(void) { return direct(WORDS_BASE); }

void direct_begin(unsigned cluster, uint64_t size)
{
	for (uint64_t at = 0; at + PIECE <= size; at += PIECE)
		mapped_by[(arena_part(cluster) + at) >> MEMORY_PIECE_BITS] = (uint8_t)(cluster + 1);
}

void direct_words(struct boot_info *info)
{
	if (!has_words)
		arena_take(WORDS_BASE, 2 * hosted_memory_size());
	has_words = true;
	struct memory_control *control = hosted_memory_control();
	uint8_t *home = (uint8_t *)control + hosted_memory_size();
	control->count = PIECES;
	for (uint64_t i = 0; i < PIECES; i++)
		if (mapped_by[i] == info->cluster + 1) {
			atomic_store(&control->piece[i], memory_byte(MEMORY_OWNED, info->cluster));
			home[i] = mapped_by[i];
		}
	info->memory_control = WORDS_BASE;
	info->memory_size = hosted_memory_size();
}

void direct_end(unsigned cluster)
{
	for (uint64_t i = 0; i < PIECES; i++)
		if (mapped_by[i] == cluster + 1) {
			mapped_by[i] = 0;
			arena_drop(i << MEMORY_PIECE_BITS, PIECE);
			if (has_words)
				atomic_store(&hosted_memory_control()->piece[i], memory_byte(MEMORY_NONE, 0));
		}
}

uint32_t arch_direct_count(const struct kernel *kernel, uint64_t base, uint32_t pieces)
{
	uint32_t count = 0;
	uint64_t first = base >> MEMORY_PIECE_BITS;
	kernel_assert(!(base & (PIECE - 1)));
	if (first >= PIECES || pieces > PIECES - first)
		return ARCH_NO_TABLE;
	for (uint32_t i = 0; i < pieces; i++)
		count += mapped_by[first + i] == kernel->boot->cluster + 1;
	return count;
}

/* No kernel may touch what no kernel has; what comes is full of what its owner has left. */
void arch_direct_set(struct kernel *kernel, uint64_t base, uint32_t pieces, bool mapped)
{
	kernel_assert(arch_direct_count(kernel, base, pieces) == (mapped ? 0 : pieces));
	for (uint32_t i = 0; i < pieces; i++) {
		uint8_t *by = &mapped_by[(base >> MEMORY_PIECE_BITS) + i];
		if (mapped && *by)
			arch_panic("a kernel takes memory that another one has");
		*by = mapped ? (uint8_t)(kernel->boot->cluster + 1) : 0;
	}
	if (mapped) {
		arena_take(base, pieces * PIECE);
		memset(direct(base), GARBAGE, pieces * PIECE);
	} else {
		arena_drop(base, pieces * PIECE);
		atomic_fetch_add(&((struct hosted *)kernel)->direct_losses, 1); /* the kernel is its first member */
	}
}
