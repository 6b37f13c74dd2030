/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket layer end to end: a server and clients, each a process with its
 * own lwIP, joined by the switch over shared memory as on the machine. Each
 * scenario is a process with a port of its own. With the argument "process"
 * each process has its lwIP in a stack process beside it; with "edges" only those run.
 */
#include <string.h>
#include <unistd.h>
#include "server.h"
#include "test-sockets.h"
#include "test.h"

struct network *network;
unsigned own_port;
pid_t own_stack;

static bool apart; /* lwIP is in stack processes */
static int passed_to;

void say_passed(void) { CHECK(write(passed_to, "", 1) == 1); }

/* Returns where the scenario's process says that it has passed. It lives on then, for its peers may still send. */
static int start(void (*scenario)(void), unsigned port)
{
	int ends[2];

	CHECK(pipe(ends) == 0);
	if (!fork()) {
		close(ends[0]);
		own_port = port;
		passed_to = ends[1];
		if (apart)
			own_stack = layer_start_apart(network, port);
		else
			layer_start(network, port);
		scenario();
		say_passed();
		for (;;)
			layer_wait(0);
	}
	close(ends[1]);
	return ends[0];
}

static void finish(int scenario, const char *name)
{
	static uint64_t last;
	uint64_t now;
	char byte;
	bool passed = read(scenario, &byte, 1) == 1; /* else it has ended */

	now = clock_milliseconds();
	printf("%s %s, after %lu ms\n", passed ? "passed:" : "failed:", name, last ? now - last : 0);
	last = now;
	if (!passed)
		exit(1);
	close(scenario);
}

#define RUN(scenario, port) finish(start(scenario, port), #scenario)

/* By a cable, by the switch, and datagrams, which are none of a stack process. */
static void run_edges(void)
{
	RUN(edges, 18);
	RUN(edges, 19);
	if (!apart)
		RUN(datagram_edges, 20);
}

int main(int argc, char **argv)
{
	bool only_edges = false;
	int together[4];

	for (int i = 1; i < argc; i++) {
		apart |= !strcmp(argv[i], "process");
		only_edges |= !strcmp(argv[i], "edges");
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	network = network_start();
	for (unsigned i = 0; i < NETWORK_CABLES - 1; i++) /* every other scenario goes by cable */
		network_cable(network, 0, 1 + 2 * i);
	network_cable(network, 0, 18);
	start(server_run, 0);
	network_await_server(network);
	if (only_edges) {
		run_edges();
		return 0;
	}
	RUN(values_of_all_sizes, 1);
	RUN(frames_of_a_request, 2);
	RUN(fifty_pipelined, 3);
	RUN(thousand_connections, 4);
	RUN(thousand_at_once, 5);
	RUN(ends, 6);
	RUN(within_one_stack, 7);
	RUN(slow_reader, 8);
	run_edges();
	for (unsigned i = 0; i < 4; i++)
		together[i] = start(load, 9 + i);
	for (unsigned i = 0; i < 4; i++)
		finish(together[i], "load");
	for (unsigned i = 0; i < NETWORK_PORTS; i++) /* nothing was lost until somebody died */
		CHECK(!network->forward.port[i].dropped && !network->forward.port[i].bad);
	if (apart) {
		together[0] = start(six_hundred_first, 13);
		RUN(six_hundred_more, 14);
		finish(together[0], "six_hundred_first");
		RUN(stack_dies, 15);
		return 0;
	}
	start(datagram_peer, DATAGRAM_PEER);
	RUN(datagrams, 17);
	network_timeout(network, 1);
	together[0] = start(others_while_one_vanishes, 13);
	RUN(vanish, VANISHING);
	finish(together[0], "others_while_one_vanishes"); /* its ring was really full */
	return 0;
}
