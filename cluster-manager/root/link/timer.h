/* SPDX-License-Identifier: BSD-2-Clause */
/* A second thread that beats for the channels and wakes the main one every timer_ms(). */
#pragma once

#include "root.h"

enum { TIMER_MS = 50, TIMER_SHORT_MS = 10 }; /* at most, at least */

/* A tenth of the timeout (watch.h), which is counted in ticks, too. */
static inline uint32_t timer_ms(void)
{
	uint32_t tenth = ROOT->patience_ms / 10;
	return !tenth || tenth > TIMER_MS ? TIMER_MS : tenth < TIMER_SHORT_MS ? TIMER_SHORT_MS : tenth;
}

/* Slots of the main thread's bound notification, with the badges of ticks and of alarms. */
void timer_init(int wake_with_timer_badge, int wake_with_alarm_badge);
/* Has the timer thread wake the main one with WAKE_ALARM at this time (TSC), once; 0: not any more. */
void timer_alarm(uint64_t at);
/* Has the timer thread tick at once, once. */
void timer_hurry(void);
/* The same, and once more a millisecond later. */
void timer_soon(void);
