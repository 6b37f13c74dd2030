/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP by a network that delays, loses and reorders frames: requests of all sizes are answered by the same bytes, a lost
 * segment is sent again when its time has come, and a run is the same each time.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lab/lab.h"
#include "test.h"

enum { REQUESTS = 200, MOST = 20000, PERCENT = 10000 /* of a million */ };

static struct outcome {
	uint64_t now, longest; /* ns */
	struct relay relay;
} *outcome;

static void client(void)
{
	struct file *file = connect_server();

	for (unsigned i = 0; i < REQUESTS; i++) {
		const uint64_t start = lab.now;

		echo(file, 1 + i * 997 % MOST, i);
		if (lab.now - start > outcome->longest)
			outcome->longest = lab.now - start;
	}
	close_file(file);
}

/* In a process of its own: a lab starts once. */
static struct outcome run(uint64_t seed, struct relay relay)
{
	int status;
	const pid_t child = fork();

	if (!child) {
		lab.random = seed;
		lab.bells = false;
		lab_start(2);
		outcome->longest = 0;
		outcome->relay = relay;
		relay_start(&outcome->relay);
		program_finish(program_start(0, server_run), "a server");
		program_finish(program_start(1, client), "a client");
		outcome->now = lab.now;
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status);
	printf("%lu frames, %lu lost, %lu overtaken; the slowest request took %lu us\n", outcome->relay.passed,
	       outcome->relay.lost, outcome->relay.overtaken, outcome->longest / 1000);
	return *outcome;
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
	return a->now == b->now && a->longest == b->longest && a->relay.passed == b->relay.passed &&
	       a->relay.lost == b->relay.lost && a->relay.overtaken == b->relay.overtaken;
}

int main(int count, char **arguments)
{
	const uint64_t delay = MILLISECOND;
	struct outcome calm, again, other, jitter, loss;

	lab_begin(count, arguments);
	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(outcome != MAP_FAILED);
	calm = run(1, (struct relay){ .delay = delay });
	CHECK(!calm.relay.lost && !calm.relay.overtaken && calm.longest >= 2 * delay && calm.longest < 100 * delay);
	jitter = run(1, (struct relay){ .delay = delay, .jitter = 5 * delay });
	CHECK(!jitter.relay.lost && jitter.relay.overtaken > REQUESTS);
	loss = run(1, (struct relay){ .delay = delay, .jitter = delay, .loss = PERCENT });
	again = run(1, (struct relay){ .delay = delay, .jitter = delay, .loss = PERCENT });
	other = run(2, (struct relay){ .delay = delay, .jitter = delay, .loss = PERCENT });
	CHECK(loss.relay.lost > loss.relay.passed / 300 && loss.relay.lost < loss.relay.passed / 30);
	CHECK(loss.longest > 10 * delay && loss.longest < 1000 * delay); /* until it was sent again */
	CHECK(is_same(&loss, &again) && !is_same(&loss, &other));
	return 0;
}
