/* SPDX-License-Identifier: BSD-2-Clause */
/* Senders of capabilities, for the tests of their transfer. */
#pragma once

#include <stdint.h>
#include "ktest.h"

/* A sender's system call: its number, the capabilities that it sends, and the capability that it invokes. */
struct parcel {
	uint64_t call, endpoint, cap[MESSAGE_CAPS_MAX];
	unsigned count, words;
};

extern struct parcel parcels[2];

/* Sends parcel arg[0], its own received ones to slot arg[2] of CNode arg[1]; out: error, info of the answer. */
void transfer_sender(struct worker *self);
/* A thread that does so, started on `core`: `count` of the capabilities with two words, label 0x51. */
struct worker *transfer_send(unsigned index, uint64_t call, uint64_t endpoint, unsigned core, unsigned count,
                             uint64_t a, uint64_t b, uint64_t c);
/* The main thread wants received capabilities in three new slots, the first of them; or none. */
uint64_t transfer_wanted(void);
void transfer_nothing_wanted(void);
/* The main thread receives once the sender waits; how many capabilities came. */
unsigned transfer_receive(uint64_t endpoint, struct worker *sender);
/* A receiver that waits: with this reply object, for capabilities in slots from `to` on; out: error, info, word 1. */
void transfer_receiver(struct worker *self);
struct worker *transfer_receiver_start(uint64_t endpoint, uint64_t reply, uint64_t to, unsigned core);
/* Signalling `cap` sets `expected` in the notification. */
void check_signals(uint64_t cap, uint64_t notification, uint64_t expected);
