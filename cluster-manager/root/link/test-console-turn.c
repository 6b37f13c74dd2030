/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns on the console: what each ticket that others show means, and managers that write at the same time. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "root.h"
#include "test-check.h"

static uint64_t now = 1000000; /* a cycle is a millisecond */
static uint64_t test_clock(void) { return now; }

#define read_tsc test_clock
#include "console-turn.c"

enum { CLUSTERS = 4, OWN = 1, LINES = 3000, LENGTH = 12 };

static bool is_lost[CLUSTERS], is_printing;
static struct ledger *ledger; /* of OWN, and of the others in the order of boot_info */

/* Called where a ticket of another cluster is looked at: this cluster shows by then that it draws one. */
const struct watch_verdict *watch_verdict(uint32_t cluster)
{
	static const struct watch_verdict lost;
	CHECK(ledger[0].manager.console != NONE);
	return is_lost[cluster] ? &lost : NULL;
}
bool watch_console_is_taken(void) { return is_printing; }

/* Maps ledgers and what the kernel tells as `cluster` has them; `memory` is a file with the ledgers of all. */
static void become(int memory, uint32_t cluster)
{
	struct root_info *root = (struct root_info *)ROOT;
	ledger = (struct ledger *)ROOT_LEDGER_VADDR;
	*root = (struct root_info){ .cluster = cluster, .ledger_count = CLUSTERS, .tsc_hz = 1000 };
	for (uint32_t i = 0; i < CLUSTERS; i++) {
		root->ledger[i].cluster = (cluster + i) % CLUSTERS;
		if (mmap(&ledger[i], sizeof(*ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory,
		         root->ledger[i].cluster * (long)sizeof(*ledger)) != &ledger[i])
			_exit(SKIPPED);
	}
}

/* Another cluster shows this ticket. */
static void show_of(uint32_t cluster, uint64_t ticket)
{
	ledger[(cluster + CLUSTERS - OWN) % CLUSTERS].manager.console = ticket;
}

static uint64_t own_ticket(void) { return ledger[0].manager.console; }

/* A turn that begins while cluster 2 shows `ticket`. Returns whether it is ours at once. */
static bool take_beside(uint64_t ticket)
{
	console_turn_end();
	CHECK(own_ticket() == NONE);
	for (uint32_t i = 0; i < CLUSTERS; i++)
		if (i != OWN)
			show_of(i, i == 2 ? ticket : NONE);
	return console_turn_take();
}

static void tickets(void)
{
	CHECK(take_beside(NONE) && own_ticket() > DRAWING);
	CHECK(take_beside(HIGHEST + 1) && take_beside(UINT64_MAX));
	CHECK(!take_beside(DRAWING) && !take_beside(5) && own_ticket() == 6);
	show_of(2, NONE);
	show_of(0, 6);
	CHECK(!console_turn_take());
	show_of(0, NONE);
	show_of(3, 6);
	CHECK(console_turn_take());
	show_of(2, 2); /* whatever others show now, it is ours until its end */
	CHECK(console_turn_take());
	is_printing = true;
	CHECK(!console_turn_take());
	is_printing = false;
	CHECK(console_turn_take());
}

static void others_that_do_not_end(void)
{
	CHECK(!take_beside(5));
	is_lost[2] = true;
	CHECK(console_turn_take() && take_beside(5));
	is_lost[2] = false;
	CHECK(!take_beside(5));
	now += CONSOLE_TURN_MS;
	CHECK(!console_turn_take());
	now++;
	CHECK(console_turn_take());
	CHECK(take_beside(NONE));
	console_turn_end();
}

/* The bytes that managers have written. */
static struct {
	_Atomic uint32_t length;
	char bytes[CLUSTERS * LINES * LENGTH];
} *console;

static void write_lines(char letter)
{
	for (unsigned line = 0; line < LINES; line++) {
		while (!console_turn_take())
			sched_yield();
		for (unsigned i = 0; i < LENGTH; i++)
			console->bytes[console->length++] = i == LENGTH - 1 ? '\n' : letter;
		console_turn_end();
	}
}

/* Each manager is a process, and no time passes: what is whole is so because of the tickets. */
static void lines_are_whole(int memory)
{
	int status, failed = 0;
	console = mmap(NULL, sizeof(*console), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (uint32_t i = 0; i < CLUSTERS; i++)
		if (!fork()) {
			become(memory, i);
			write_lines((char)('a' + i));
			_exit(0);
		}
	while (wait(&status) > 0)
		failed += status != 0;
	CHECK(!failed && console->length == sizeof(console->bytes));
	for (uint32_t i = 0; i < sizeof(console->bytes); i += LENGTH) {
		char line[LENGTH];
		memset(line, console->bytes[i], LENGTH - 1);
		line[LENGTH - 1] = '\n';
		CHECK(!memcmp(line, console->bytes + i, LENGTH));
	}
}

int main(void)
{
	const int memory = memfd_create("ledgers", 0);
	if (memory < 0 || ftruncate(memory, CLUSTERS * sizeof(struct ledger)) ||
	    !test_place(ROOT_INFO_VADDR, sizeof(struct root_info)) ||
	    !test_place(ROOT_LEDGER_VADDR, CLUSTERS * sizeof(struct ledger)))
		return SKIPPED;
	become(memory, OWN);
	tickets();
	others_that_do_not_end();
	if (!failures)
		lines_are_whole(memory);
	return failures != 0;
}
