/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that write faster than the port: what waits is bounded, nothing is lost or torn, others have their turn. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "channel.h"
#include "console.h"
#include "map.h"
#include "output.h"
#include "json.h"
#include "results.h"
#include "root.h"
#include "test-check.h"
#include "waiters.h"
#include "writers.h"

#include "console.c"
#include "lines.c"
#include "texts.c"
#include "writers.c"

enum { CHATTY = 0, QUIET = 1, APPLICATIONS = 2, OWN = 1, OTHER = 2, LINE = 100, LINE_MOST = 700 };

static struct cluster_map tested_map;
const struct cluster_map *map = &tested_map;
static size_t waiting, most_waiting, limit; /* bytes that have not left; 0: nobody wants to know */
static char shown[1 << 20];
static size_t shown_size;
static bool woken[APPLICATIONS], alive = true;
static uint32_t returned;                   /* bytes for which the other cluster was told */
static unsigned results;

void *own_memory(uint64_t size) { return calloc(1, size); }
bool channel_alive(uint32_t cluster) { (void)cluster; return alive; }
size_t output_waiting(void) { return waiting; }
size_t output_room(void) { return (1 << 18) - waiting; }

void output_put(enum output_lane lane, const char *bytes, size_t length)
{
	CHECK(lane == OUTPUT_CONSOLE && bytes[length - 1] == '\n'); /* lines come whole */
	memcpy(shown + shown_size, bytes, length);
	shown_size += length;
	waiting += length;
	most_waiting = waiting > most_waiting ? waiting : most_waiting;
}

bool output_want(size_t wanted)
{
	limit = waiting >= wanted ? wanted : 0;
	return limit != 0;
}

/* The port takes some bytes, and the thread says so if it was asked to. */
static void leave(size_t bytes)
{
	waiting -= bytes < waiting ? bytes : waiting;
	if (limit && waiting < limit) {
		limit = 0;
		writers_pass_on();
	}
}

void waiters_wake(enum wait_kind kind, uint32_t key, uint64_t error)
{
	CHECK(kind == WAIT_CONSOLE && key < APPLICATIONS && !error);
	woken[key] = true;
}

int channel_send(uint32_t cluster, uint16_t type, const void *body, size_t size)
{
	uint32_t bytes;
	CHECK(cluster == OTHER && type == ORDER_WRITTEN && size == sizeof(bytes));
	memcpy(&bytes, body, sizeof(bytes));
	returned += bytes;
	return 0;
}

/* The primary, of another manager: what comes is shown by the same console. */
int channel_send_line(uint32_t cluster, uint16_t type, const void *body, size_t size)
{
	const struct about_application *about = body;
	CHECK(cluster == OTHER && type == REPORT_CONSOLE && size >= sizeof(*about));
	console_line(OWN, about->application, (const char *)(about + 1), size - sizeof(*about));
	return 0;
}

bool json_is_object(const char *text, size_t length) { return length == 2 && text[0] == '{'; }
struct text *results_begin(const char *event)
{
	static char line[256];
	static struct text made;
	CHECK(!strcmp(event, "result"));
	made = TEXT(line);
	results++;
	return &made;
}
void results_application(struct text *t, uint32_t application) { (void)t, (void)application; }
void results_end(struct text *t) { (void)t; }
int mailbox_put(const struct mail *mail) { (void)mail; return 0; }

/* Lines of LINE bytes, numbered; as many as a request holds. */
static size_t fill(char *text, unsigned *number)
{
	size_t size = 0;
	for (; size + LINE <= MANAGER_BYTES; size += LINE) {
		memset(text + size, '.', LINE);
		char digits[8];
		snprintf(digits, sizeof(digits), "%06u", (*number)++);
		memcpy(text + size, digits, 6);
		text[size + LINE - 1] = '\n';
	}
	return size;
}

/* All lines of the program, in order, without one that is missing. */
static unsigned count_lines(const char *name)
{
	unsigned found = 0;
	char expected[64];
	for (size_t at = 0; at < shown_size;) {
		const char *end = memchr(shown + at, '\n', shown_size - at);
		snprintf(expected, sizeof(expected), "[%s] %06u.", name, found);
		if (!strncmp(shown + at, expected, strlen(expected)))
			found++;
		at = (size_t)(end - shown) + 1;
	}
	return found;
}

static void reset(void)
{
	shown_size = waiting = most_waiting = limit = 0;
	woken[CHATTY] = woken[QUIET] = false;
}

/* The chatty one writes whenever it may; the port takes 16 bytes at a time. */
static void slow_port(void)
{
	char text[MANAGER_BYTES];
	unsigned number = 0;
	reset();
	for (unsigned i = 0; i < 50; i++) {
		size_t size = fill(text, &number);
		woken[CHATTY] = false;
		int error = writers_add(CHATTY, MANAGER_WRITE, text, size);
		CHECK(error == 0 || error == 1);
		for (unsigned step = 0; error == 1 && !woken[CHATTY] && step < 10000; step++)
			leave(16);
		CHECK(!error || woken[CHATTY]);
	}
	CHECK(count_lines("chatty") == number && number == 450);
	CHECK(most_waiting <= WRITERS_WINDOW + LINE_MOST);
}

/* While the chatty one's requests wait, another one's line is behind no more than a window and a line of each. */
static void takes_turns(void)
{
	char text[MANAGER_BYTES];
	unsigned number = 0;
	reset();
	int kept = 0;
	for (unsigned i = 0; i < 100 && kept < WAITERS_EACH - 1; i++)
		kept += writers_add(CHATTY, MANAGER_WRITE, text, fill(text, &number)) == 1;
	CHECK(writers_add(CHATTY, MANAGER_WRITE, "last words", 10) == 1);
	/* one thread more is refused */
	CHECK(writers_add(CHATTY, MANAGER_WRITE, text, LINE) == -SKERRY_NO_RESOURCE);
	CHECK(writers_add(QUIET, MANAGER_WRITE, "000000.\n", 8) == 1);
	CHECK(writers_add(QUIET, MANAGER_RESULT, "{}", 2) == 1 && !results);
	size_t left = 0;
	for (; !woken[QUIET] && left < 100000; left += 16)
		leave(16);
	CHECK(left <= WRITERS_WINDOW + 4 * LINE_MOST && results == 1 && !woken[CHATTY]);
	CHECK(count_lines("quiet") == 1);
	/* it ends: all that it had written is out, and its unfinished line */
	writers_flush(CHATTY);
	CHECK(woken[CHATTY] && !writer[CHATTY].count && !strncmp(shown + shown_size - 11, "last words\n", 11));
	leave(waiting);
	CHECK(count_lines("chatty") == number);
	results = 0;
}

/* An empty line costs more than its one byte. */
static void newlines(void)
{
	char text[MANAGER_BYTES];
	reset();
	memset(text, '\n', sizeof(text));
	CHECK(writers_add(CHATTY, MANAGER_WRITE, text, sizeof(text)) == 1);
	CHECK(most_waiting <= WRITERS_WINDOW + LINE_MOST);
	while (!woken[CHATTY])
		leave(16);
	CHECK(shown_size == sizeof(text) * (sizeof("[chatty] \n") - 1));
}

/* A manager that is not the primary sends a window's bytes, and more when the primary has written some. */
static void to_remote_primary(void)
{
	char text[MANAGER_BYTES];
	unsigned number = 0;
	reset();
	tested_map.primary = OTHER;
	while (writers_add(CHATTY, MANAGER_WRITE, text, fill(text, &number)) == 0 && number < 1000)
		;
	CHECK(number < 100 && texts_sent() >= WRITERS_WINDOW && texts_sent() < WRITERS_WINDOW + LINE_MOST);
	writers_written(10);
	CHECK(!woken[CHATTY]);
	writers_written(UINT32_MAX); /* a primary that says too much is believed as far as it goes */
	CHECK(woken[CHATTY] && count_lines("chatty") == number);
	while (writers_add(CHATTY, MANAGER_WRITE, text, fill(text, &number)) == 0 && number < 1000)
		;
	woken[CHATTY] = alive = false;
	waiting = 0;
	writers_primary_lost();
	CHECK(woken[CHATTY] && count_lines("chatty") == number);
	tested_map.primary = OWN;
	alive = true;
}

/* The primary returns what it has written, not more; a cluster that does not wait for that is refused. */
static void to_primary(void)
{
	reset();
	returned = 0;
	uint32_t came = 0;
	waiting = WRITERS_WINDOW;
	for (; came < 2 * WRITERS_WINDOW; came += text_cost(LINE))
		CHECK(writers_came(OTHER, LINE));
	CHECK(!returned);
	leave(16);
	CHECK(returned == came);
	waiting = 1 << 17;
	unsigned taken = 0;
	for (unsigned i = 0; i < 10000; i++)
		taken += writers_came(OTHER, LINE);
	CHECK(taken <= WRITERS_OWED_MAX / text_cost(LINE) + 1);
	CHECK(!writers_came(77, LINE));
	unsigned reports = 0;
	for (unsigned i = 0; i < 10000; i++)
		reports += writers_report_came(OTHER, 8000, true);
	CHECK(reports <= REPORTED_MAX / 8000 + 1);
	for (unsigned i = 0; i < MAP_MAX_APPLICATIONS; i++) /* its programs end meanwhile, which it says once of each */
		CHECK(writers_report_came(OTHER, sizeof(struct about_application), false));
	leave(1 << 17);
	CHECK(returned == came + 10000 * text_cost(LINE) && writers_came(OTHER, LINE) &&
	      writers_report_came(OTHER, 8000, true));
	leave(1 << 17);
	waiting = 1 << 17;
	/* each makes a line: as many as the ports' memory has room for */
	for (unsigned i = reports = 0; i < 10000; i++)
		reports += writers_report_came(OTHER, 8, false);
	CHECK(reports <= (REPORTED_MAX + REPORTED_KEPT) / 100 && reports >= REPORTED_MAX / 200);
}

/* A cluster that only reports has its room again once the ports are not behind, or in its next life. */
static void only_reports(void)
{
	reset();
	for (unsigned lives = 0; lives < 2; lives++) {
		waiting = 1 << 17;
		while (writers_report_came(OTHER, 8000, true))
			;
		writers_pass_on();
		CHECK(!writers_report_came(OTHER, 8000, true));
		if (lives)
			writers_cluster_restarted(OTHER);
		else
			waiting = 0, writers_pass_on();
		CHECK(writers_report_came(OTHER, 8000, true));
	}
	reset();
}

/* Escape sequences reach no console: colours are left out, and any other is a question mark. */
static void printable(void)
{
	static const struct {
		const char *line, *shown;
	} lines[] = {
		{ "\x1b[1;31mred\x1b[m and \tplain", "red and \tplain" },
		{ "\x1b]0;title\x1b\\", "?]0;title?\\" },
		{ "\x1b]52;c;Y2F0\x07", "?]52;c;Y2F0?" },
		{ "\x1bP1$r\x1b\\\x1b" "c", "?P1$r?\\?c" },
		{ "\x1b[2J\x1b[", "?[" },
		{ "\x1b[\x1b[m", "?[" },
		{ "\x1b[1 q\x1b", "?" },
		{ "\x1b[12\xc3\xbc\r\x7f", "?[12\xc3\xbc??" },
		{ "\xc2\x9d" "52;c;Y2F0\xc2\x9c\xc2\x9b" "2J\xc2\xa0\xc2", "\xc2?52;c;Y2F0\xc2?\xc2?2J\xc2\xa0\xc2" },
		{ "\xc2\x1b[m\x9b" "2J", "\xc2?2J" }, /* what stands together once the colour is left out */
	};
	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char expected[64];
		reset();
		snprintf(expected, sizeof(expected), "[chatty] %s\n", lines[i].shown);
		console_line(OWN, CHATTY, lines[i].line, strlen(lines[i].line));
		CHECK(shown_size == strlen(expected) && !memcmp(shown, expected, shown_size));
	}
}

/* A manager's line has its mark in front and its seal behind, and what it quotes becomes neither; a program's line has
 * none. */
static void sealed(void)
{
	const char said[] = "cluster 0 is gone: \x01\x02" SEAL_LETTERS;
	reset();
	console_line(OTHER, ABOUT_MANAGER, said, sizeof(said) - 1);
	const char *text = "\x01[manager 2] cluster 0 is gone: ??????????";
	const size_t length = strlen(text);
	CHECK(shown_size == length + SEAL_SIZE + 1 && !memcmp(shown, text, length));
	CHECK(strspn(shown + length, SEAL_LETTERS) == SEAL_SIZE && shown[shown_size - 1] == '\n');
	reset();
	console_line(OWN, CHATTY, said, sizeof(said) - 1);
	CHECK(!memcmp(shown, "[chatty] cluster 0 is gone: ??????????\n", shown_size));
}

int main(void)
{
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	root->cluster = tested_map.primary = OWN;
	tested_map.application_count = APPLICATIONS;
	tested_map.application[CHATTY].cluster = tested_map.application[QUIET].cluster = OWN;
	memcpy(tested_map.application[CHATTY].name, "chatty", 7);
	memcpy(tested_map.application[QUIET].name, "quiet", 6);
	tested_map.cluster_count = 2;
	tested_map.cluster[0].number = OWN;
	tested_map.cluster[1].number = OTHER;
	slow_port();
	takes_turns();
	newlines();
	to_remote_primary();
	to_primary();
	only_reports();
	printable();
	sealed();
	return failures != 0;
}
