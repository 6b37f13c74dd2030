/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop of the network drivers and bell words, with a card that is as small as can be: the driver says that it
 * sleeps before it looks for the last time, and that it is awake before it looks again, and wakes the switch once for
 * each of the switch's sleeps; a switch in another cluster by the ring's flag, without a look at its word.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../driver/checksum.h"
#include "../../port_end.h"
#include "../../program/program.h"
#include "../test.h"

enum { LENGTH = 60, SIZE = 2 * BELL_SIZE };

static struct port_end far; /* the switch's */
static bool remote;
static unsigned signals, sent;

static struct bell *own(void) { return bell_at(PROCESS_BELL_OWN); }

static int count_signal(uint64_t slot)
{
	CHECK(slot == PROCESS_SLOT_PEER);
	signals++;
	return 0;
}

static void sleep_of_driver(void);

#define notification_signal count_signal
#define program_wait sleep_of_driver

/* --- the card --- */

struct card {
	bool armed;
	unsigned frames; /* received */
};

#include CARD_HEADER

static struct card *of_driver;
static uint8_t frame_of_card[PORT_FRAME_MAX];

static const char *card_start(struct card *card, const struct process_info *info)
{
	(void)info;
	of_driver = card;
	return NULL;
}

/* The driver looks for frames: as one that is about to sleep, or one that is awake. */
static void look(const struct card *card) { CHECK((own()->sleeps & 1) == card->armed); }

static bool card_peek(struct card *card, struct card_frame *frame)
{
	look(card);
	*frame = (struct card_frame){ .data = frame_of_card, .size = LENGTH, .summed = true };
	return card->frames;
}

static bool card_has_room(struct card *card, bool arm)
{
	CHECK(arm == card->armed);
	look(card);
	return true;
}

static void card_release(struct card *card, const struct card_frame *frame)
{
	(void)frame;
	card->frames--;
}

static void card_send(struct card *card, uint8_t *buffer, uint32_t size)
{
	(void)card, (void)buffer;
	sent += size == LENGTH;
}

static uint8_t *card_reserve(struct card *card)
{
	(void)card;
	return frame_of_card;
}

static void card_refill(struct card *card) { look(card); }
static void card_flush(struct card *card) { look(card); }
static void card_arm(struct card *card) { card->armed = true; }
static void card_disarm(struct card *card) { card->armed = false; }

/* --- the switch: what it does while the driver sleeps --- */

static void is_asleep(bool asleep)
{
	if (!remote)
		(asleep ? bell_arm : bell_awake)(bell_at(PROCESS_BELL_PORT));
	else if (asleep)
		ring_arm(&far.receive);
}

static void has_received(unsigned with_signals)
{
	uint32_t length;

	CHECK(port_peek(&far, &length) && length == LENGTH && signals == with_signals);
	port_release(&far);
}

static void first(void)
{
	is_asleep(true);
	of_driver->frames = 1;
}

static void one_more(void) /* it has been signalled already */
{
	has_received(1);
	of_driver->frames = 1;
}

static void awake(void)
{
	has_received(0);
	is_asleep(false);
	of_driver->frames = 1;
}

static void asleep_again(void)
{
	has_received(0);
	first();
}

static void to_driver(void)
{
	has_received(1);
	CHECK(port_reserve(&far));
	memset(port_reserve(&far), 0, LENGTH);
	port_publish(&far, LENGTH);
	CHECK(port_rings(&far) && !port_rings(&far));
}

static void last(void)
{
	CHECK(sent == 1 && !signals);
	exit(0);
}

static void sleep_of_driver(void)
{
	static void (*const steps[])(void) = { first, one_more, awake, asleep_again, to_driver, last };
	static unsigned step, meeting;

	look(of_driver);
	CHECK(of_driver->armed);
	port_poll(&far);
	if (far.up)
		steps[step++]();
	else
		CHECK(meeting++ < 4);
	signals = 0;
}

#include "driver/main.c"

void program_say(const char *text, uint64_t number) { fprintf(stderr, "%s %lu\n", text, number); }

_Noreturn void program_fail(const char *text, uint64_t number)
{
	program_say(text, number);
	exit(1);
}

static void *map(uint64_t address, size_t size)
{
	void *memory = mmap((void *)address, size, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(memory == (void *)address);
	return memory;
}

static void run(bool in_another_cluster)
{
	const struct process_info info = { .device.present = 1,
	                                   .network = { .present = 1, .remote = in_another_cluster }, .life = 2 };
	int status;

	remote = in_another_cluster;
	if (!fork()) {
		map(PROCESS_BELLS_VADDR, SIZE);
		if (remote)
			CHECK(!mprotect(bell_at(PROCESS_BELL_PORT), BELL_SIZE, PROT_NONE));
		far = port_open(map(PROCESS_PORT_VADDR, PORT_SIZE), PORT_FROM_SWITCH, 4);
		far.bell = remote ? NULL : own();
		program_main(&info);
	}
	CHECK(wait(&status) >= 0 && !status);
}

int main(void)
{
	run(false);
	run(true);
	return 0;
}
