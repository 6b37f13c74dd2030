/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <string.h>
#include <skerry/process.h>
#include <skerry/require.h>
#include "memory.h"
#include "output.h"
#include "root.h"
#include "serial.h"
#include "signs.h"
#include "thread.h"

enum {
	LANE_SIZE = 1 << 18,
	BUSY_MS = 1,     /* until a port that is busy is looked at again: 16 bytes take 1.4 ms at 115200 baud */
	/* so many times; then the port is taken for ready: one that is stuck must not block the cluster */
	STUCK = 100,
	TURN_MS = 10,    /* how long the main thread lets the other one work before it looks again */
	TIMEOUT_MS = 1000, /* for output_deadline(), and a millisecond for each 8 bytes */
};

static struct lane {
	uint16_t port;
	unsigned busy;        /* times that the port was not ready, one after another */
	_Atomic uint32_t put; /* by the main thread, free-running */
	_Atomic uint32_t left; /* by the other */
	char bytes[LANE_SIZE];
} lanes[OUTPUT_LANES];

static _Alignas(16) char stack[4096];
static int thread = -1;
static uint64_t work;            /* notification: there is something to write */
static uint64_t pause, quiet;    /* notifications without a signaller: a deadline ends the wait of thread or main */
static uint64_t wake;
static _Atomic uint32_t wake_below;  /* signal `wake` when fewer bytes than this wait; 0: do not */

static uint32_t lane_waiting(const struct lane *lane)
{
	return atomic_load_explicit(&lane->put, memory_order_acquire) - atomic_load_explicit(&lane->left,
		memory_order_acquire);
}

static bool always(void) { return true; }
static void nothing(void) { }
static bool (*take_console)(void) = always;
static void (*end_line)(void) = nothing;

size_t output_waiting(void) { return (size_t)lane_waiting(&lanes[0]) + lane_waiting(&lanes[1]); }

size_t output_room(void)
{
	uint32_t console = lane_waiting(&lanes[OUTPUT_CONSOLE]), results = lane_waiting(&lanes[OUTPUT_RESULTS]);
	return LANE_SIZE - (console > results ? console : results);
}

/* --- the thread --- */

/* Some bytes of the lane, if its port takes them. False: there is nothing to do but to wait. */
static bool write_some(struct lane *lane)
{
	uint32_t left = atomic_load_explicit(&lane->left, memory_order_relaxed);
	uint32_t count = lane_waiting(lane);
	if (!count)
		return false;
	require(count <= LANE_SIZE);
	if (lane->port && !serial_ready(lane->port) && lane->busy++ < STUCK)
		return false;
	lane->busy = 0;
	if (count > SERIAL_FIFO)
		count = SERIAL_FIFO;
	const bool is_console = lane == &lanes[OUTPUT_CONSOLE];
	uint32_t i = 0;
	while (i < count && (!is_console || take_console())) {
		char byte = lane->bytes[(left + i++) % LANE_SIZE];
		if (lane->port)
			serial_put(lane->port, byte);
		else
			debug_put(ROOT_SLOT_CONTROL, byte);
		if (is_console && byte == '\n')
			end_line();
	}
	atomic_store_explicit(&lane->left, left + i, memory_order_release);
	return i > 0;
}

static void wake_thread(void)
{
	uint32_t limit = atomic_load_explicit(&wake_below, memory_order_seq_cst);
	if (limit && output_waiting() < limit && atomic_exchange_explicit(&wake_below, 0, memory_order_seq_cst))
		notification_signal(wake);
}

static void output_main(void)
{
	for (;;) {
		bool some = write_some(&lanes[OUTPUT_CONSOLE]);
		some |= write_some(&lanes[OUTPUT_RESULTS]);
		wake_thread();
		if (!some && output_waiting())
			notification_wait(pause, read_tsc() + milliseconds(BUSY_MS), NULL);
		else if (!some)
			notification_wait(work, 0, NULL);
	}
}

/* --- the main thread --- */

void output_init(uint16_t console_port, uint16_t results_port)
{
	lanes[OUTPUT_CONSOLE].port = console_port;
	lanes[OUTPUT_RESULTS].port = results_port;
}

static uint64_t make_notification(void)
{
	int made = memory_object(OBJECT_NOTIFICATION, 0);
	if (made < 0)
		manager_panic("no notification for the output thread");
	return (uint64_t)made;
}

void output_start(int wake_slot, bool (*take)(void), void (*end)(void))
{
	require(thread < 0 && wake_slot > 0);
	take_console = take;
	end_line = end;
	work = make_notification();
	pause = make_notification();
	quiet = make_notification();
	wake = (uint64_t)wake_slot;
	thread = thread_make("output", output_main, stack + sizeof(stack), PROCESS_PRIORITY);
}

/* Before the thread is there its work is done here. */
static void let_it_work(void)
{
	if (thread < 0) {
		for (unsigned i = 0; i < OUTPUT_LANES; i++)
			write_some(&lanes[i]);
		return;
	}
	sign_pass(); /* a port may take minutes for the counters of a thousand cores */
	notification_signal(work);
	notification_wait(quiet, read_tsc() + milliseconds(TURN_MS), NULL);
}

/* Ahead of the programs while the main thread waits for it. */
static void output_prioritise(unsigned priority)
{
	if (thread >= 0)
		tcb_schedule(IPC, (uint64_t)thread, ROOT_SLOT_TCB, priority, 0);
}

void output_put(enum output_lane which, const char *bytes, size_t length)
{
	struct lane *lane = &lanes[which == OUTPUT_RESULTS && !lanes[which].port ? OUTPUT_CONSOLE : which];
	require(which < OUTPUT_LANES);
	bool waited = false;
	while (length) {
		uint32_t put = atomic_load_explicit(&lane->put, memory_order_relaxed);
		size_t room = LANE_SIZE - lane_waiting(lane), offset = put % LANE_SIZE;
		require(room <= LANE_SIZE);
		size_t part = length < room ? length : room;
		if (part > LANE_SIZE - offset)
			part = LANE_SIZE - offset;
		if (!part) {
			if (!waited)
				output_prioritise(MANAGER_PRIORITY);
			waited = true;
			let_it_work();
			continue;
		}
		memcpy(lane->bytes + offset, bytes, part);
		atomic_store_explicit(&lane->put, put + (uint32_t)part, memory_order_release);
		bytes += part;
		length -= part;
	}
	if (waited)
		output_prioritise(PROCESS_PRIORITY);
	if (thread >= 0)
		notification_signal(work);
}

bool output_want(size_t limit)
{
	atomic_store_explicit(&wake_below, (uint32_t)limit, memory_order_seq_cst);
	if (output_waiting() >= limit)
		return true;
	atomic_store_explicit(&wake_below, 0, memory_order_seq_cst);
	return false;
}

uint64_t output_deadline(void) { return read_tsc() + milliseconds(TIMEOUT_MS + output_waiting() / 8); }

void output_drain(void)
{
	uint64_t left = output_waiting(), deadline = output_deadline();
	output_prioritise(MANAGER_PRIORITY);
	while (left && read_tsc() < deadline) {
		let_it_work();
		if (output_waiting() < left) /* a port that goes on, however slowly, is waited for */
			deadline = output_deadline();
		left = output_waiting();
	}
	for (unsigned i = 0; i < OUTPUT_LANES; i++)
		if (lanes[i].port)
			serial_drain(lanes[i].port);
	output_prioritise(PROCESS_PRIORITY);
}
