/* SPDX-License-Identifier: BSD-2-Clause */
/* Which lines move, by which instructions, and whether the cores need each other's bytes. */
#include "lines.h"
#include <string.h>
#include "test-common.h"

enum { LINE = 100, CORES = 8 };
static struct machine machine;
static struct memory memory;
static struct touch current;
static uint64_t now;
static char text[1 << 16];

static void moved(const struct movement *movement) { lines_moved(movement, &current); }

static void begin(void)
{
	machine = small_machine();
	memory_make(&memory, &machine);
	memory.moved = moved;
	lines_make(CORES);
	now = 0;
}

static void access_bytes(unsigned core, uint64_t line, unsigned offset, unsigned size, enum access access, uint64_t pc)
{
	now += 1000 * UNIT;
	current = (struct touch){ .core = core, .store = access != LOAD, .pc = pc, .address = line * 64 + offset,
	                          .line = line,
		                  .offset = offset, .size = size };
	memory_access(&memory, core, line, access, now);
	lines_touched(&current);
}

static void at(unsigned core, unsigned offset, enum access access)
{
	access_bytes(core, LINE, offset, 8, access, 0x1000 + core);
}

/* Returns the report about the lines that moved. */
static const char *result(unsigned most)
{
	FILE *out = fmemopen(text, sizeof(text), "w");
	lines_write(out, most);
	fclose(out);
	lines_free();
	memory_free(&memory);
	return text;
}

static void says(const char *report, const char *part)
{
	if (!strstr(report, part)) {
		fprintf(stderr, "%s is not in %s\n", part, report);
		exit(1);
	}
}

/* Each core has a counter of its own in the line. */
static void false_sharing(void)
{
	begin();
	for (unsigned i = 0; i < 10; i++)
		for (unsigned core = 0; core < 2; core++)
			at(core, 8 * core, ATOMIC);
	const char *report = result(8);
	says(report, "\"moves\":19,\"lines\":1,"); /* the first comes from memory */
	says(report, "\"reads\":0,\"writes\":19,\"upgrades\":0,\"wait\":2090,"); /* 110 each */
	says(report, "\"fetches\":19,\"useless\":17,"); /* of the first of each nobody knows */
	says(report, "{\"core\":0,\"read\":0,\"written\":255},{\"core\":1,\"read\":0,\"written\":65280}");
	says(report, "[{\"pc\":4097,\"moves\":10,\"wait\":1100},{\"pc\":4096,\"moves\":9,\"wait\":990}]");
}

/* The same counter. */
static void true_sharing(void)
{
	begin();
	for (unsigned i = 0; i < 10; i++)
		for (unsigned core = 0; core < 2; core++)
			at(core, 0, ATOMIC);
	says(result(8), "\"fetches\":19,\"useless\":0,");
}

/* A core needs what it touches later, while it has the line: the first access alone does not tell. */
static void later_bytes(void)
{
	begin();
	for (unsigned i = 0; i < 10; i++) {
		at(0, 0, STORE);
		at(0, 8, STORE);
		at(1, 16, LOAD);
		at(1, 0, LOAD);
	}
	says(result(8), "\"useless\":0,");
}

/* Loads and stores of one's own: the load fetches, the store upgrades. */
static void upgrades(void)
{
	begin();
	for (unsigned i = 0; i < 10; i++)
		for (unsigned core = 0; core < 2; core++) {
			at(core, 8 * core, LOAD);
			at(core, 8 * core, STORE);
		}
	const char *report = result(8);
	says(report, "\"reads\":19,\"writes\":0,\"upgrades\":19,");
	says(report, "\"fetches\":19,\"useless\":17,");
}

/* A line that one core has for itself does not count, nor does one that all only read. */
static void nothing_moves(void)
{
	begin();
	for (unsigned i = 0; i < 10; i++) {
		at(0, 0, STORE);
		access_bytes(1, LINE + 1, 0, 8, LOAD, 1);
	}
	says(result(8), "\"moves\":0,\"lines\":0,\"hottest\":[]");
}

/* The hottest come first, the others are counted; what does not fit a line is cut; a table grows. */
static void many(void)
{
	enum { MANY = 5000 };
	begin();
	for (unsigned i = 0; i < MANY; i++)
		for (unsigned times = 0; times < (i == 7 ? 4 : 2); times++)
			access_bytes(times % 2, LINE + i, 60, 8, ATOMIC, 1);
	const char *report = result(2);
	says(report, "\"moves\":5002,\"lines\":5000,\"hottest\":[{\"physical\":6848,\"address\":6848,"); /* 107 */
	says(report, "},{\"physical\":6400,"); /* of equal ones the lowest */
	says(report, "\"written\":17293822569102704640}"); /* 4 bytes at the end */
	EXPECT(strstr(report, "\"physical\":6464") != NULL, 0);
}

int main(void)
{
	false_sharing();
	true_sharing();
	later_bytes();
	upgrades();
	nothing_moves();
	many();
	return 0;
}
