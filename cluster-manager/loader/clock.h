/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of clock.c: counters whose frequency is known, and the date. */
#pragma once

#include "machine.h"
#include "options.h"

/* The second: from edge to edge of the reference, where nothing comes between two instructions. As exact as the
 * first. */
enum { CALIBRATION_WINDOW_US = 15000, COUNTED_WINDOW_US = 1000 };

/* A counter that needs no measuring. It wraps after more than the window. */
struct reference {
	enum clock_source source;
	uint64_t hz;
	uint32_t mask;
	uint16_t port;                    /* of the PM timer */
	volatile const uint32_t *counter; /* of the HPET */
};

/* reference.c. False: this machine has no such counter. Whether it runs, measuring shows. */
bool reference_start(struct reference *r, enum clock_source source, const struct machine *m);
/* Returns the counter's value. Caller has started it. */
uint32_t reference_read(const struct reference *r);
/* Returns its name, for lines on the console. */
const char *reference_name(const struct reference *r);

/* Returns the TSC's frequency by CPUID; 0: none. `exact`: it is meant to be, and need not be measured. */
uint64_t cpuid_tsc_hz(bool *exact);

/* date.c: seconds since 1970, at TSC *when; 0 when the clock cannot be read. */
uint64_t date_read(uint64_t *when);
