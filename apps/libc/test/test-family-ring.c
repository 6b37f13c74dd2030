/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings that processes share, and a process that ends at every step of what it does with one: before each access to
 * shared words, and within each copy. The manager's part follows, and the others find whole transfers, a free lock, the
 * end of what the process wrote, and all rings again when nobody has one.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include "family-steps.h"

static jmp_buf ended;
static unsigned steps, ends_at; /* 0: it does not */

void step(void)
{
	if (++steps == ends_at)
		longjmp(ended, 1);
}

static void copy(char *to, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (i == 0 || i == size / 2)
			step();
		to[i] = from[i];
	}
}

#define memcpy(to, from, size) copy((char *)(to), (const char *)(from), size)
#include "family-ring.h"

enum { FIRST, CHILD, OTHER, BEFORE = 50, MORE = 100, LESS = 30 };

static struct family_area area;
static unsigned failures;

#define CHECK(condition) ((condition) ? (void)0 : fails(__LINE__, #condition))
static void fails(int line, const char *condition)
{
	failures++;
	printf("line %d, step %u: %s\n", line, ends_at, condition);
}

static char byte_of(uint64_t position) { return (char)(position * 31 + position / 256); }

static struct ring ring;

/* Puts so many bytes, by their position in the stream. */
static void put(uint32_t place, size_t count)
{
	char bytes[MORE + BEFORE];
	const uint64_t head = ring.shared->head;

	for (size_t i = 0; i < count; i++)
		bytes[i] = byte_of(head + i);
	CHECK(ring_try_lock(&ring, place));
	CHECK(ring_put(&ring, bytes, count) == count);
	ring_unlock(&ring, place);
}

static void take(uint32_t place, size_t count)
{
	char bytes[MORE + BEFORE];
	const uint64_t tail = ring.shared->tail;

	CHECK(ring_try_lock(&ring, place));
	CHECK(ring_peek(&ring, 0, bytes, count) == count);
	ring_drop(&ring, count);
	ring_unlock(&ring, place);
	for (size_t i = 0; i < count; i++)
		CHECK(bytes[i] == byte_of(tail + i));
}

static void child_writes(void) { put(CHILD, MORE); }
static void child_reads(void) { take(CHILD, LESS); }
static void child_takes(void)
{
	struct ring own;

	CHECK(ring_take(&area, CHILD, &own));
}

/* The next bytes in the first process's ring cross its end. The child inherits both ends, the first keeps one. */
static void begin(bool first_reads)
{
	memset(&area, 0, sizeof(area));
	steps = 0;
	CHECK(ring_take(&area, FIRST, &ring) && !ring_held(&ring) && ring_has_reader(&ring) && ring_has_writer(&ring));
	ring.shared->head = ring.shared->tail = 3 * FAMILY_RING_SIZE - BEFORE - MORE / 3;
	put(FIRST, BEFORE);
	family_area_inherit(&area, FIRST, CHILD);
	CHECK(area.changed[CHILD] == FAMILY_LOOK && ring.shared->ends == (family_reader(FIRST) | family_reader(CHILD) |
	      family_writer(FIRST) | family_writer(CHILD)));
	atomic_fetch_and(&ring.shared->ends, ~(first_reads ? family_writer(FIRST) : family_reader(FIRST)));
}

/* Lets the child end before step `at` of `does`. Returns whether it has come so far. */
static bool ends_in(void (*does)(void), unsigned at)
{
	steps = 0;
	ends_at = at;
	const bool has_ended = setjmp(ended);
	if (!has_ended)
		does();
	const uint32_t places = (ends_at = 0, family_area_leave(&area, CHILD));
	CHECK(places == 1u << FIRST && area.changed[FIRST] == (FAMILY_LOOK | FAMILY_RUNG));
	CHECK(area.changed[OTHER] == 0 && !ring.shared->lock);
	return has_ended;
}

static void at_every_step(void (*does)(void), size_t after)
{
	bool before = false, done = false;
	unsigned at = 1;

	for (bool more = true; more; at++) {
		begin(true);
		more = ends_in(does, at);
		const size_t held = ring_held(&ring);
		CHECK(held == BEFORE || held == after);
		CHECK(!ring_has_writer(&ring) && ring_read_ended(&ring) && ring_has_reader(&ring));
		before |= held == BEFORE;
		done |= held == after;
		take(FIRST, held);
	}
	CHECK(at > 6 && before && done);
}

/* All rings are free when the processes that had them are gone, however they went. */
static void all_free(void)
{
	struct ring own;

	for (unsigned at = 1; at < 8; at++) {
		begin(false);
		ends_in(child_takes, at);
		CHECK(!ring_has_reader(&ring) && ring_write_refused(&ring));
		for (unsigned i = 1; i < FAMILY_RINGS; i++)
			CHECK(ring_take(&area, OTHER, &own) && !ring_held(&own));
		CHECK(!ring_take(&area, OTHER, &own));
		family_area_leave(&area, OTHER);
		family_area_leave(&area, FIRST);
		for (unsigned i = 0; i < FAMILY_RINGS; i++)
			CHECK(!area.ring[i].ends);
	}
}

/* Another process's lock is not freed, and a ring with nonsense in it is empty. */
static void others(void)
{
	begin(true);
	CHECK(ring_try_lock(&ring, FIRST) && !ring_try_lock(&ring, CHILD));
	family_area_leave(&area, CHILD);
	CHECK(ring.shared->lock == FIRST + 1);
	ring_unlock(&ring, FIRST);
	ring.shared->head = ring.shared->tail + FAMILY_RING_SIZE + 1;
	CHECK(ring_held(&ring) == 0);
}

int main(void)
{
	at_every_step(child_writes, BEFORE + MORE);
	at_every_step(child_reads, BEFORE - LESS);
	all_free();
	others();
	return failures != 0;
}
