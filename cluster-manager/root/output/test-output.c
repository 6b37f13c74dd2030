/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that is longer than a lane waits for its port, and the manager shows meanwhile that it lives. */
#define _GNU_SOURCE
#include <stdlib.h>
#include "root.h"
#include "test-check.h"

static uint64_t now;
static void port_works(void);
#define read_tsc() (now)
#define notification_signal(slot) ((void)(slot))
#define notification_wait(slot, deadline, word) ((void)(slot), now = (deadline), port_works())
#define tcb_schedule(ipc, tcb, authority, priority, core) ((void)(tcb), (void)(priority))
#define debug_put(control, byte) ((void)(byte))
#include "output.c"

enum { PORT = 0x2f8, SIZE = 3 * LANE_SIZE + 12345, A_SECOND = 11520 };

static char sent[SIZE], came[SIZE];
static size_t arrived;
static uint64_t passed_at, longest; /* between signs of life */
static unsigned turns = A_SECOND * TURN_MS / 1000 / SERIAL_FIFO; /* of the port, in one of the main thread */

bool serial_ready(uint16_t port) { return port == PORT; }
void serial_put(uint16_t port, char byte)
{
	CHECK(port == PORT && arrived < SIZE);
	came[arrived++ % SIZE] = byte;
}
void serial_drain(uint16_t port) { (void)port; }
int memory_object(enum skerry_object type, unsigned size_bits)
{
	return type == OBJECT_NOTIFICATION && !size_bits ? 7 : -1;
}

int thread_make(const char *name, void (*entry)(void), char *top, unsigned priority)
{
	return name && entry && top && priority == PROCESS_PRIORITY ? 1 : -1;
}

void sign_pass(void)
{
	longest = now - passed_at > longest ? now - passed_at : longest;
	passed_at = now;
}

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	exit(1);
}

/* As many bytes as a port of 115200 baud takes in a turn of the main thread. */
static void port_works(void)
{
	for (unsigned i = 0; i < turns; i++)
		write_some(&lanes[OUTPUT_RESULTS]);
}

/* What is there at the end is waited for as long as the port takes anything, and no longer. */
static void end(void)
{
	enum { LENGTH = LANE_SIZE - 1 };
	arrived = 0;
	turns = 1;
	output_put(OUTPUT_RESULTS, sent, LENGTH);
	output_drain();
	CHECK(arrived == LENGTH && !output_waiting());
	turns = 0;
	output_put(OUTPUT_RESULTS, sent, 8);
	const uint64_t began = now;
	output_drain();
	CHECK(output_waiting() == 8 && now - began >= TIMEOUT_MS && now - began < 2 * TIMEOUT_MS);
}

int main(void)
{
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	root->tsc_hz = 1000; /* a cycle is a millisecond */
	for (size_t i = 0; i < SIZE; i++)
		sent[i] = (char)(i * 7 + i / 251);
	output_init(0, PORT);
	output_start(1, always, nothing);
	output_put(OUTPUT_RESULTS, sent, SIZE);
	CHECK(now > 30000);
	longest = now - passed_at > longest ? now - passed_at : longest;
	CHECK(longest <= 2 * TURN_MS);
	while (output_waiting())
		port_works();
	CHECK(arrived == SIZE && !memcmp(sent, came, SIZE));
	end();
	return failures != 0;
}
