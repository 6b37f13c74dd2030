/* SPDX-License-Identifier: BSD-2-Clause */
/* Doorbells between two clusters; peer.c is the other end. */
#include "ktest.h"

#define CHANNEL ROOT_SLOT_CHANNEL
enum { BELL = 77 };

static uint64_t listen(uint64_t notification, unsigned bell, unsigned core, uint64_t badge)
{
	uint64_t cap = badged(notification, badge, RIGHT_ALL);
	check_ok(channel_listen(IPC, CHANNEL, bell, core, cap));
	return cap;
}

static uint64_t received(uint64_t notification)
{
	uint64_t word = 0;
	notification_wait(notification, deadline_ms(30000), &word);
	return word;
}

TEST(received_on_every_core, 1, NEEDS_PEER,
     "doorbell: the other cluster's ring signals our notification, on every core")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned core = 0; core < cores(); core++) {
		listen(notification, BELL, core, 0x100 + core);
		check_eq(peer_ask(PEER_RING, BELL, 1), 0);
		check_eq(received(notification), 0x100 + core);
	}
}

TEST(ring, 1, NEEDS_PEER, "doorbell: our ring signals the other cluster's notification")
{
	check_eq(peer_ask(PEER_LISTEN, BELL, 0x5a), 0);
	uint64_t bell = badged(CHANNEL, BELL, RIGHT_WRITE);
	for (unsigned i = 0; i < 5; i++) {
		check_ok(notification_signal(bell));
		check_eq(peer_ask(PEER_RECEIVED, 20000, 0), 0x5a);
	}
	check_eq(peer_ask(PEER_RECEIVED, 5, 0), 0);
}

TEST(many, 1, NEEDS_PEER, "doorbell: all 256 are told apart")
{
	static const unsigned bell[] = { 0, 1, 63, 64, 127, 128, 191, 192, 254, 255 };
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	for (unsigned i = 0; i < 10; i++)
		listen(notification, bell[i], i % cores(), 1ull << i);
	for (unsigned i = 0; i < 10; i++) {
		check_eq(peer_ask(PEER_RING, bell[i], 1), 0);
		check_eq(received(notification), 1ull << i);
	}
}

TEST(repeated, 1, NEEDS_PEER, "doorbell: a thousand rings, and the last is received")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), word = 0;
	listen(notification, BELL, 0, 2);
	check_eq(peer_ask(PEER_RING, BELL, 1000), 0);
	check_eq(received(notification), 2);
	sleep_ms(5);
	check_ok(notification_poll(notification, &word));
	check_eq(peer_ask(PEER_RING, BELL, 1), 0);
	check_eq(received(notification), 2);
}

TEST(unbound, 1, NEEDS_PEER, "doorbell: one without a listener is dropped")
{
	check_eq(peer_ask(PEER_RING, BELL + 50, 3), 0);
	check_ok(notification_signal(badged(CHANNEL, BELL + 51, RIGHT_WRITE)));
}

TEST(revoked, 1, NEEDS_PEER, "doorbell: it writes no memory after its notification was revoked")
{
	uint64_t memory = object(OBJECT_UNTYPED, 12), cap = slot();
	check_ok(untyped_retype(IPC, memory, OBJECT_NOTIFICATION, 0, ROOT_SLOT_CNODE, cap, 1));
	check_ok(channel_listen(IPC, CHANNEL, BELL, 0, cap));
	check_ok(cnode_revoke(ROOT_SLOT_CNODE, memory));
	check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, ROOT_SLOT_CNODE, cap, 1));
	check_ok(frame_map(IPC, cap, ROOT_SLOT_VSPACE, WINDOW, RIGHT_READ | RIGHT_WRITE, 0));
	check_eq(peer_ask(PEER_RING, BELL, 1), 0);
	sleep_ms(2);
	for (unsigned i = 0; i < 512; i++)
		check_eq(((volatile uint64_t *)WINDOW)[i], 0);
}

TEST(kept, 1, NEEDS_PEER, "doorbell: listening goes on when the capability that was named for it is deleted")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0), cap = listen(notification, BELL, 0, 8);
	check_ok(cnode_delete(ROOT_SLOT_CNODE, cap));
	check_eq(peer_ask(PEER_RING, BELL, 1), 0);
	check_eq(received(notification), 8);
}

TEST(rights, 1, NEEDS_PEER, "doorbell: NO_RIGHTS to ring without WRITE, to listen without the right to signal")
{
	uint64_t reader = copy_of(object(OBJECT_NOTIFICATION, 0), RIGHT_READ);
	check_error(notification_signal(badged(CHANNEL, BELL, RIGHT_READ)), NO_RIGHTS);
	check_error(channel_listen(IPC, CHANNEL, BELL, 0, reader), NO_RIGHTS);
}

TEST(arguments, 1, NEEDS_PEER, "doorbell: every error of the channel's invocation")
{
	uint64_t notification = object(OBJECT_NOTIFICATION, 0);
	struct message m = { .word = { BELL, 0 } };
	check_error(channel_listen(IPC, CHANNEL, 256, 0, notification), BAD_ARGUMENT);
	check_error(channel_listen(IPC, CHANNEL, BELL, cores(), notification), BAD_ARGUMENT);
	check_error(channel_listen(IPC, CHANNEL, BELL, 0, object(OBJECT_ENDPOINT, 0)), BAD_CAP);
	check_error(channel_listen(IPC, CHANNEL, BELL, 0, slot()), BAD_CAP);
	IPC->caps[0] = notification;
	check_error(invoke(CHANNEL, CHANNEL_LISTEN, 1, 0, &m), TRUNCATED);
	check_error(invoke(CHANNEL, CHANNEL_LISTEN, 1, 1, &m), TRUNCATED);
	check_error(invoke(CHANNEL, CHANNEL_LISTEN + 1, 1, 2, &m), BAD_LABEL);
	check_error(cnode_mint(IPC, ROOT_SLOT_CNODE, slot(), ROOT_SLOT_CNODE, CHANNEL, RIGHT_ALL, 256), BAD_ARGUMENT);
	uint64_t bell = badged(CHANNEL, BELL, RIGHT_ALL);
	check_error(invoke(bell, CHANNEL_LISTEN, 1, 2, &m), BAD_LABEL);
	check_error(cnode_mint(IPC, ROOT_SLOT_CNODE, slot(), ROOT_SLOT_CNODE, bell, RIGHT_ALL, BELL + 1), BAD_ARGUMENT);
	check_error(notification_wait(bell, 0, 0), BAD_CAP);
}
