/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine.h"
#include <stdlib.h>
#include <string.h>
#include "atomics.h"

/* The last access of one thread to certain bytes of a word, of one kind. Earlier ones are ordered where this one is. */
struct access {
	struct access *next;
	uint16_t clock;
	uint8_t thread, bytes; /* a bit for each */
	bool write, atomic;
	const void *code;
};

/* Words that were touched in this execution, by open addressing. */
enum { WORDS = 1 << 16, ACCESSES = 1 << 18 };
static struct word {
	uint64_t address;
	uint32_t execution;
	bool has_atomics;
	struct access *accesses;
} words[WORDS];
static struct access accesses[ACCESSES];
static unsigned access_count, word_count;
static uint32_t execution;

struct undo {
	uint64_t address, old;
	uint8_t size;
};
static struct undo *undo;
static unsigned undo_count, undo_room;

void plain_start(void)
{
	execution++;
	access_count = word_count = 0;
}

static struct word *word_of(uint64_t address)
{
	/* the words of a page lie together: a case touches few pages */
	unsigned i = ((address >> 12) * 0x9e3779b97f4a7c15ull >> 48) + (address >> 3 & 511);
	for (;; i++) {
		struct word *w = &words[i % WORDS];
		if (w->execution != execution) {
			if (++word_count == WORDS / 2)
				explore_fail("too much memory for the explorer");
			*w = (struct word){ .address = address, .execution = execution };
			return w;
		}
		if (w->address == address)
			return w;
	}
}

static void access_word(unsigned thread, uint64_t address, uint8_t bytes, bool write, bool atomic, const void *code)
{
	struct word *w = word_of(address);
	struct access *own = 0;
	const uint16_t clock = memory_clock(thread);
	/* Until the thread's next write no other's access is ordered behind its own: a race with that has been seen. */
	for (struct access *a = w->accesses; a && !(own && own->clock == clock); a = a->next) {
		if (a->thread == thread) {
			if (a->bytes == bytes && a->write == write && a->atomic == atomic)
				own = a;
		} else if ((a->bytes & bytes) && (a->write || write) && !(a->atomic && atomic) &&
			   !memory_ordered(thread, a->thread, a->clock)) {
			explore_fail("data race at %s: thread %u %s at %s, thread %u %s at %s",
			             report_place(address + __builtin_ctz(a->bytes & bytes)), a->thread,
			             a->write ? "writes" : "reads", report_code(a->code), thread,
			             write ? "writes" : "reads", report_code(code));
		}
	}
	w->has_atomics |= atomic;
	if (write && !atomic && w->has_atomics)
		memory_forget(address + __builtin_ctz(bytes), __builtin_popcount(bytes));
	if (!own) {
		if (access_count == ACCESSES)
			explore_fail("too many accesses for the explorer");
		own = &accesses[access_count++];
		*own = (struct access){ .next = w->accesses, .thread = thread, .bytes = bytes, .write = write,
		                        .atomic = atomic };
		w->accesses = own;
	}
	own->clock = clock;
	own->code = code;
}

void plain_access(int thread, uint64_t address, uint64_t size, bool write, bool atomic, const void *code)
{
	if (thread == NOBODY || plain_is_hardware(address))
		return;
	for (uint64_t end = address + size; address < end;) {
		uint64_t word = address & ~7ull, last = end < word + 8 ? end : word + 8;
		access_word(thread, word, ((1u << (last - address)) - 1) << (address - word), write, atomic, code);
		address = last;
	}
}

static struct {
	uint64_t address, size;
} hardware[4];
static unsigned hardware_count;

void plain_no_hardware(void) { hardware_count = 0; }

void explore_hardware(const void *memory, uint64_t size)
{
	hardware[hardware_count].address = (uint64_t)memory;
	hardware[hardware_count++].size = size;
}

bool plain_is_hardware(uint64_t address)
{
	for (unsigned i = 0; i < hardware_count; i++)
		if (address - hardware[i].address < hardware[i].size)
			return true;
	return false;
}

void plain_record(uint64_t address, uint64_t size)
{
	if (!explore_running())
		return;
	while (size) {
		uint64_t part = size < 8 ? size : 8;
		if (undo_count == undo_room) {
			undo_room = undo_room ? 2 * undo_room : 1 << 16;
			undo = realloc(undo, undo_room * sizeof(*undo));
			if (!undo)
				abort();
		}
		struct undo *u = &undo[undo_count++];
		*u = (struct undo){ .address = address, .size = part };
		memcpy(&u->old, (const void *)address, part);
		address += part;
		size -= part;
	}
}

void plain_undo(void)
{
	while (undo_count) {
		const struct undo *u = &undo[--undo_count];
		memcpy((void *)u->address, &u->old, u->size);
	}
}
