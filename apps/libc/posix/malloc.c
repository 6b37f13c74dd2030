/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * malloc() in place of musl's, which takes some 150 instructions for a block
 * and its release; a server allocates a dozen times for a request.
 *
 * Blocks of one size class come from spans: a few pages cut into equal blocks.
 * Larger blocks are spans of their own. A table says for each page of the heap
 * which span it belongs to, so that blocks carry no header and power-of-two
 * sizes are aligned to themselves. An empty span goes back to the heap, unless
 * it is the only one of its class with room. A few that went last are kept for
 * whoever needs as many pages next: at most SPARE_SPANS of SPARE_PAGES each.
 *
 * The layer's lock is the lock here: the layer itself never calls malloc(). The
 * first thread, which is the one that serves in most programs, keeps some of the
 * small blocks that it frees, and takes them again without the lock. Nothing but
 * it looks at these: to the spans they are blocks in use.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <skerry/list.h>
#include <skerry/malloc.h>
#include <skerry/process.h>
#include "family.h"
#include "layer.h"
#include "platform.h"

enum {
	STEP = 8,           /* classes up to STEPPED: its multiples */
	STEPPED = 128,
	STEPPED_CLASSES = STEPPED / STEP,
	CLASS_MAX = 4096,   /* above STEPPED: four to each doubling */
	CLASSES = STEPPED_CLASSES + 4 * 5,
	LARGE = CLASSES,
};
_Static_assert(STEPPED << 5 == CLASS_MAX, "five doublings");

struct span {
	struct malloc_span span; /* first. LARGE: the size is that from its one block to its end */
	struct list link;        /* of its class, while it has room; of unused structures */
	char *base;
	void *free;              /* blocks given back, chained by their first word */
	uint32_t pages;
	uint16_t class;
	uint16_t used;           /* blocks */
	uint16_t capacity;
	uint16_t touched;        /* blocks that were ever given out */
};
enum { SPAN_PAGES = 8 /* of a class, at most */ };
_Static_assert(SPAN_PAGES * PAGE / STEP <= UINT16_MAX, "blocks of a span");

/*
 * The first thread's. A request frees and takes few blocks of a size, but a server of many clients has a short block
 * for each that waits for the same turn. At most 44 KiB are kept, in up to 640 spans, which cannot go back to the heap
 * meanwhile.
 */
enum { KEPT_SIZE = 512, KEPT_CLASSES = STEPPED_CLASSES + 8, KEPT_BLOCKS = 8, SHORT = 64, KEPT_SHORT_BLOCKS = 64 };

static struct {
	void *first;   /* chained by their first word */
	unsigned room; /* for so many more */
} kept[CLASSES + 1]; /* of other classes, LARGE among them, there is no room for any */
static uint8_t class_of_kept[KEPT_SIZE + 1]; /* class_of(): each malloc() asks for it */

/* Spans that were given back, 512 KiB at most. To the heap their pages are in use. */
enum { SPARE_SPANS = 8, SPARE_PAGES = 16 };
static struct span *spare[SPARE_SPANS];
static unsigned spare_turn; /* of a full array: the one to go next */

enum { MANY_SPANS = 4 };
static struct list room[CLASSES];  /* of each class the spans that have some */
static unsigned spans[CLASSES];    /* of each class */
static struct list unused;         /* span structures */
uintptr_t malloc_page_entries;     /* 0: there is no table */

#ifdef LAYER_FAMILY
/* Another thread than the first may have forked while that one was about to take a kept block: they stay in use. */
void malloc_forked(bool by_first_thread)
{
	for (unsigned class = 0; !by_first_thread && class <= CLASSES; class++) {
		kept[class].first = 0;
		kept[class].room = 0;
	}
}
#endif

static unsigned class_of(size_t size) /* up to CLASS_MAX */
{
	require(size <= CLASS_MAX);
	if (size <= STEPPED)
		return size > STEP ? (unsigned)(((size + malloc_alignment - 1) & -malloc_alignment) / STEP - 1) : 0;
	unsigned doubling = 63 - (unsigned)__builtin_clzll(size - 1); /* 2^doubling < size <= 2^(doubling + 1) */
	return STEPPED_CLASSES + 4 * (doubling - 7) + (unsigned)((size - 1) >> (doubling - 2) & 3);
}

static uint32_t size_of(unsigned class)
{
	require(class < CLASSES);
	if (class < STEPPED_CLASSES)
		return (class + 1) * STEP;
	class -= STEPPED_CLASSES;
	return (5u + class % 4) << (5 + class / 4);
}

/* A class with many blocks has longer spans: less is lost at their ends, and by their structures. */
static uint32_t span_pages(unsigned class, uint32_t size)
{
	return size > 1024 ? SPAN_PAGES : size > STEPPED || spans[class] >= MANY_SPANS ? 4 : 1;
}

static struct span **page_entry(const void *address)
{
	return (struct span **)(malloc_page_entries + (uintptr_t)address / PAGE * sizeof(struct span *));
}

void malloc_start(void)
{
	for (size_t size = 0; size <= KEPT_SIZE; size++)
		class_of_kept[size] = (uint8_t)class_of(size);
	for (unsigned class = 0; class < KEPT_CLASSES; class++)
		kept[class].room = size_of(class) <= SHORT ? KEPT_SHORT_BLOCKS : KEPT_BLOCKS;
	list_init(&unused);
	for (unsigned class = 0; class < CLASSES; class++)
		list_init(&room[class]);
}

static bool make_page_table(void)
{
	size_t bytes = platform_info()->heap_size / PAGE * sizeof(struct span *);
	void *table = heap_map((bytes + PAGE - 1) / PAGE);

	if (table)
		malloc_page_entries = (uintptr_t)table - PROCESS_HEAP_VADDR / PAGE * sizeof(struct span *);
	return table;
}

static struct span *span_structure(void)
{
	struct span *s;

	if (list_is_empty(&unused)) {
		if (!(s = heap_map(1)))
			return NULL;
		for (unsigned i = 0; i < PAGE / sizeof(*s); i++)
			list_prepend(&unused, &s[i].link);
	}
	s = LIST_OF(unused.next, struct span, link);
	list_remove(&s->link);
	return s;
}

static void span_unmap(struct span *s)
{
	require(s->pages && (s->class == LARGE || !s->used));
	heap_unmap(s->base, s->pages);
	list_prepend(&unused, &s->link);
}

static struct span *take_spare(size_t pages)
{
	for (unsigned i = 0; i < SPARE_SPANS; i++) {
		struct span *s = spare[i];
		if (s && s->pages == pages) {
			spare[i] = NULL;
			return s;
		}
	}
	return NULL;
}

/* Returns whether there were any. To unmap one may release the lock: nobody may find it then. */
static bool unmap_spares(void)
{
	bool any = false;

	for (unsigned i = 0; i < SPARE_SPANS; i++) {
		struct span *s = spare[i];
		if (!s)
			continue;
		spare[i] = NULL;
		span_unmap(s);
		any = true;
	}
	return any;
}

static void *map_pages(size_t pages, bool zeroed) { return zeroed ? heap_map(pages) : heap_map_used(pages); }

/* Pages that were used before keep their content unless the caller wants them zeroed. */
static struct span *span_make(size_t pages, bool zeroed)
{
	require(pages && layer_is_locked());
	if (!malloc_page_entries && !make_page_table())
		return NULL;
	struct span *s = take_spare(pages);
	if (s) {
		if (zeroed)
			heap_zero(s->base, pages);
		*s = (struct span){ .base = s->base, .pages = (uint32_t)pages, .class = LARGE };
		return s;
	}
	s = span_structure();
	char *base = s ? map_pages(pages, zeroed) : NULL;
	if (!base && unmap_spares() && (s || (s = span_structure())))
		base = map_pages(pages, zeroed);
	if (!s)
		return NULL;
	*s = (struct span){ .base = base, .pages = (uint32_t)pages, .class = LARGE };
	if (base)
		return s;
	list_prepend(&unused, &s->link);
	return NULL;
}

/* Kept as a spare one where there is room, or in place of another one. No page of it stays protected. */
static void span_release(struct span *s)
{
	if (s->pages > SPARE_PAGES || !protection_drop((uintptr_t)s->base, s->pages)) {
		span_unmap(s);
		return;
	}
	for (unsigned i = 0; i < SPARE_SPANS; i++)
		if (!spare[i]) {
			spare[i] = s;
			return;
		}
	require(spare_turn < SPARE_SPANS);
	struct span *gone = spare[spare_turn];
	spare[spare_turn] = s;
	spare_turn = (spare_turn + 1) % SPARE_SPANS;
	span_unmap(gone);
}

static struct span *refill(unsigned class)
{
	uint32_t size = size_of(class), pages = span_pages(class, size);
	struct span *s = span_make(pages, false);

	if (!s)
		return NULL;
	s->class = (uint16_t)class;
	s->span.size = size;
	s->capacity = (uint16_t)(pages * PAGE / size);
	for (uint32_t i = 0; i < pages; i++)
		*page_entry(s->base + i * PAGE) = s;
	list_prepend(&room[s->class], &s->link);
	spans[class]++;
	return s;
}

static void *take_small(unsigned class)
{
	if (list_is_empty(&room[class]) && !refill(class))
		return NULL;
	struct span *s = LIST_OF(room[class].next, struct span, link);
	require(s->class == class && s->used < s->capacity);
	void *block = s->free;
	if (block)
		s->free = *(void **)block;
	else
		block = s->base + s->span.size * s->touched++;
	require(s->touched <= s->capacity);
	if (++s->used == s->capacity)
		list_remove(&s->link);
	return block;
}

/* `align` is a power of two. */
static void *take_large(size_t size, size_t align, bool zeroed)
{
	require(align && !(align & (align - 1)));
	size_t slack = align > PAGE ? align - PAGE : 0;
	struct span *s = size + slack < PTRDIFF_MAX ? span_make((size + slack + PAGE - 1) / PAGE, zeroed) : NULL;

	if (!s)
		return NULL;
	char *block = s->base + (slack ? -(uintptr_t)s->base & (align - 1) : 0);
	*page_entry(block) = s;
	s->span.size = (size_t)(s->base + (size_t)s->pages * PAGE - block);
	return block;
}

static void give_back(void *block)
{
	struct span *s = *page_entry(block);

	require(s && s->class <= LARGE && (s->class == LARGE || (s->used && s->used <= s->capacity)));
	if (s->class == LARGE) {
		span_release(s);
		return;
	}
	*(void **)block = s->free;
	s->free = block;
	if (s->used-- == s->capacity)
		list_prepend(&room[s->class], &s->link);
	if (!s->used && s->link.next != s->link.previous) { /* not the only one */
		list_remove(&s->link);
		spans[s->class]--;
		span_release(s);
	}
}

static inline void *answer(void *block)
{
	if (__builtin_expect(!block, 0))
		errno = ENOMEM;
	return block;
}

/* A block that the first thread has kept, or null. */
static inline void *take_kept(size_t size)
{
	if (size > KEPT_SIZE || !thread_is_first())
		return NULL;
	const unsigned class = class_of_kept[size];
	void *block = kept[class].first;
	if (block) {
		require(kept[class].room < KEPT_SHORT_BLOCKS);
		kept[class].first = *(void **)block;
		kept[class].room++;
	}
	return block;
}

/* A block's span stays what it is as long as the block is in use, so that it is read without the lock. */
static inline bool keep(void *block)
{
	if (!thread_is_first())
		return false;
	const unsigned class = (*page_entry(block))->class;
	if (!kept[class].room)
		return false;
	*(void **)block = kept[class].first;
	kept[class].first = block;
	kept[class].room--;
	return true;
}

/* A small block is never zeroed here. */
static void *allocate(size_t size, size_t align, bool large_zeroed)
{
	if (size > PTRDIFF_MAX - align)
		return answer(NULL);
	layer_lock();
	void *block = size <= CLASS_MAX ? take_small(class_of(size)) : take_large(size, align, large_zeroed);
	layer_unlock();
	return answer(block);
}

static inline void *take(size_t size, bool large_zeroed)
{
	void *block = take_kept(size);

	return block ? block : allocate(size, malloc_alignment, large_zeroed);
}

void *malloc(size_t size) { return take(size, false); }

/* Not in line: a free() that keeps the block saves no registers then. */
static __attribute__((noinline)) void free_locked(void *block)
{
	layer_lock();
	give_back(block);
	layer_unlock();
}

void free(void *block)
{
	if (block && !keep(block))
		free_locked(block);
}

void *calloc(size_t count, size_t size)
{
	size_t whole;

	if (__builtin_mul_overflow(count, size, &whole))
		return answer(NULL);
	void *block = take(whole, true);
	if (block && whole <= CLASS_MAX)
		memset(block, 0, whole);
	return block;
}

size_t malloc_usable_size(void *block)
{
	return block ? malloc_block_size(block) : 0;
}

/* Stays where it is as long as it fits and would not waste more than half. */
void *realloc(void *block, size_t size)
{
	size_t old = malloc_usable_size(block);

	if (!block)
		return malloc(size);
	if (size <= old && size > old / 2)
		return block;
	void *moved = malloc(size);
	if (moved) {
		memcpy(moved, block, size < old ? size : old);
		free(block);
	}
	return moved;
}

/* Classes that are powers of two are aligned to their size, up to a page. */
void *aligned_alloc(size_t align, size_t size)
{
	if (!align || align & (align - 1)) {
		errno = EINVAL;
		return NULL;
	}
	if (align <= malloc_alignment)
		return malloc(size < align ? align : size);
	if (size < align)
		size = align;
	if (size <= CLASS_MAX)
		size = (size_t)1 << (64 - __builtin_clzll(size - 1));
	return allocate(align > PAGE && size <= CLASS_MAX ? align : size, align, false);
}
