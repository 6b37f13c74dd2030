/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <skerry/require.h>
#include "channel.h"
#include "memory.h"
#include "root.h"
#include "signs.h"
#include "thread.h"
#include "timer.h"
#include "watch.h"

static _Alignas(16) char stack[4096];
static uint64_t quiet; /* notification that timer_hurry() signals; else the deadline ends the wait */
static uint64_t wake, wake_alarm;
/* Relaxed: each is all that is passed on, and the kernel's lock of `quiet` has the thread that wakes see it. */
static _Atomic uint64_t alarm_at; /* TSC; 0: none */
static _Atomic bool hurries;      /* the next tick is due */
static _Atomic bool is_soon; /* the tick after the one under way comes after SOON_MS */

enum { SOON_MS = 1 };

/* Waits for the next tick, or timer_hurry(). An alarm that comes before wakes the main thread, and is no tick: the
 * watch counts these. */
static void wait_for_tick(uint64_t tick)
{
	for (;;) {
		uint64_t at = atomic_load_explicit(&alarm_at, memory_order_relaxed);
		notification_wait(quiet, at && at < tick ? at : tick, NULL);
		const uint64_t time = read_tsc();
		if (at && time >= at && atomic_compare_exchange_strong_explicit(&alarm_at, &at, 0, memory_order_relaxed,
		                                                               memory_order_relaxed))
			notification_signal(wake_alarm);
		if (atomic_exchange_explicit(&hurries, false, memory_order_relaxed) || time >= tick)
			return;
	}
}

static void timer_main(void)
{
	for (;;) {
		bool soon = atomic_load_explicit(&is_soon, memory_order_acquire);
		wait_for_tick(read_tsc() + milliseconds(soon ? SOON_MS : timer_ms()));
		if (soon)
			atomic_store_explicit(&is_soon, false, memory_order_release);
		channels_heartbeat();
		sign_tick();
		watch_tick();
		notification_signal(wake);
	}
}

void timer_hurry(void)
{
	atomic_store_explicit(&hurries, true, memory_order_relaxed);
	notification_signal(quiet);
}

void timer_alarm(uint64_t at)
{
	const uint64_t before = atomic_exchange_explicit(&alarm_at, at, memory_order_relaxed);
	if (at && (!before || at < before))
		notification_signal(quiet);
}

void timer_soon(void)
{
	if (!atomic_exchange_explicit(&is_soon, true, memory_order_acq_rel))
		timer_hurry();
}

void timer_init(int wake_with_timer_badge, int wake_with_alarm_badge)
{
	int notification = memory_object(OBJECT_NOTIFICATION, 0);
	if (notification < 0)
		manager_panic("no memory for the timer thread");
	quiet = (uint64_t)notification;
	wake = (uint64_t)wake_with_timer_badge;
	wake_alarm = (uint64_t)wake_with_alarm_badge;
	require(quiet && wake && wake_alarm && quiet != wake);
	/*
	 * Above the main thread. At the same priority the heartbeat would take turns with it: while the main thread
	 * starts programs, each of its kernel entries waits for the lock, and on a busy host the heartbeat would come
	 * too late.
	 */
	int error = tcb_schedule(IPC, ROOT_SLOT_TCB, ROOT_SLOT_TCB, MANAGER_PRIORITY, 0);
	if (error)
		manager_panic("the main thread's priority cannot be lowered (error %d)", -error);
	thread_make("timer", timer_main, stack + sizeof(stack), TIMER_PRIORITY);
}
