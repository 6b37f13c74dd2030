/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two cluster-managers' channel code (cluster-manager/root/link/channel.c) over one
 * channel: they find each other, talk, sleep; one starts again in the middle.
 * No timer helps: what is not announced by a bell is slept through.
 */
#include "managers.h"

static void one_way(unsigned self)
{
	if (!self)
		send(0, 10);
	serve(self);
}

/* More than one call of channels_work() takes; only the first of them rings. */
static void two_at_once(unsigned self)
{
	if (!self) {
		send(0, 9);
		send(0, 10);
	}
	serve(self);
}

static void both_ways(unsigned self)
{
	send(self, 10 + self);
	serve(self);
}

/* The side's whole cluster is stopped and started: its kernel forgets its listeners. */
static void restart(void)
{
	unsigned side = side_of_self();
	atomic_store_explicit(&listens[side], 0, memory_order_release);
	atomic_store_explicit(&bell[side], 0, memory_order_release);
	begin_instance(side + SIDES);
}

/* Then a message comes from the new one. */
static void starts_again(unsigned self)
{
	if (self) {
		restart();
		send(3, 12);
	}
	serve(self ? 3 : 0);
}

/* While side 0 has something to say to its peer. */
static void starts_again_unnoticed(unsigned self)
{
	if (self)
		restart();
	else
		send(0, 10);
	serve(self ? 3 : 0);
}

/* Its last words are received whole or not at all. */
static void last_words(unsigned self)
{
	if (self) {
		send(1, 11);
		restart();
	}
	serve(self ? 3 : 0);
}

static void last_words_unrung(unsigned self)
{
	if (self)
		silent = true;
	last_words(self);
}

/* And the new one speaks in the same slot. */
static void last_and_first_words(unsigned self)
{
	if (self) {
		send(1, 11);
		restart();
		send(3, 12);
	}
	serve(self ? 3 : 0);
}

/* And has a bell before it is acknowledged. */
static void last_and_first_words_answered(unsigned self)
{
	if (!self)
		send(0, 10);
	last_and_first_words(self);
}

static void both_open(unsigned self)
{
	begin_instance(self);
	both_ways(self);
}

static void both_start_again(unsigned self)
{
	restart();
	if (self)
		send(self + SIDES, 10 + self);
	serve(self + SIDES);
}

static void one_came(void)
{
	EXPLORE_CHECK(manager[1].received == 1 && manager[1].last == 10, "the message never arrives");
}

static void two_came(void)
{
	EXPLORE_CHECK(manager[1].received == 2 && manager[1].last == 10, "the second message never arrives");
}

static void both_came(void)
{
	one_came();
	EXPLORE_CHECK(manager[0].received == 1 && manager[0].last == 11, "the answer never arrives");
	EXPLORE_CHECK(!manager[0].lost && !manager[1].lost, "a peer is thought lost");
}

static void the_new_ones_came(void)
{
	EXPLORE_CHECK(manager[0].received == 1 && manager[0].last == 12, "the new peer's message never arrives");
	EXPLORE_CHECK(manager[0].lost <= 1, "a peer is lost more often than it starts");
}

/* It may have gone to the one that stopped. Whatever comes is whole (mailbox_put()), and side 0 has noticed. */
static void noticed(void)
{
	EXPLORE_CHECK(manager[0].lost == 1, "a peer started again and nobody noticed");
	EXPLORE_CHECK(manager[3].received <= 1, "a message came twice");
}

static void last_and_first_came(void)
{
	noticed();
	EXPLORE_CHECK(manager[0].received >= 1 && manager[0].received <= 2 && manager[0].last == 12,
	              "the new peer's message never arrives");
}

static void both_new_ones_came(void)
{
	EXPLORE_CHECK(manager[2].received == 1 && manager[2].last == 11, "the new peer's message never arrives");
	EXPLORE_CHECK(manager[2].lost <= 1 && manager[3].lost <= 1, "a peer is lost more often than it starts");
}

static const struct explore_case cases[] = {
	{ .name = "one way", .threads = 2, .set_up = set_up, .begin = both_up, .thread = one_way, .end = one_came },
	{ .name = "two at once", .threads = 2, .set_up = set_up, .begin = both_up, .thread = two_at_once,
	  .end = two_came },
	{ .name = "both ways", .threads = 2, .set_up = set_up, .begin = both_up, .thread = both_ways,
	  .end = both_came },
	{ .name = "one starts again", .threads = 2, .set_up = set_up, .begin = both_up, .thread = starts_again,
	  .end = the_new_ones_came },
	{ .name = "one starts again and is told something", .threads = 2, .set_up = set_up, .begin = both_up,
	  .thread = starts_again_unnoticed, .end = noticed },
	{ .name = "last words", .threads = 2, .set_up = set_up, .begin = both_up, .thread = last_words,
	  .end = noticed },
	{ .name = "last words without a bell", .threads = 2, .set_up = set_up, .begin = both_up,
	  .thread = last_words_unrung,
	  .end = noticed },
	{ .name = "last and first words", .threads = 2, .set_up = set_up, .begin = both_up,
	  .thread = last_and_first_words,
	  .end = last_and_first_came },
	{ .name = "last and first words, answered", .threads = 2, .set_up = set_up, .begin = both_up,
	  .thread = last_and_first_words_answered, .end = last_and_first_came },
	{ .name = "both open", .threads = 2, .set_up = set_up, .thread = both_open, .end = both_came },
	{ .name = "both start again", .threads = 2, .set_up = set_up, .begin = both_up, .thread = both_start_again,
	  .end = both_new_ones_came },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
