/* SPDX-License-Identifier: BSD-2-Clause */
/* The mailbox: messages come out whole and in order, and what finds no room is refused and counted. */
#include <string.h>
#include <skerry/errors.h>
#include "test-check.h"

#include "mailbox.c"

static uint8_t body[MESSAGE_SIZE_MAX + 1];

static int put(enum mail_kind kind, uint32_t number, size_t size)
{
	memset(body, (int)number, sizeof(body));
	const struct mail mail = { .kind = kind, .type = (uint16_t)number, .cluster = number,
	                           .body = size ? body : NULL, .size = size };
	return mailbox_put(&mail);
}

static bool take(enum mail_kind kind, uint32_t number, size_t size)
{
	struct mail mail;
	if (!mailbox_take(&mail) || mail.kind != kind || mail.type != (uint16_t)number || mail.cluster != number ||
	    mail.size != size || (uintptr_t)mail.body % ALIGNMENT)
		return false;
	const uint8_t *got = mail.body;
	for (size_t i = 0; i < size; i++)
		if (got[i] != (uint8_t)number)
			return false;
	return true;
}

static bool is_empty(void)
{
	struct mail mail;
	return !mailbox_take(&mail);
}

/* All sizes, so that messages and headers lie across the end in every way; three wait at a time. */
static void in_order(void)
{
	enum { WAIT = 3 };
	const size_t stride = 37;
	CHECK(is_empty());
	for (uint32_t i = 0; i < 10000; i++) {
		CHECK(put(i % 4, i, i * stride % (MESSAGE_SIZE_MAX + 1)) == 0);
		uint32_t first = i - WAIT;
		if (i >= WAIT)
			CHECK(take(first % 4, first, first * stride % (MESSAGE_SIZE_MAX + 1)));
	}
	for (uint32_t first = 10000 - WAIT; first < 10000; first++)
		CHECK(take(first % 4, first, first * stride % (MESSAGE_SIZE_MAX + 1)));
	CHECK(is_empty());
}

static bool lost_are(uint32_t expected, bool expected_harmful)
{
	bool harmful;
	uint32_t count = mailbox_lost(&harmful);
	return count == expected && harmful == expected_harmful;
}

/* Peers and bulk fill a part only; an order or report of its own, and the loss of a peer, go behind them. */
static void full(enum mail_kind filler)
{
	uint32_t put_in = 0, own = 0;
	while (!put(filler, put_in, 100))
		put_in++;
	CHECK(put_in > 100 && tail - head <= MAILBOX_SIZE - MAILBOX_KEPT && lost_are(1, false) && lost_are(0, false));
	CHECK(put(MAIL_PEER, 0, 100) == -SKERRY_NO_RESOURCE && put(MAIL_OWN_BULK, 0, 100) == -SKERRY_NO_RESOURCE);
	CHECK(lost_are(2, false));
	CHECK(!put(MAIL_PEER_LOST, 1, 20));
	while (!put(MAIL_OWN, own, 8))
		own++;
	CHECK(own >= 2000 && lost_are(1, true) && put(MAIL_PEER_LOST, 1, 20) == -SKERRY_NO_RESOURCE &&
	      lost_are(1, true));
	for (uint32_t i = 0; i < put_in; i++)
		CHECK(take(filler, i, 100));
	CHECK(take(MAIL_PEER_LOST, 1, 20));
	for (uint32_t i = 0; i < own; i++)
		CHECK(take(MAIL_OWN, i, 8));
	CHECK(is_empty() && !put(MAIL_OWN, 3, 0) && take(MAIL_OWN, 3, 0));
}

/* The promise of mailbox_has_room() holds for messages of every size. */
static void room(void)
{
	for (size_t size = 0; size < 64; size++) {
		uint32_t left = 0;
		while (mailbox_has_room(10 * size, 10))
			for (unsigned i = 0; i < 10; i++, left++)
				CHECK(!put(MAIL_PEER, left, size));
		CHECK(left >= 10 && lost_are(0, false));
		for (uint32_t i = 0; i < left; i++)
			CHECK(take(MAIL_PEER, i, size));
	}
	CHECK(put(MAIL_OWN, 1, MESSAGE_SIZE_MAX + 1) == -SKERRY_BAD_ARGUMENT && lost_are(1, true) && is_empty());
}

int main(void)
{
	in_order();
	full(MAIL_PEER);
	full(MAIL_OWN_BULK);
	room();
	return failures != 0;
}
