/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The socket protocol between two sides that do not trust each other: the
 * stack's end under programs that make up requests, the program's end under
 * stacks that make up events. Whatever comes, bytes are moved within the
 * buffer of their socket only, and an end that is told of the other's end waits no
 * longer. No lwIP: sockets are made up here, too. Every trial is a process with
 * a seed of its own.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../backend.h"
#include "../machine.h"
#include "test-socket-port.h"
#include "test.h"

enum { TRIALS = 300 };

char *port;
static uint32_t seed;
struct ring_end out, in;
unsigned moved, sent;
bool said;

uint32_t chance(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 8) * n >> 24);
}

/* --- what both ends ask of what is around them --- */

void *socket_port_memory(void) { return port; }
void socket_port_wake_peer(void) {}
void *layer_allocate(size_t size) { return calloc(1, size); }
void layer_free(void *memory) { free(memory); }
void console_log(const char *format, ...) { said = format != NULL; }
bool net_poll(void) { return false; }
bool net_prepare_sleep(void) { return true; }

void file_ready_again(struct file *file, uint32_t ready, uint32_t again)
{
	(void)again;
	file->ready = ready;
	if (file->on_ready)
		file->on_ready(file);
}

/* --- trials --- */

struct outcome {
	unsigned moved, sent, said;
};

static struct outcome run(void (*trial)(void))
{
	struct outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct outcome total;

	for (unsigned i = 0; i < TRIALS; i++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			seed = i * 7919 + 1;
			port = mmap(NULL, SOCKET_PORT_SIZE, PROT_READ | PROT_WRITE,
			            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			CHECK(port != MAP_FAILED);
			trial();
			shared->moved += moved;
			shared->sent += sent;
			shared->said += said;
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		if (status)
			fprintf(stderr, "trial %u ended with status 0x%x\n", i, (unsigned)status);
		CHECK(!status);
	}
	total = *shared;
	munmap(shared, sizeof(*shared));
	printf("%u messages, %u moves of bytes, %u of %u trials ended the connection\n", total.sent, total.moved,
	       total.said, TRIALS);
	return total;
}

int main(void)
{
	struct outcome programs, stacks;

	setvbuf(stdout, NULL, _IOLBF, 0);
	programs = run(hostile_program);
	stacks = run(hostile_stack);
	/* otherwise this has tried nothing */
	CHECK(programs.moved > TRIALS && programs.said > TRIALS / 2 && programs.sent > 100 * TRIALS);
	CHECK(stacks.moved > TRIALS && stacks.said > TRIALS / 2 && stacks.sent > 20 * TRIALS);
	return 0;
}
