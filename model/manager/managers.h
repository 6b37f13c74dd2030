/* SPDX-License-Identifier: BSD-2-Clause */
/* Two cluster-managers' channel code over one channel, for the explorer's cases: what is around it. */
#pragma once

#include <skerry/machine_handshake.h>
#include "channel-memory.h"
#include "channel.h"
#include "console.h"
#include "explore.h"
#include "fragment.h"
#include "mailbox.h"
#include "root.h"
#include "slots.h"
#include "vspace.h"

/* Instances 0 and 1 are the sides; 2 and 3 are sides 0 and 1, started again. */
#define INSTANCE(n)                                                                          \
	void channels_init_##n(int notification, size_t counters);                           \
	int channel_send_##n(uint32_t cluster, uint16_t type, const void *body, size_t size);\
	bool channels_work_##n(void);
INSTANCE(0) INSTANCE(1) INSTANCE(2) INSTANCE(3)

enum { SIDES = 2, INSTANCES = 4, OWN = 1 << 18 };

static _Alignas(4096) uint8_t memory[CHANNEL_RINGS + SIDES * CHANNEL_RING];
static struct root_info info[SIDES];
static struct manager {
	unsigned instance;
	unsigned received, lost;
	uint8_t last;
	size_t taken;
	_Alignas(64) uint8_t own[OWN];
} manager[INSTANCES];
static struct manager *self_of[SIDES]; /* each side's own */

/* A bell that nobody listens to is not received, as in the kernel. */
static _Atomic uint32_t bell[SIDES], listens[SIDES];
static struct explore_line line[SIDES];

/* The side whose code runs: a thread's, or the one that begin() plays. */
static int played = -1;
static unsigned side_of_self(void) { return played >= 0 ? (unsigned)played : explore_self(); }

const struct root_info *root_of_self(void) { return &info[side_of_self()]; }

/* Side 1's first manager stops before it rings. */
static bool silent;

int bell_signal(uint64_t doorbell)
{
	(void)doorbell;
	unsigned to = !side_of_self();
	if (silent && side_of_self() == 1 && self_of[1]->instance == 1)
		return 0;
	if (atomic_load_explicit(&listens[to], memory_order_seq_cst)) {
		atomic_fetch_or_explicit(&bell[to], 1, memory_order_release);
		if (played < 0)
			explore_raise(&line[to]);
	}
	return 0;
}

int bell_listen(void)
{
	atomic_store_explicit(&listens[side_of_self()], 1, memory_order_seq_cst);
	return 0;
}

static bool rung(void *which) { return *(uint32_t *)which != 0; }

static void wait_for_bell(void)
{
	unsigned self = side_of_self();
	explore_rest(&line[self], rung, &bell[self]);
	atomic_exchange_explicit(&bell[self], 0, memory_order_acquire);
}

void *own_memory(uint64_t size)
{
	struct manager *m = self_of[side_of_self()];
	void *start = m->own + m->taken;
	m->taken += (size + 63) & ~63ull;
	EXPLORE_CHECK(m->taken <= OWN, "a manager needs more memory");
	return start;
}
void *channel_memory_map(uint32_t index) { return index ? 0 : memory; }
int channel_to(uint32_t cluster) { return cluster == !side_of_self() ? 0 : -1; }
int slots_take(uint32_t count) { return (int)count; }
void console_print(const char *format, ...) { (void)format; }
void manager_panic(const char *format, ...) { explore_fail("a manager panics: %s", format); }

bool mailbox_has_room(size_t bytes, uint32_t count)
{
	(void)bytes, (void)count;
	return true;
}

int mailbox_put(const struct mail *mail)
{
	struct manager *m = self_of[side_of_self()];
	if (mail->kind == MAIL_PEER_LOST) {
		m->lost++;
		return 0;
	}
	if (mail->kind == MAIL_PEER_BACK) /* for the run's state, which is not here */
		return 0;
	EXPLORE_CHECK(mail->cluster == !side_of_self() && mail->type == 9 && mail->size == 1,
	              "a message is not what was sent");
	m->received++;
	m->last = *(const uint8_t *)mail->body;
	return 0;
}

static void set_up(void)
{
	for (unsigned side = 0; side < SIDES; side++) {
		info[side].cluster = side;
		info[side].channel_count = 1;
		info[side].channel[0] = (struct root_channel){ .id = 0, .peer = !side, .side = side };
	}
	explore_name(memory, CHANNEL_RINGS, "header");
	explore_name(memory + CHANNEL_RINGS, CHANNEL_RING, "ring 0>1");
	explore_name(memory + CHANNEL_RINGS + CHANNEL_RING, CHANNEL_RING, "ring 1>0");
	explore_name(bell, sizeof(bell), "bell");
	explore_name(listens, sizeof(listens), "listens");
}

static void begin_instance(unsigned instance)
{
	static void (*const init[])(int, size_t) = { channels_init_0, channels_init_1,
	                                             channels_init_2, channels_init_3 };
	unsigned self = side_of_self();
	self_of[self] = &manager[instance];
	manager[instance].instance = instance;
	init[instance](1, 0);
}

/* As the service loop does: again without a bell while the budget ran out. */
static void work(unsigned instance)
{
	static bool (*const works[])(void) = { channels_work_0, channels_work_1, channels_work_2, channels_work_3 };
	while (works[instance]())
		;
}

static void send(unsigned instance, uint8_t what)
{
	static int (*const sends[])(uint32_t, uint16_t, const void *, size_t) = {
		channel_send_0, channel_send_1, channel_send_2, channel_send_3 };
	EXPLORE_CHECK(sends[instance](!side_of_self(), 9, &what, 1) == 0, "a message is refused");
}

/* Serves the channel for good. */
static void serve(unsigned instance)
{
	for (;;) {
		wait_for_bell();
		work(instance);
	}
}

/* Both have opened the channel, seen each other, and messages have come to side 0: as many as the ring has slots. */
static void both_up(void)
{
	for (played = 0; played < SIDES; played++)
		begin_instance(played);
	for (unsigned i = 0; i < 2 * SIDES; i++) {
		played = i % SIDES;
		work(played);
	}
	for (unsigned i = 0; i < CHANNEL_SLOTS; i++) {
		played = 1;
		send(1, 11);
		played = 0;
		work(0);
	}
	played = -1;
	EXPLORE_CHECK(manager[0].received == CHANNEL_SLOTS, "the channel does not come up");
	manager[0].received = 0;
	bell[0] = bell[1] = 0;
}
