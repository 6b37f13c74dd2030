/* SPDX-License-Identifier: BSD-2-Clause */
/* A manager acts on one message of its mailbox at a time, and complains about peers. */
#define _GNU_SOURCE
#include <string.h>
#include <skerry/errors.h>
#include "test-check.h"

#include "deliver.c"
#include "report.c"

enum { OWN = 1, OTHER = 2, TEXT = 3, DEEP = 100, TYPES = 256 /* more than there are */ };

static struct cluster_map tested_map;
const struct cluster_map *map = &tested_map;
static bool room, good, nested, overflows;
static unsigned texts, reports, counted, taken, depth, lines, verdicts, chained, off, primary_lost;
static const char *complaint, *lost_why;
static enum message_type last_type;

void cluster_restart_lost(uint32_t cluster) { CHECK(cluster == OTHER); }

bool writers_came(uint32_t cluster, size_t length)
{
	CHECK(cluster == OTHER && length <= TEXT);
	texts++;
	return room;
}

bool writers_report_came(uint32_t cluster, size_t size, bool counters)
{
	CHECK(cluster == OTHER && size == sizeof(struct about_application) + TEXT);
	reports++;
	counted += counters;
	return room;
}

/* A report makes an order to this cluster, an order a report of it: neither is handled within the other. */
bool report_take(uint32_t cluster, enum message_type type, const void *body, size_t size)
{
	(void)cluster, (void)body, (void)size;
	nested |= depth++ > 0;
	taken++;
	last_type = type;
	if (chained && chained--)
		order_all(ORDER_SERVING, &(struct about_application){ 0 }, sizeof(struct about_application));
	if (overflows)
		while (!order(OWN, ORDER_GONE, &(struct about_application){ 0 }, sizeof(struct about_application)))
			;
	overflows = false;
	depth--;
	return good;
}

bool order_execute(enum message_type type, const void *body, size_t size)
{
	(void)body, (void)size;
	nested |= depth++ > 0;
	taken++;
	last_type = type;
	if (chained && chained--)
		report_about(REPORT_SERVING, 0, 0);
	depth--;
	return good;
}

static bool coming, is_spoilt;
bool signs_are_spoilt(void) { return is_spoilt; }
static unsigned told_lost, told_away, recoveries;
bool cluster_restart_is_pending(uint32_t cluster)
{
	CHECK(cluster == OTHER);
	return coming;
}
void loss_record_primary(const char *text)
{
	CHECK(coming && !strcmp(text, "it is gone"));
	told_lost++;
}
void order_cluster_lost(uint32_t cluster)
{
	CHECK(coming && cluster == OTHER);
	told_away++;
}
void state_recovery_report(void) { recoveries++; }

void writers_primary_lost(void) { primary_lost++; }
void channel_complain(uint32_t cluster, const char *what)
{
	CHECK(cluster == OTHER && !complaint);
	complaint = what;
}
int channel_send(uint32_t cluster, uint16_t type, const void *body, size_t size)
{
	(void)cluster, (void)type, (void)body, (void)size;
	return 0;
}
void channel_broadcast(uint16_t type, const void *body, size_t size) { (void)type, (void)body, (void)size; }
void console_print(const char *format, ...)
{
	const struct mail mail = { .kind = MAIL_OWN_BULK, .type = REPORT_CONSOLE, .cluster = OWN, .body = "abc",
	                           .size = TEXT };
	(void)format;
	lines++;
	if (!is_primary())
		CHECK(!mailbox_put(&mail));
}
void text_pass(enum message_type type, uint32_t application, const char *text, size_t length)
{
	CHECK(type == REPORT_CONSOLE && application == ABOUT_MANAGER && length == TEXT && !memcmp(text, "abc", TEXT));
	texts++;
}
void run_cluster_lost(uint32_t cluster, const char *text)
{
	CHECK(cluster == OTHER && !strcmp(text, "it is gone"));
	lost_why = text;
}
void run_happened(enum run_event_kind kind, uint32_t subject, uint32_t value)
{
	CHECK(kind == RUN_EVENT_MAIL_LOST && !subject && !value);
	verdicts++;
}
void power_off(uint32_t status)
{
	struct mail mail;
	CHECK(status == 1 && !mailbox_take(&mail));
	off++;
}

static void deliver_all(void)
{
	while (mail_deliver())
		;
}

static const char *came_with(enum message_type type, const void *body, size_t size)
{
	const struct mail mail = { .kind = MAIL_PEER, .type = (uint16_t)type, .cluster = OTHER, .body = body,
	                           .size = size };
	complaint = NULL;
	CHECK(!mailbox_put(&mail));
	deliver_all();
	return complaint;
}

static const char *came(enum message_type type)
{
	const char body[sizeof(struct about_application) + TEXT] = { 0 };
	return came_with(type, body, sizeof(body));
}

/* All that may come without a limit. */
static bool makes_no_line(enum message_type type)
{
	return type == REPORT_ARRIVED || type == REPORT_SAMPLE_CORE || type == REPORT_SAMPLE;
}

/* A message for which there is no room is dropped for that reason, not as a forbidden one: each report there is, or
 * will be. */
static void no_room(void)
{
	unsigned count = 0;
	for (unsigned i = REPORT_BOOT; i < TYPES; i++) {
		const enum message_type type = (enum message_type)i;
		if (makes_no_line(type))
			continue;
		unsigned before = taken;
		const char *text = (room = false, came(type));
		CHECK(text && strstr(text, "room") && taken == before);
		room = good = true;
		CHECK(!came(type) && taken == before + 1);
		good = false;
		text = came(type);
		CHECK(text && strstr(text, "may not send"));
		count++;
	}
	CHECK(texts == 2 * 3 && reports == (count - 2) * 3 && count == TYPES - REPORT_BOOT - 3);
	CHECK(counted == 4 * 3); /* of cores, their end, of locks, of memory */
	CHECK(came_with(REPORT_CONSOLE, "", 1)); /* shorter than any */
}

/* A report of which nothing is printed needs no room. An order is the primary's only, and a report is for it only. */
static void others(void)
{
	room = false, good = true;
	for (unsigned i = REPORT_BOOT; i < TYPES; i++)
		if (makes_no_line((enum message_type)i))
			CHECK(!came((enum message_type)i));
	for (unsigned i = 0; i < REPORT_BOOT; i++)
		CHECK(strstr(came((enum message_type)i), "may not send"));
	tested_map.primary = OTHER;
	CHECK(!came(ORDER_START));
	room = true;
	CHECK(strstr(came(REPORT_SERVING), "may not send") && strstr(came(REPORT_CONSOLE), "may not send"));
	tested_map.primary = OWN;
}

/* Orders that make reports that make orders: one after another, a bounded number in a call; nobody complains of
 * itself. */
static void loopback(void)
{
	unsigned before = taken, calls = 1;
	good = false;
	complaint = NULL;
	chained = DEEP;
	CHECK(!report_about(REPORT_SERVING, 0, 0) && taken == before);
	for (; mail_deliver(); calls++)
		CHECK(taken - before == calls * WORK_BUDGET);
	CHECK(taken - before == DEEP + 1 && calls == DEEP / WORK_BUDGET + 1 && !nested && !complaint);
	for (unsigned i = 0; i < 2; i++) /* own bulk needs no room at the ports */
		CHECK(!report(i ? REPORT_SAMPLE : REPORT_STATS, "12345678", 8));
	room = false;
	deliver_all();
	CHECK(last_type == REPORT_SAMPLE && !complaint);
}

/* Where even an order of its own is lost, the run ends; all that was kept is handled. */
static void overflow(void)
{
	unsigned before = taken;
	verdicts = lines = 0;
	overflows = true;
	CHECK(!report_about(REPORT_EXITED, 0, 0));
	deliver_all();
	CHECK(taken - before > 4000 && verdicts == 1 && lines == 1);
	while (!report(REPORT_SAMPLE, "12345678", 8))
		;
	deliver_all();
	CHECK(verdicts == 1 && lines == 2);
}

static void peer_is_lost(void)
{
	const struct mail mail = { .kind = MAIL_PEER_LOST, .cluster = OTHER, .body = "it is gone", .size = 11 };
	lines = off = texts = 0;
	CHECK(!mailbox_put(&mail));
	deliver_all();
	CHECK(lost_why && lines == 1 && !primary_lost && !off);
	tested_map.primary = OTHER;
	CHECK(!mailbox_put(&mail));
	deliver_all();
	CHECK(primary_lost == 1 && !off);
	tested_map.shutdown_when_done = tested_map.cluster[0].devices = true;
	CHECK(!mailbox_put(&mail));
	deliver_all();
	CHECK(primary_lost == 2 && off == 1 && texts == 2); /* the line about it is out before */
	coming = true; /* the primary will be back, and hears then what it has missed */
	const struct mail back = { .kind = MAIL_PEER_BACK, .cluster = OTHER };
	CHECK(!mailbox_put(&mail) && !mailbox_put(&back));
	deliver_all();
	CHECK(primary_lost == 3 && off == 1 && told_lost == 1 && told_away == 1 && recoveries == 1);
	coming = false;
	tested_map.primary = OWN;
	is_spoilt = true;
	CHECK(!mailbox_put(&mail));
	deliver_all();
	CHECK(lines == 4 && primary_lost == 3);
	is_spoilt = false;
	CHECK(!mailbox_put(&back)); /* not the primary */
	deliver_all();
	CHECK(recoveries == 1);
}

/* A line of this manager's own goes the way of its programs' lines. */
static void own_line(void)
{
	const struct mail mail = { .kind = MAIL_OWN_BULK, .type = REPORT_CONSOLE, .cluster = OWN, .body = "abc",
	                           .size = TEXT };
	texts = 0;
	CHECK(!mailbox_put(&mail));
	deliver_all();
	CHECK(texts == 1);
}

int main(void)
{
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	root->cluster = tested_map.primary = OWN;
	tested_map.cluster_count = 2;
	tested_map.cluster[0].number = OWN;
	tested_map.cluster[1].number = OTHER;
	no_room();
	others();
	loopback();
	overflow();
	peer_is_lost();
	own_line();
	return failures != 0;
}
