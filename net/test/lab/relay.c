/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "lab.h"

enum { IN_FLIGHT = 4096, MILLION = 1000000 };

struct flight {
	uint64_t due, number;
	unsigned to;
	uint32_t length;
	uint8_t frame[PORT_FRAME_MAX];
};

static struct relay *relay; /* null: there is a switch */
static struct port_end end[LAB_PLACES];
static struct flight *flight;
static unsigned flights;
static uint64_t numbers;

void relay_start(struct relay *with)
{
	relay = with;
	flight = malloc(IN_FLIGHT * sizeof(*flight));
	if (!flight)
		fail("no memory");
	for (unsigned i = 0; i < lab.places; i++)
		end[i] = port_open(lab.port + i * PORT_SIZE, PORT_FROM_SWITCH, 2);
}

bool relay_runs(void) { return relay; }

/* The frame that arrives first; null: none is under way. */
static struct flight *first_flight(void)
{
	struct flight *first = NULL;

	for (struct flight *f = flight; f < flight + flights; f++)
		if (!first || f->due < first->due || (f->due == first->due && f->number < first->number))
			first = f;
	return first;
}

uint64_t relay_deadline(void) { return flights ? first_flight()->due : 0; }

static void send_to(unsigned to, const uint8_t *frame, uint32_t length)
{
	if (lab_draw(MILLION) < relay->loss || flights == IN_FLIGHT) {
		relay->lost++;
		return;
	}
	flight[flights] = (struct flight){ .due = lab.now + relay->delay, .number = numbers++, .to = to,
	                                   .length = length };
	if (relay->jitter)
		flight[flights].due += (uint64_t)lab_draw(MILLION) * relay->jitter / MILLION;
	memcpy(flight[flights++].frame, frame, length);
}

/* A group's frame goes to all others, each by a way of its own. */
static void take_from(unsigned from)
{
	uint32_t length;
	uint8_t *frame;

	while ((frame = port_peek(&end[from], &length))) {
		if (length < 14 || length > PORT_FRAME_MAX)
			fail("place %u sends %u bytes", from, length);
		for (unsigned to = 0; to < lab.places; to++)
			if (to != from && (frame[0] & 1 || frame[5] == to))
				send_to(to, frame, length);
		port_release(&end[from]);
	}
	if (ring_room_wanted(&end[from].receive))
		life_wake(&lab.life[from]);
}

static void arrive(struct flight *f)
{
	const unsigned to = f->to;
	uint8_t *buffer = port_reserve(&end[to]);

	if (f->number < relay->newest)
		relay->overtaken++;
	else
		relay->newest = f->number;
	if (buffer) {
		memcpy(buffer, f->frame, f->length);
		port_publish(&end[to], f->length);
		relay->passed++;
	} else {
		relay->lost++; /* as by a host that is behind */
	}
	*f = flight[--flights];
	if (port_rings(&end[to]))
		life_wake(&lab.life[to]);
}

void relay_run(void)
{
	struct flight *f;

	lab.switch_awake = false;
	for (unsigned i = 0; i < lab.places; i++) {
		if (port_poll(&end[i]))
			life_wake(&lab.life[i]);
		take_from(i);
		port_arm(&end[i]);
		lab.switch_awake |= port_ready(&end[i]);
	}
	while ((f = first_flight()) && f->due <= lab.now)
		arrive(f);
}
