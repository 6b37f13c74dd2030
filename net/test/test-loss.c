/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long transfers take over a network that loses frames: an echo of 1 MiB and a GET of 1 MB, each by a connection
 * of its own over a round trip of 10 ms. At 1 and 5 % the limits are three times what Linux takes (docs/sockets.md).
 * With a number as the second argument: so many transfers of each kind, and percentiles.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lab/lab.h"
#include "test.h"

enum { ECHO = 1 << 20, GET = 1000000, CHUNK = 65536, MOST = 100000 };

static const struct kind {
	const char *name;
	uint32_t loss; /* of a million */
	bool echoes;
	unsigned limit; /* ms, of the median; twice that of 75 %, for one in ten loses a SYN at 5 % */
} kinds[] = {
	{ "echo of 1 MiB, no loss", 0, true, 250 }, { "echo of 1 MiB, 1 % loss", 10000, true, 420 },
	{ "echo of 1 MiB, 5 % loss", 50000, true, 540 }, { "GET of 1 MB, no loss", 0, false, 200 },
	{ "GET of 1 MB, 1 % loss", 10000, false, 390 }, { "GET of 1 MB, 5 % loss", 50000, false, 540 },
};
static const struct kind *kind;
static unsigned count = 16;
static uint64_t taken[MOST]; /* ns */

static void receive(struct file *file, uint32_t *received)
{
	static uint8_t bytes[CHUNK];
	const ssize_t n = file->ops->read(file, bytes, sizeof(bytes));

	CHECK(n > 0 || n == -EAGAIN);
	for (ssize_t i = 0; i < n; i++)
		CHECK(bytes[i] == (uint8_t)((*received + (uint32_t)i) * 7));
	*received += n > 0 ? (uint32_t)n : 0;
}

/* Sends and receives at once, as what it gets allows. */
static void transfer(void)
{
	const uint32_t size = kind->echoes ? ECHO : GET;
	struct file *file = connect_server();
	uint32_t sent = 0, received = 0;

	request(file, kind->echoes ? REQUEST_ECHO : REQUEST_SOURCE, size);
	while (received < size) {
		uint8_t bytes[4096];
		const uint32_t part = size - sent < sizeof(bytes) ? size - sent : sizeof(bytes);
		ssize_t n = 0;

		for (uint32_t i = 0; i < part; i++)
			bytes[i] = (uint8_t)((sent + i) * 7);
		if (kind->echoes && part && file->ready & EPOLLOUT)
			n = file->ops->write(file, bytes, part);
		sent += n > 0 ? (uint32_t)n : 0;
		if (file->ready & EPOLLIN)
			receive(file, &received);
		else if (n <= 0)
			program_wait(0);
	}
	close_file(file);
}

static void client(void)
{
	for (unsigned i = 0; i < count; i++) {
		const uint64_t start = lab.now;

		transfer();
		taken[i] = lab.now - start;
	}
}

static int compare(const void *a, const void *b)
{
	return (*(const uint64_t *)a > *(const uint64_t *)b) - (*(const uint64_t *)a < *(const uint64_t *)b);
}

static unsigned part_of(unsigned thousandths)
{
	return (unsigned)(taken[(count - 1) * thousandths / 1000] / MILLISECOND);
}

static void report(void)
{
	qsort(taken, count, sizeof(*taken), compare);
	printf("%s: %u ms, 90 %% %u ms, 99 %% %u ms, 99.9 %% %u ms, most %u ms\n", kind->name, part_of(500),
	       part_of(900), part_of(990), part_of(999), part_of(1000));
	CHECK(part_of(500) <= kind->limit && part_of(750) <= 2 * kind->limit);
}

/* In a process of its own: a lab starts once. */
static void run(void)
{
	struct relay relay = { .delay = 5 * MILLISECOND, .loss = kind->loss };
	int status;
	const pid_t child = fork();

	if (!child) {
		lab.bells = false;
		lab_start(2);
		relay_start(&relay);
		program_finish(program_start(0, server_run), "a server");
		program_finish(program_start(1, client), kind->name);
		report();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
}

int main(int argument_count, char **arguments)
{
	lab_begin(argument_count, arguments);
	if (argument_count > 2)
		count = (unsigned)atoi(arguments[2]);
	CHECK(count && count <= MOST);
	for (kind = kinds; kind < kinds + sizeof(kinds) / sizeof(*kinds); kind++) {
		fflush(stdout);
		run();
	}
	return 0;
}
