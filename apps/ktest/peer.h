/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two clusters that both run this program meet in the memory of their channel.
 * The one with devices tests first, the other serves it; then they change
 * places, and the results of the second go through this memory to the first.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include "harness.h"

enum { MEETING_RESULTS = 1 << 20 };
enum meeting_turn { TURN_FIRST = 0x6b746501, TURN_SECOND, TURN_OVER };

struct meeting {
	_Atomic uint32_t turn;
	_Atomic uint32_t asked, answered; /* numbers of the last request and answer */
	uint32_t request;
	uint64_t argument[2];
	uint64_t answer;
	struct tally second;
	uint32_t length; /* of `results` */
	char results[MEETING_RESULTS];
};

extern struct meeting *meeting;
/* Serves what the other asks until its turn is over. */
void peer_serve(enum meeting_turn turn);
