/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * malloc() alone, over a heap that the test plays: what it maps and gives back, how many blocks and spans it keeps,
 * when it takes the lock, and that each block is where and as long as it says. A page behind each mapping cannot be
 * touched.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <skerry/malloc.h>
#include "check.h"
#include "layer.h"
#include "platform.h"

/* malloc.c is compiled with these names. */
void *blocks_malloc(size_t size);
void *blocks_calloc(size_t count, size_t size);
void *blocks_realloc(void *block, size_t size);
void *blocks_aligned_alloc(size_t align, size_t size);
size_t blocks_usable_size(void *block);
void blocks_free(void *block);

const size_t malloc_alignment = MALLOC_ALIGNMENT;

enum { HEAP_PAGES = 16384, NOISE = 0xa5, KEPT_MAX = 512, MANY = 300, LARGEST_SPARE = 16, SPARES = 8 };

/* --- the rest of the layer --- */

struct thread threads[THREADS_MAX];
struct page_rights protected_pages;
static struct process_info info = { .heap_size = (uint64_t)HEAP_PAGES * PAGE };
static char *const heap = (char *)PROCESS_HEAP_VADDR;
static uint32_t mapped[HEAP_PAGES]; /* how many pages the mapping has that begins here */
static bool taken[HEAP_PAGES];      /* by a mapping, or by the page behind one */
static unsigned locks, maps, unmaps, pages_mapped, pages_most = HEAP_PAGES;
_Atomic int layer_held;

const struct process_info *platform_info(void) { return &info; }

void layer_lock(void)
{
	CHECK(!layer_held);
	layer_held = true;
	locks++;
}

void layer_unlock(void)
{
	CHECK(layer_held);
	layer_held = false;
}

static bool protection_fails;
static size_t unprotected; /* pages, the last time */

long protection_set(uintptr_t address, size_t pages, unsigned rights)
{
	CHECK(mapped[(address - PROCESS_HEAP_VADDR) / PAGE] == pages && rights == PAGE_RIGHTS_DEFAULT);
	unprotected = pages;
	return protection_fails ? -ENOMEM : 0;
}

static void *map(size_t pages, int byte)
{
	size_t first = 0, free = 0;

	CHECK(layer_held && pages);
	if (pages > HEAP_PAGES || pages_mapped + pages > pages_most)
		return NULL;
	for (size_t i = 0; i < HEAP_PAGES && free <= pages; i++) {
		free = taken[i] ? 0 : free + 1;
		if (free == 1)
			first = i;
	}
	if (free <= pages)
		return NULL;
	mapped[first] = (uint32_t)pages;
	memset(taken + first, true, pages + 1);
	pages_mapped += (unsigned)pages;
	maps++;
	CHECK(!mprotect(heap + first * PAGE, pages * PAGE, PROT_READ | PROT_WRITE));
	return memset(heap + first * PAGE, byte, pages * PAGE);
}

void *heap_map(size_t pages) { return map(pages, 0); }
void *heap_map_used(size_t pages) { return map(pages, NOISE); }
void heap_zero(void *address, size_t pages) { memset(address, 0, pages * PAGE); }

void heap_unmap(void *address, size_t pages)
{
	const size_t first = (size_t)((char *)address - heap) / PAGE;

	CHECK(layer_held && mapped[first] == pages);
	mapped[first] = 0;
	memset(taken + first, false, pages + 1);
	pages_mapped -= (unsigned)pages;
	unmaps++;
	CHECK(!mprotect(address, pages * PAGE, PROT_NONE));
}

/* The end of the mapping that the block is in, and how long that is. */
static char *end_of_mapping(const char *block, size_t *length)
{
	size_t page = (size_t)(block - heap) / PAGE;

	while (!mapped[page])
		page--;
	*length = mapped[page] * (size_t)PAGE;
	CHECK(block < heap + (page + mapped[page]) * PAGE);
	return heap + (page + mapped[page]) * PAGE;
}

static void be_first(bool first)
{
	uintptr_t tls;

	__asm__("mov %%fs:0, %0" : "=r"(tls));
	threads[0].tls = first ? tls : 0;
}

/* --- what is kept --- */

static size_t kept_of(size_t size) { return size <= 64 ? 64 : size <= KEPT_MAX ? 8 : 0; }

/* How often the lock is taken to free all these blocks. */
static unsigned locks_to_free(void **block, unsigned count)
{
	const unsigned before = locks;

	for (unsigned i = 0; i < count; i++)
		blocks_free(block[i]);
	return locks - before;
}

/* The first thread gets a fixed number of the blocks of this size that it freed last without the lock; others none. */
static void kept_blocks_of(size_t size)
{
	void *block[MANY], *again[MANY], *others[MANY];
	const unsigned kept = (unsigned)kept_of(size);
	unsigned before;

	be_first(true);
	for (unsigned i = 0; i < MANY; i++)
		CHECK((block[i] = blocks_malloc(size)));
	CHECK(locks_to_free(block, MANY) == MANY - kept);
	be_first(false);
	before = locks;
	for (unsigned i = 0; i < MANY; i++) {
		CHECK((others[i] = blocks_malloc(size)));
		for (unsigned k = 0; k < kept; k++)
			CHECK(others[i] != block[k]);
	}
	CHECK(locks - before == MANY);
	CHECK(locks_to_free(others, MANY) == MANY);
	be_first(true);
	before = locks;
	for (unsigned i = 0; i < MANY; i++)
		CHECK((again[i] = blocks_malloc(size)));
	CHECK(locks - before == MANY - kept);
	for (unsigned i = 0; i < kept; i++)
		CHECK(again[i] == block[kept - 1 - i]);
	be_first(false); /* nothing is kept for the next size */
	CHECK(locks_to_free(again, MANY) == MANY);
}

static void kept_blocks(void)
{
	size_t bytes = 0, blocks = 0, last = 0;

	for (size_t size = 1; size <= KEPT_MAX + 200; size += size < 200 ? 1 : 7)
		kept_blocks_of(size);
	be_first(true);
	for (size_t size = 1; size <= 4096; size++) { /* of all classes at once */
		void *block[MANY];
		size_t whole, kept;

		CHECK((block[0] = blocks_malloc(size)));
		whole = blocks_usable_size(block[0]);
		for (unsigned i = 1; i < MANY; i++)
			CHECK((block[i] = blocks_malloc(size)));
		kept = MANY - locks_to_free(block, MANY);
		CHECK(kept == kept_of(whole));
		bytes += whole == last ? 0 : kept * whole;
		blocks += whole == last ? 0 : kept;
		last = whole;
	}
	CHECK(bytes <= 44 << 10 && blocks <= 640);
	CHECK(malloc_alignment == 16 || (bytes == 44800 && blocks == 640));
}

/* Spans of up to 16 pages that were freed last are kept, eight of them: these come again, and no others. */
static void kept_spans(void)
{
	void *block[3 * SPARES], *again[SPARES];
	unsigned before;

	for (size_t pages = 2; pages <= LARGEST_SPARE + 4; pages++) {
		const unsigned kept = pages <= LARGEST_SPARE ? SPARES : 0;

		for (unsigned i = 0; i < 3 * SPARES; i++)
			CHECK((block[i] = blocks_malloc(pages * PAGE)));
		before = pages_mapped;
		for (unsigned i = 0; i < 3 * SPARES; i++)
			blocks_free(block[i]);
		if (pages > 2 && kept) /* the first ones have driven out those of the size before */
			CHECK(before - pages_mapped == (3 * SPARES - kept) * pages + SPARES * (pages - 1));
		if (!kept)
			CHECK(before - pages_mapped == 3 * SPARES * pages);
		before = maps;
		for (unsigned i = 0; i < kept; i++) {
			unsigned k = 0;

			CHECK((again[i] = blocks_malloc(pages * PAGE)));
			while (k < 3 * SPARES && block[k] != again[i])
				k++;
			CHECK(k >= 2 * SPARES && k < 3 * SPARES);
		}
		CHECK(maps == before);
		for (unsigned i = 0; i < kept; i++)
			blocks_free(again[i]);
	}
}

/* A span is kept only when none of its pages is protected any more. */
static void protected_spans(void)
{
	void *block = blocks_malloc(3 * PAGE);
	unsigned before = unmaps;

	protected_pages.count = 1; /* some page of the heap is */
	blocks_free(block);
	/* in place of another one */
	CHECK(unprotected == 3 && blocks_malloc(3 * PAGE) == block && unmaps <= before + 1);
	before = unmaps;
	protection_fails = true;
	blocks_free(block);
	CHECK(unmaps == before + 1 && !mapped[(size_t)((char *)block - heap) / PAGE]);
	protected_pages.count = 0;
	protection_fails = false;
}

/* A heap that is full, but for spans that are kept. */
static void full_heap(void)
{
	void *block[SPARES], *large;

	for (unsigned i = 0; i < SPARES; i++)
		CHECK((block[i] = blocks_malloc(LARGEST_SPARE * PAGE)));
	for (unsigned i = 0; i < SPARES; i++)
		blocks_free(block[i]);
	pages_most = pages_mapped;
	CHECK((large = blocks_malloc(SPARES * LARGEST_SPARE * PAGE)));
	errno = 0;
	CHECK(!blocks_malloc(PAGE + 1) && errno == ENOMEM);
	pages_most = HEAP_PAGES;
	blocks_free(large);
}

/* --- where blocks are --- */

static bool holds(const unsigned char *bytes, size_t size, unsigned char value)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* A block beyond a page reaches from the aligned address that is asked for to the end of its mapping, wherever that
 * begins. */
static void check_aligned(size_t align, size_t size)
{
	unsigned char *block = blocks_aligned_alloc(align, size), *moved;
	const size_t whole = blocks_usable_size(block), larger = size > align ? size : align;

	size_t length;

	CHECK(block && (uintptr_t)block % align == 0 && whole >= larger && malloc_block_size(block) == whole);
	if (larger > PAGE) {
		CHECK((char *)block + whole == end_of_mapping((char *)block, &length));
		CHECK(length < larger + (align > PAGE ? align - PAGE : 0) + PAGE);
	}
	memset(block, 7, whole);
	CHECK((moved = blocks_realloc(block, 3 * whole)) && moved != block && holds(moved, whole, 7));
	blocks_free(moved);
	CHECK((block = blocks_aligned_alloc(align, size)) && blocks_usable_size(block) >= larger);
	memset(block, 8, blocks_usable_size(block));
	/* given back whole: heap_unmap() looks */
	CHECK((moved = blocks_realloc(block, larger / 4)) && holds(moved, larger / 4, 8));
	blocks_free(moved);
}

static void aligned_blocks(void)
{
	const unsigned before = pages_mapped;

	for (size_t align = 16; align <= (2 << 20); align *= 2)
		for (unsigned odd = 1; odd < 4; odd++) { /* mappings begin at other pages */
			void *between = blocks_malloc(odd * 17 * PAGE);

			for (size_t size = 1; size <= 5 * align && size <= (4 << 20); size = size * 3 + odd)
				check_aligned(align, size);
			check_aligned(align, align);
			check_aligned(align, align + 1);
			check_aligned(align, 2 * align - 1);
			blocks_free(between);
		}
	CHECK(pages_mapped <= before + SPARES * LARGEST_SPARE + 300); /* of spans with room, and their structures */
	for (size_t align = 24; align < 100000; align *= 3) {
		errno = 0;
		CHECK(!blocks_aligned_alloc(align, align) && errno == EINVAL);
	}
}

/* Powers of two up to a page are aligned to themselves, what is larger to pages. */
static size_t alignment_of(size_t whole)
{
	if (whole >= PAGE)
		return PAGE;
	return whole & (whole - 1) && whole > malloc_alignment ? malloc_alignment : whole & -whole;
}

/* Blocks waste a quarter at most, and are as long as they say; calloc() gives zeroes where others have left
 * something. */
static void lengths(void)
{
	for (size_t size = 0; size < 70000; size += size < 5000 ? 1 : 501) {
		unsigned char *a = blocks_malloc(size), *b = blocks_malloc(size), *zeroed;
		const size_t whole = blocks_usable_size(a);

		CHECK(a && b && whole >= size && whole == blocks_usable_size(b) && whole == malloc_block_size(a));
		CHECK(whole <= (size <= 128 ? size + malloc_alignment + 7 : size <= 4096 ? size * 5 / 4 + 1
		                : size + PAGE - 1));
		CHECK((uintptr_t)a % alignment_of(whole) == 0);
		memset(a, 1, whole);
		memset(b, 2, whole);
		CHECK(holds(a, whole, 1));
		blocks_free(a);
		blocks_free(b);
		CHECK((zeroed = blocks_calloc(1, size)) && holds(zeroed, size, 0));
		blocks_free(zeroed);
	}
	CHECK(!blocks_usable_size(NULL));
}

int main(void)
{
	CHECK(mmap(heap, (size_t)HEAP_PAGES * PAGE, PROT_NONE,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0) == heap);
	malloc_start();
	kept_blocks(); /* first: nothing is kept yet */
	kept_spans();
	protected_spans();
	be_first(true);
	lengths();
	be_first(false);
	lengths();
	full_heap();
	aligned_blocks();
	be_first(true);
	aligned_blocks();
	CHECK(!layer_held);
	return 0;
}
