/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies with and without AVX, whatever this processor has, up to the edge of pages that cannot be touched. */
#include <sys/mman.h>
#include "../string/copy.c"
#include "check.h"

enum { ROOM = 3 * 4096, PAGE = 4096, MOST = 2100 };

/* Its first and last bytes have pages beside them that nobody may touch. */
static char *fenced(void)
{
	char *pages = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && mprotect(pages + PAGE, ROOM, PROT_READ | PROT_WRITE) == 0);
	return pages + PAGE;
}

static char byte_at(size_t i) { return (char)(i * 167 + (i >> 8)); }

/* Nothing but `n` bytes of `to` has changed. */
static void copies(char *to_room, size_t to, const char *from_room, size_t from, size_t n)
{
	for (size_t i = 0; i < ROOM; i++)
		to_room[i] = '-';
	CHECK(memcpy(to_room + to, from_room + from, n) == to_room + to);
	for (size_t i = 0; i < n; i++)
		CHECK(to_room[to + i] == byte_at(from + i));
	CHECK((!to || to_room[to - 1] == '-') && (to + n == ROOM || to_room[to + n] == '-'));
}

static void moves(char *room, size_t to, size_t from, size_t n)
{
	for (size_t i = 0; i < ROOM; i++)
		room[i] = byte_at(i);
	CHECK(memmove(room + to, room + from, n) == room + to);
	for (size_t i = 0; i < ROOM; i++)
		CHECK(room[i] == byte_at(i - to < n ? from + i - to : i));
}

static void run(char *to, char *from)
{
	for (size_t n = 0; n < MOST; n += n < 700 ? 1 : 37) {
		copies(to, 0, from, ROOM - n, n);
		copies(to, ROOM - n, from, 0, n);
		copies(to, n % 33, from, n % 31, n);
		for (size_t distance = 1; distance < MOST; distance = distance * 3 + 1) {
			moves(to, 100, 100 + distance, n);
			moves(to, 100 + distance, 100, n);
		}
	}
}

int main(void)
{
	char *to = fenced(), *from = fenced();

	for (size_t i = 0; i < ROOM; i++)
		from[i] = byte_at(i);
	width = NARROW;
	run(to, from);
	width = UNKNOWN;
	run(to, from);
	CHECK(width == (processor_is_wide() ? WIDE : NARROW));
	printf("%s\n", width == WIDE ? "with and without AVX" : "without AVX: this processor has none");
	return 0;
}
