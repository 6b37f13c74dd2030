/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads of one program that call a stack process (net/remote/port.c and
 * apps/libc/posix/event.c): requests and answers pass rings of one slot, and
 * any thread may take the answer that another waits for.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "../../net/machine.h"
#include "../../net/net.h"
#include "../../net/remote/remote.h"
#include "layer-model.h"

enum { SLOTS = 1, STACK_BELL = MODEL_THREADS /* no thread of the program has it */ };

static char *memory;
static struct ring_end requests, events; /* the stack's ends */
static bool started, done;
static unsigned calls, calls_done;
static struct remote_socket pool[4];
static bool used[4];

/* --- what port.c and its neighbours need --- */

void *socket_port_memory(void) { return memory; }
void socket_port_wake_peer(void) { platform_signal(STACK_BELL); }
void console_log(const char *format, ...) { (void)format; }

void *layer_allocate(size_t size)
{
	for (unsigned i = 0; i < sizeof(pool) / sizeof(pool[0]); i++)
		if (!used[i]) {
			EXPLORE_CHECK(size == sizeof(pool[0]), "not a socket");
			used[i] = true;
			return memset(&pool[i], 0, size);
		}
	return 0;
}
void layer_free(void *block) { used[(struct remote_socket *)block - pool] = false; }

void file_init(struct file *file, const struct file_operations *ops, uint32_t flags)
{
	file->ops = ops;
	file->references = 1;
	file->flags = flags;
}
struct file *file_hold(struct file *file)
{
	file->references++;
	return file;
}
void file_put(struct file *file) { file->references--; }
void file_ready_again(struct file *file, uint32_t ready, uint32_t again)
{
	uint32_t fresh = ready & ~file->ready;

	file->ready = ready;
	if (fresh | (again & ready))
		event_notify();
}

bool net_poll(void) { return started && remote_backend.poll(); }
uint64_t net_deadline(void) { return 0; }
bool net_prepare_sleep(void) { return !started || remote_backend.prepare_sleep(); }

/* --- the stack process: it answers all that is no update --- */

static bool answer_one(bool *answered)
{
	struct socket_request request;
	struct socket_event *event;
	const void *slot = ring_peek(&requests);

	if (!slot) {
		ring_arm(&requests);
		slot = ring_peek(&requests);
	}
	if (!slot)
		return false;
	memcpy(&request, slot, sizeof(request));
	if (request.kind == SOCKET_UPDATE) {
		ring_release(&requests);
		return true;
	}
	event = ring_reserve(&events);
	EXPLORE_CHECK(event, "more than one call at a time");
	ring_release(&requests);
	calls--;
	memset(event, 0, sizeof(*event));
	event->kind = SOCKET_ANSWER;
	event->socket = request.socket;
	ring_publish(&events);
	return *answered = true;
}

/* It sleeps before anything is asked, and ends after the last answer. */
static void serve(void)
{
	while (calls) {
		bool moved = false, answered = false, wake;

		platform_wait(STACK_BELL, 0);
		while (calls && answer_one(&answered))
			moved = true;
		wake = answered && ring_wanted(&events);
		if (moved && ring_room_wanted(&requests))
			wake = true;
		if (wake)
			platform_signal(PLATFORM_NET);
	}
}

/* --- cases --- */

static void set_up(void)
{
	if (!memory)
		memory = aligned_alloc(4096, SOCKET_PORT_SIZE);
	memset(memory, 0, SOCKET_PORT_BUFFERS);
	model_set_up();
	remote_backend.start();
	requests = ring_consumer(socket_port_ring(memory, SOCKET_SIDE_PROGRAM), SLOTS);
	events = ring_producer(socket_port_ring(memory, SOCKET_SIDE_STACK), SLOTS);
	ring_arm(&requests);
	explore_name(socket_port_ring(memory, SOCKET_SIDE_PROGRAM), SOCKET_PORT_RING_SIZE, "requests");
	explore_name(socket_port_ring(memory, SOCKET_SIDE_STACK), SOCKET_PORT_RING_SIZE, "events");
}

static void one_call(void)
{
	started = true;
	calls = 1;
}
static void one_call_not_started(void) { calls = 1; }
static void two_calls(void)
{
	started = true;
	calls = 2;
}

/* A socket has changed, and the stack has been told so: its ring of requests is full. */
static void full_ring(void)
{
	one_call();
	remote_changed(remote_new());
	remote_backend.poll();
}

static void sleeper(void)
{
	layer_lock();
	model_wait_for(&done);
	layer_unlock();
}

static void caller(unsigned callers)
{
	struct file *file;

	layer_lock();
	started = true;
	EXPLORE_CHECK(!remote_create(&file), "a call fails");
	if (++calls_done == callers)
		model_set(&done);
	layer_unlock();
}

static void call_beside_a_poller(unsigned self)
{
	if (self == 0)
		sleeper();
	else if (self == 1)
		caller(1);
	else
		serve();
}

static void call_beside_two(unsigned self)
{
	if (self < 2)
		sleeper();
	else if (self == 2)
		caller(1);
	else
		serve();
}

static void two_callers(unsigned self)
{
	if (self < 2)
		caller(2);
	else
		serve();
}

/* The stack ends without an answer, and the cluster-manager says so. */
static void stack_ends(unsigned self)
{
	struct socket_port_header *header = (void *)memory;
	struct file *file;

	if (self < 2) {
		sleeper();
	} else if (self == 2) {
		layer_lock();
		EXPLORE_CHECK(remote_create(&file) == -ENETDOWN, "a call without a stack succeeds");
		model_set(&done);
		layer_unlock();
	} else {
		atomic_store_explicit(&header->gone[SOCKET_SIDE_STACK], 1, memory_order_release);
		platform_signal(PLATFORM_NET);
	}
}

CASE(call_beside_a_poller, 3)
CASE(call_beside_two, 4)
CASE(two_callers, 3)
CASE(stack_ends, 4)

static const struct explore_case cases[] = {
	{ .name = "a call beside a poller", RUN(3, one_call, call_beside_a_poller) },
	{ .name = "the first call beside a poller", RUN(3, one_call_not_started, call_beside_a_poller) },
	{ .name = "a call beside two sleepers", RUN(4, one_call, call_beside_two) },
	{ .name = "two callers", RUN(3, two_calls, two_callers) },
	{ .name = "a call when the ring is full", RUN(3, full_ring, call_beside_a_poller) },
	{ .name = "the stack ends", RUN(4, one_call, stack_ends) },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
