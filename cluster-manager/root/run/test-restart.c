/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a program waits before it is started again, and when it stays down. */
#include "restart.h"
#include "test-check.h"

/* A program that ends `life` ms after each start, `ends` times. Returns how often it was started again; *last: the last
 * wait. */
static uint32_t live(uint32_t limit, uint32_t delay, uint64_t life, uint32_t ends, uint64_t *last)
{
	struct restart_history history = { 0 };
	uint64_t now = 1000000;
	*last = 0;
	for (uint32_t i = 0; i < ends; i++) {
		now += life;
		if (restart_spent(&history, limit, now))
			break;
		*last = restart_note(&history, delay, now);
		now += *last;
	}
	return history.count;
}

/* Restarts in any 60 s are not more than the limit, whatever the lives between them are. */
static void never_more(uint32_t limit)
{
	struct restart_history history = { 0 };
	uint64_t now = 1, at[4000];
	uint32_t count = 0, seed = 7, refused = 0;
	for (unsigned i = 0; i < 4000; i++) {
		seed = seed * 1664525 + 1013904223;
		now += (seed >> 16) % 12000;
		if (restart_spent(&history, limit, now)) {
			refused++;
			continue;
		}
		restart_note(&history, 100, now);
		at[count++] = now;
		CHECK(count <= limit || now - at[count - 1 - limit] >= RESTART_WINDOW_MS);
	}
	CHECK(refused && count > 100);
}

int main(void)
{
	uint64_t last;
	CHECK(live(5, 100, 0, 100, &last) == 5 && last == 1600); /* 0.1, 0.2, 0.4, 0.8, 1.6 s, and it stays down */
	CHECK(live(5, 100, 11000, 100, &last) == 5);
	CHECK(live(5, 100, 13000, 100, &last) == 100 && last == RESTART_DELAY_MOST_MS); /* five take longer than 60 s */
	/* a long life: it starts anew */
	CHECK(live(5, 100, 60000, 100, &last) == 100 && last == 100);
	CHECK(live(1, 100, 59899, 100, &last) == 1 && live(1, 100, 60000, 100, &last) == 100);
	CHECK(live(16, 100, 0, 100, &last) == 16 && last == RESTART_DELAY_MOST_MS);
	CHECK(live(0, 0, 0, 1000, &last) == 1000 && last == 0); /* no limit, no wait */
	CHECK(live(0, 4000, 0, 3, &last) == 3 && last == RESTART_DELAY_MOST_MS);
	never_more(1);
	never_more(5);
	never_more(16);
	return failures != 0;
}
