/* SPDX-License-Identifier: BSD-2-Clause */
/* QEMU's count of ticks, as cpu_get_ticks() has it, and ones that are not as expected. */
#include <string.h>
#include "test-common.h"
#include "ticks.h"

static struct {
	struct ticks ticks;
	bool runs;
	int64_t host;
} qemu;

static int64_t get_ticks(void)
{
	int64_t found = qemu.ticks.offset + (qemu.runs ? qemu.host++ : 0);
	if (qemu.ticks.last > found) {
		qemu.ticks.offset += qemu.ticks.last - found;
		found = qemu.ticks.last;
	}
	return qemu.ticks.last = found;
}

static int64_t get_the_other_way_round(void)
{
	int64_t found = qemu.ticks.last;
	if (qemu.ticks.offset > found)
		found = qemu.ticks.offset;
	return qemu.ticks.offset = found;
}

static int64_t get_by_offset(void) { return qemu.ticks.offset; }
static int64_t get_last(void) { return qemu.ticks.last; }
static int64_t get_the_hosts(void) { return qemu.host++; }

/* It is not taken, and nothing is changed. */
static void error_set(int64_t (*get)(void))
{
	const struct ticks before = { 3, 4 };
	qemu.ticks = before;
	EXPECT(ticks_take(&qemu.ticks, get), 0);
	EXPECT(memcmp(&qemu.ticks, &before, sizeof(before)), 0);
}

int main(void)
{
	qemu.host = 1ll << 61;
	EXPECT(ticks_take(NULL, get_ticks), 0);
	EXPECT(ticks_take(&qemu.ticks, NULL), 0);
	error_set(get_the_other_way_round);
	error_set(get_by_offset);
	error_set(get_last);
	error_set(get_the_hosts);
	qemu.ticks = (struct ticks){ 7, 8 };
	EXPECT(ticks_take(&qemu.ticks, get_ticks), 1);
	EXPECT(qemu.ticks.last == 7 && qemu.ticks.offset == 8, 1);
	qemu.runs = true; /* from now on the host's counter is in it, which QEMU first makes up for */
	qemu.ticks.offset -= qemu.host;
	static const uint64_t values[] = { 1000, 1000, 1001, 999, 0, (1ull << 61) + 5, 1 };
	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		ticks_set(values[i]);
		EXPECT(get_ticks(), values[i]);
	}
	return 0;
}
