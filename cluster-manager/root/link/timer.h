/* SPDX-License-Identifier: BSD-2-Clause */
/* A second thread that beats for the channels and wakes the main one every TIMER_MS. */
#pragma once

enum { TIMER_MS = 50 };

/* Slots of the main thread's bound notification, plain and with a badge. */
void timer_init(int wake_with_timer_badge);
