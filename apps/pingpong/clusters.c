/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first cluster has a channel to each other one. There are the blocks of
 * the other's cores and its orders, so that the first can read what all have
 * done at one moment; a doorbell says that an order is there.
 */
#include "pingpong.h"

enum { DOORBELL = 0 };
#define FRAMES (LARGE_WINDOW + (256ull << 20)) /* of channels, shared_frames() each */
enum { FRAMES_MOST = 128 };

static uint64_t doorbell[BOOT_MAX_CHANNELS]; /* the first cluster's; of another the notification that it raises */
static uint64_t frame[BOOT_MAX_CHANNELS]; /* the first of a channel */

static void *ring_address(unsigned channel)
{
	return (char *)FRAMES + ((uint64_t)channel * shared_frames() << 21);
}

static uint64_t memory_of(unsigned channel)
{
	for (unsigned i = 0; i < ROOT->untyped_count; i++)
		if (ROOT->untyped[i].kind == ROOT_UNTYPED_CHANNEL && ROOT->untyped[i].channel == channel)
			return ROOT_SLOT_UNTYPED + i;
	check(!"a channel has memory");
	return 0;
}

/* The channel's large page `k`, behind the first. */
static inline void add_frame(unsigned i, unsigned k)
{
	uint64_t at = (uint64_t)ring_address(i) + ((uint64_t)k << 21);
	check_ok(untyped_retype(IPC, memory_of(i), OBJECT_FRAME_2M, 0, ROOT_SLOT_CNODE, frame[i] + k, 1));
	check_ok(frame_map(IPC, frame[i] + k, ROOT_SLOT_VSPACE, at, RIGHT_READ | RIGHT_WRITE, CACHE_WRITE_BACK));
}

void clusters_init(void)
{
	if (PINGPONG_CORES > FEW_CORES)
		check(ROOT->channel_count * shared_frames() <= FRAMES_MOST);
	for (unsigned i = 0; i < ROOT->channel_count; i++) {
		frame[i] = slots(shared_frames());
		check_ok(untyped_retype(IPC, memory_of(i), OBJECT_FRAME_2M, 0, ROOT_SLOT_CNODE, frame[i], 1));
		check_ok(frame_map(IPC, frame[i], ROOT_SLOT_VSPACE, (uint64_t)ring_address(i), RIGHT_READ | RIGHT_WRITE,
		                   CACHE_WRITE_BACK));
		for (unsigned k = 1; k < shared_frames(); k++)
			add_frame(i, k);
		if (ROOT->cluster) {
			doorbell[i] = object(OBJECT_NOTIFICATION, 0);
			check_ok(channel_listen(IPC, ROOT_SLOT_CHANNEL + i, DOORBELL, 0, doorbell[i]));
		} else {
			doorbell[i] = slot();
			check_ok(cnode_mint(IPC, ROOT_SLOT_CNODE, doorbell[i], ROOT_SLOT_CNODE, ROOT_SLOT_CHANNEL + i,
			                    RIGHT_WRITE, DOORBELL));
		}
	}
}

unsigned clusters(void) { return ROOT->channel_count + 1; }

void *cluster_frame(unsigned cluster) { return cluster ? ring_address(cluster - 1) : shared; }

void others_start(const struct order *order)
{
	for (unsigned i = 0; i < ROOT->channel_count; i++) {
		struct order *copy = order_in(ring_address(i));
		copy->cores = order->cores;
		copy->delay = order->delay;
		copy->in_cycles = order->in_cycles;
		copy->section = order->section;
		copy->number = order->number;
		check_ok(notification_signal(doorbell[i]));
	}
}

bool others_have_started(const struct order *order)
{
	for (unsigned i = 0; i < ROOT->channel_count; i++)
		if (order_in(ring_address(i))->running != order->number)
			return false;
	return true;
}

void others_stop(const struct order *order)
{
	for (unsigned i = 0; i < ROOT->channel_count; i++) {
		order_in(ring_address(i))->stop = order->number;
		check_ok(notification_signal(doorbell[i]));
	}
}

void others_wait_stopped(const struct order *order)
{
	for (unsigned i = 0; i < ROOT->channel_count; i++)
		while (order_in(ring_address(i))->stopped != order->number)
			others_run();
}

/* It sleeps until it is told something: while pairs are measured nothing else runs here. */
_Noreturn void cluster_obey(void)
{
	struct order *order = order_in(ring_address(0));
	for (uint32_t number = 1;; number++) {
		while (order->number != number)
			check_ok(notification_wait(doorbell[0], 0, 0));
		shared_use(frame[0], ring_address(0));
		pairs_start(order);
		while (!pairs_run())
			others_run();
		order->running = number;
		while (order->stop != number)
			check_ok(notification_wait(doorbell[0], 0, 0));
		pairs_stop();
		memory_reset();
		order->stopped = number;
	}
}
