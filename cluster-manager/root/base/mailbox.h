/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages for this manager in order of arrival: its own orders and reports
 * (the loopback), and its peers'. Nothing is acted upon when it is put here: the
 * service loop takes messages out one by one (deliver.h), so that no message is
 * handled in the middle of another.
 *
 * The mailbox is bounded. Peers' messages and bulk leave MAILBOX_KEPT bytes of it
 * free (half, where it was moved); channels_work() leaves peers' messages in the rings meanwhile. What finds
 * no room is lost, counted, and reported by mailbox_lost().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MESSAGE_SIZE_MAX = 8192, MAILBOX_SIZE = 1 << 17, MAILBOX_KEPT = MAILBOX_SIZE / 2, MAIL_HEADER = 16 };

enum mail_kind {
	MAIL_OWN,       /* an order or report of this manager to itself: may take all of the mailbox */
	MAIL_OWN_BULK,  /* the same, of which the loss does no lasting harm */
	MAIL_PEER,      /* a message of another manager */
	MAIL_PEER_BACK, /* the channel leads to a later life of a manager */
	MAIL_PEER_LOST, /* the channel to a manager is down; the body is the reason, a terminated string */
};

struct mail {
	enum mail_kind kind;
	uint16_t type;    /* enum message_type; as the peer says, unchecked */
	uint32_t cluster; /* the sender; of MAIL_PEER_LOST and MAIL_PEER_BACK the peer */
	const void *body;
	size_t size;      /* at most MESSAGE_SIZE_MAX */
};

/* Takes other memory, of `size` bytes (a power of two); half of it is kept free then. Caller has put nothing there. */
void mailbox_move(void *memory, uint32_t size);
/* Appends a copy. -SKERRY_NO_RESOURCE: there is no room, -SKERRY_BAD_ARGUMENT: it is too long; it is lost then. */
int mailbox_put(const struct mail *mail);

/* Takes the oldest. Its body, aligned to 8 bytes, is valid until the next call. False: there is none. */
bool mailbox_take(struct mail *mail);

/* Returns whether peers' messages with bodies of `bytes` in all, `count` of them, have room. */
bool mailbox_has_room(size_t bytes, uint32_t count);

/* Returns the messages lost since the last call; *harmful: one of them was MAIL_OWN or MAIL_PEER_LOST. */
uint32_t mailbox_lost(bool *harmful);
