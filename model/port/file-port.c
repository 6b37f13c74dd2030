/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file port (skerry/file_port.h) between a program and its volume server: no
 * request, answer or data is read half written, and each answer is the one to
 * its request.
 */
#include "explore.h"
#include <skerry/file_port.h>

enum { REQUESTS = 2 };

static struct {
	struct file_port port;
	uint64_t data; /* for the data area: what is asked for, then what is answered */
} memory;

static void begin(void) { explore_name(&memory, sizeof(memory), "port"); }

static void program(void)
{
	for (uint64_t number = 1; number <= REQUESTS; number++) {
		memory.port.request.offset = number;
		memory.data = number;
		file_port_ask(&memory.port, number);
		while (!file_port_is_answered(&memory.port, number))
			explore_relax();
		EXPLORE_CHECK(memory.port.answer.size == number && memory.data == ~number,
		              "request %u has the answer of another", (unsigned)number);
	}
}

static void server(void)
{
	for (uint64_t served = 0, asked; served < REQUESTS; served = asked) {
		while ((asked = file_port_asked(&memory.port)) == served)
			explore_relax();
		EXPLORE_CHECK(memory.port.request.offset == asked && memory.data == asked,
		              "request %u is another", (unsigned)asked);
		memory.data = ~asked;
		memory.port.answer.size = (uint32_t)asked;
		file_port_answer(&memory.port, asked);
	}
}

static void both(unsigned self) { self ? server() : program(); }

static const struct explore_case cases[] = {
	{ "two requests", 2, both, .begin = begin },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
