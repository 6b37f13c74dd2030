/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clients that ask for much and read nothing, against a server whose stack has
 * little memory: others are served all the same, no client loses a byte, and the
 * memory is free again when they are gone. With the argument "process" each
 * program has its lwIP in a stack process beside it. The criterion is that
 * requests are answered while the stalled readers wait, not when.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include "../lwip/budget.h"
#include "lab/lab.h"
#include "test.h"

enum {
	MIB = 1 << 20,
	READERS = 300,
	MEMORY_APART = 12 * MIB,  /* of the server's stack: 384 connections */
	MEMORY_INSIDE = 24 * MIB, /* of which its stack may use 3/8 */
	CONNECTIONS_MAX = 384,
	ORPHANS = 20,
	HELD = 10,
	LEFT = 10,
	ORPHAN_BYTES = 90000,
	SEGMENT = 1460,
	WINDOW = 65535,
	/* what a server's stack keeps of one of these: segments behind the reader's closed window */
	ORPHAN_KEPT = ((ORPHAN_BYTES - WINDOW) / SEGMENT + 1) * (SEGMENT + BUDGET_SEGMENT_OVERHEAD),
};

/* the last one finds room for all of it, in whichever order they write */
_Static_assert((ORPHANS + HELD - 1 + BUDGET_SHARE) * ORPHAN_KEPT <= MEMORY_INSIDE * 3 / 8 / 4, "net/lwip/budget.h");

static struct file *reader[2 * CONNECTIONS_MAX];

static void reset_file(struct file *file)
{
	struct linger hard = { 1, 0 };

	CHECK(!file->ops->setsockopt(file, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)));
	close_file(file);
}

static void exchange(struct file *file, unsigned times)
{
	char out[3000], in[3000];

	for (unsigned i = 0; i < times; i++) {
		memset(out, (int)i, sizeof(out));
		request(file, REQUEST_ECHO, sizeof(out));
		CHECK(write_all(file, out, sizeof(out)) == sizeof(out));
		CHECK(read_all(file, in, sizeof(in)) == sizeof(in) && !memcmp(in, out, sizeof(in)));
	}
}

static void read_exactly(struct file *file, uint32_t size)
{
	static char bytes[65536];

	for (uint32_t i = 0; i < size;) {
		uint32_t n = size - i < sizeof(bytes) ? size - i : sizeof(bytes);

		CHECK(read_all(file, bytes, n) == (ssize_t)n);
		for (uint32_t k = 0; k < n; k++)
			CHECK(bytes[k] == (char)((i + k) * 7));
		i += n;
	}
}

static void open_readers(unsigned count, uint32_t size)
{
	for (unsigned i = 0; i < count; i++) {
		reader[i] = connect_server();
		request(reader[i], REQUEST_SOURCE, size);
	}
	settle(500); /* until all is stuck */
}

/* --- scenarios --- */

static void readers_that_read_late(void)
{
	struct file *file;

	open_readers(READERS, MIB);
	file = connect_server();
	exchange(file, 200);
	close_file(file);
	for (unsigned i = 0; i < READERS; i++) {
		read_exactly(reader[i], MIB);
		close_file(reader[i]);
	}
}

static void readers_that_reset(void)
{
	open_readers(READERS, MIB);
	for (unsigned i = 0; i < READERS; i++)
		reset_file(reader[i]);
	exchange(reader[0] = connect_server(), 200);
	close_file(reader[0]);
}

/* More than the server's stack has room for are refused, and those before them served. */
static void too_many(void)
{
	unsigned count = 0;
	int error = 0;

	settle(2500); /* TIME_WAIT of those before */
	while (count < 2 * CONNECTIONS_MAX && (reader[count] = connect_to(address_of(0), SERVER_PORT, &error)))
		count++;
	CHECK(error == ECONNREFUSED);
	printf("%u connections\n", count);
	CHECK(count >= CONNECTIONS_MAX - 10 && count <= CONNECTIONS_MAX);
	for (unsigned i = 0; i < count; i++)
		exchange(reader[i], 1);
	for (unsigned i = 0; i < count; i++)
		close_file(reader[i]);
	settle(500);
	exchange(reader[0] = connect_server(), 1); /* there is room again */
	close_file(reader[0]);
}

/* Reads the rest of a connection; returns whether it was reset before its end. */
static bool was_reset(struct file *file)
{
	static char bytes[65536];
	ssize_t n, got = 0;

	while ((n = read_some(file, bytes, sizeof(bytes))) > 0)
		got += n;
	return n == -ECONNRESET && got < ORPHAN_BYTES;
}

/*
 * The server has written all; the client reads nothing, and its window stays closed. Where the server has closed, the
 * connection is reset in the end, but not where it has only shut its direction.
 */
static void orphans(void)
{
	char byte;

	for (unsigned i = 0; i < ORPHANS + HELD; i++) {
		reader[i] = connect_server();
		if (i >= ORPHANS)
			request(reader[i], REQUEST_HOLD, 0);
		request(reader[i], REQUEST_SOURCE, ORPHAN_BYTES);
		CHECK(!reader[i]->ops->shutdown(reader[i], SHUT_WR));
	}
	settle(45000);
	for (unsigned i = ORPHANS; i < ORPHANS + HELD; i++) {
		read_exactly(reader[i], ORPHAN_BYTES);
		CHECK(read_all(reader[i], &byte, 1) == 0);
		close_file(reader[i]);
	}
	for (unsigned i = 0; i < ORPHANS; i++) {
		CHECK(was_reset(reader[i]));
		close_file(reader[i]);
	}
}

/* As the held ones of orphans(), but the server closes them with a reset. */
static void resets(void)
{
	for (unsigned i = 0; i < HELD; i++) {
		reader[i] = connect_server();
		request(reader[i], REQUEST_HOLD, 1);
		request(reader[i], REQUEST_SOURCE, ORPHAN_BYTES);
		CHECK(!reader[i]->ops->shutdown(reader[i], SHUT_WR));
	}
	settle(3000); /* until all is stuck */
	server_memory();
	settle(3000);
	for (unsigned i = 0; i < HELD; i++) {
		CHECK(was_reset(reader[i]));
		close_file(reader[i]);
	}
}

/*
 * The server has closed in the middle of what it wrote, of which the last is still on its way to its stack process. The
 * clients read nothing: the stack process gives up after some 20 s of its time. To see it a client must read, and is no
 * hog any more.
 */
static void left(void)
{
	unsigned next = 0;

	open_readers(LEFT, MIB);
	for (unsigned i = 0; i < LEFT; i++)
		request(reader[i], REQUEST_LEAVE, 0);
	do {
		printf("left: %u of %u have been read\n", next, LEFT);
		CHECK(next < LEFT);
		settle(7000);
	} while (!was_reset(reader[next++]));
	for (unsigned i = 0; i < LEFT; i++)
		close_file(reader[i]);
}

/* Freed blocks are kept up to a bound. Of a stack process's memory its program knows nothing. */
static void memory_is_back(void)
{
	uint64_t now;

	settle(2500);
	now = server_memory();
	printf("memory of the server's stack: %lu\n", now);
	CHECK(now <= MIB);
}

static void run(void (*scenario)(void), const char *name, unsigned place)
{
	program_finish(program_start(place, scenario), name);
}

#define RUN(scenario, place) run(scenario, #scenario, place)

int main(int count, char **arguments)
{
	lab_begin(count, arguments);
	lab.apart = count > 2;
	lab_start(11);
	lab.heap = lab.apart ? MEMORY_APART : MEMORY_INSIDE;
	RUN(server_run, 0);
	lab.heap = 256 * MIB;
	RUN(readers_that_read_late, 2);
	RUN(readers_that_reset, 3);
	RUN(too_many, 4);
	RUN(readers_that_read_late, 6); /* nothing is lost of the stack's memory */
	RUN(orphans, 7);
	RUN(resets, 8);
	if (lab.apart)
		RUN(left, 9);
	RUN(memory_is_back, 10);
	return 0;
}
