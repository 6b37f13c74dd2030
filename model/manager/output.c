/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lanes of a manager's output (cluster-manager/root/output/output.c, with
 * four bytes each) between the main thread and the one that feeds the port: all
 * bytes leave, in order. The threads share a core in a manager; here they have
 * one each, so that the orders in which each writes are what is explored.
 */
#include <stdatomic.h>
#include "explore.h"
#include "root.h"

enum { BELLS = 8, FEEDER = 1, MANAGER_PRIORITY = 254 };

static const char text[] = "abcdefg";
static char left_port[sizeof(text)]; /* the feeder's own */
static unsigned left_count;
static struct explore_line line[BELLS];
static bool rung[BELLS];            /* hardware */
static _Atomic uint32_t own[2];     /* each thread's: its writes are seen before what it raises */

static void model_signal(uint64_t bell)
{
	atomic_fetch_add_explicit(&own[explore_self()], 1, memory_order_release);
	explore_raise(&line[bell]);
	rung[bell] = true;
}

static bool is_rung(void *bell) { return *(bool *)bell; }

/* A wait with a deadline is a turn of a loop that looks again. */
static void model_wait(uint64_t bell, uint64_t deadline)
{
	if (deadline) {
		explore_relax();
		return;
	}
	explore_rest(&line[bell], is_rung, &rung[bell]);
	rung[bell] = false;
}

#define notification_signal(bell) model_signal(bell)
#define notification_wait(bell, deadline, taken) model_wait(bell, deadline)
#define tcb_schedule(...) ((void)0)
#define debug_put(slot, byte) ((void)(byte))
#include "manager-output.h"

int memory_object(enum skerry_object type, unsigned size_bits)
{
	static int made;
	(void)type, (void)size_bits;
	return ++made;
}
int thread_make(const char *name, void (*entry)(void), char *top, unsigned priority)
{
	EXPLORE_CHECK(entry == output_main, "another thread than the feeder");
	return (void)name, (void)top, (void)priority, BELLS;
}
_Noreturn void manager_panic(const char *format, ...) { explore_fail("the manager panics: %s", format); }
const struct root_info *root_of_self(void) { return 0; }
int bell_signal(uint64_t doorbell) { return (void)doorbell, 0; }
int bell_listen(void) { return 0; }
void sign_pass(void) {}

bool serial_ready(uint16_t base) { return base != 0; }
void serial_drain(uint16_t base) { (void)base; }
void serial_put(uint16_t base, char byte)
{
	EXPLORE_CHECK(base && left_count < sizeof(text) - 1 && byte == text[left_count],
	              "byte %u that leaves is '%c'", left_count, byte);
	left_port[left_count++] = byte;
}

static void set_up(void)
{
	explore_name(lanes, sizeof(lanes), "lanes");
	explore_name(line, sizeof(line), "notifications");
	explore_hardware(rung, sizeof(rung));
}

static void begin(void)
{
	output_init(1, 2);
	output_start(BELLS - 1, always, nothing);
}

/* More than a lane holds: the main thread fills it, waits for room and goes round. */
static void put(unsigned self)
{
	if (self == FEEDER)
		output_main();
	output_put(OUTPUT_CONSOLE, text, LANE_SIZE);
	while (output_room() < sizeof(text) - 1 - LANE_SIZE)
		explore_relax();
	output_put(OUTPUT_CONSOLE, text + LANE_SIZE, sizeof(text) - 1 - LANE_SIZE);
}

static void end(void)
{
	EXPLORE_CHECK(left_count == sizeof(text) - 1 && !output_waiting(), "%u bytes have left", left_count);
}

static const struct explore_case cases[] = {
	{ .name = "more than a lane", .threads = 2, .set_up = set_up, .begin = begin, .thread = put, .end = end },
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
