/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes on their way to the serial ports. The main thread only queues them; a
 * thread of the programs' priority feeds the ports and sleeps while they are
 * busy, because a line of 80 characters takes 7 ms at 115200 baud. Lines that
 * are queued whole leave whole: each lane leaves in order, and nothing else of
 * the manager writes to its port.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum output_lane { OUTPUT_CONSOLE, OUTPUT_RESULTS, OUTPUT_LANES };

/* The ports, 0: none. The console's bytes go to the kernel's then, those of results to the console. */
void output_init(uint16_t console_port, uint16_t results_port);
/*
 * Starts the thread. `wake` (a slot) is signalled after output_want(). Until then bytes are queued only. The thread
 * writes to the console after `take` has returned true, and calls `end` behind each line.
 */
void output_start(int wake, bool (*take)(void), void (*end)(void));

/* Queues bytes. Where there is no room, waits for some: only what is bounded in other ways may come here. */
void output_put(enum output_lane lane, const char *bytes, size_t length);

/* Returns how many bytes have not left, of both lanes. */
size_t output_waiting(void);
/* Returns how many bytes fit without waiting, whichever lane they are for. */
size_t output_room(void);

/* Has `wake` signalled once fewer than `limit` bytes wait. Returns false where that is so already: it is not signalled
 * then. */
bool output_want(size_t limit);

/* Returns the TSC by which all that waits has left, unless a port takes far longer than it should. */
uint64_t output_deadline(void);

/* Returns when all has left, with the ports idle, or when that takes far longer than it should. */
void output_drain(void);
