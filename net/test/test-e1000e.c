/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver of the 82574L against a model of the card: traffic, wake-ups, the link, resets, and a card that lies. */
#include <string.h>
#include "test.h"
#include "e1000e-model.h"
#include "../driver/pci.h"
#include "../e1000e/card.h"
#include "../port_end.h"

#define WHOLE (E1000E_DONE | E1000E_LAST)

static struct card card;

static const char *start(void)
{
	memset(&card, 0, sizeof(card));
	return card_start(&card, &model_info);
}

static void started(void)
{
	model_init(false);
	CHECK(!start());
}

static void test_start(void)
{
	uint32_t bar, rctl = RCTL_ENABLE | RCTL_UNICAST_ALL | RCTL_MULTICAST_ALL;
	const uint32_t *msix = model_msix();
	struct card_frame frame;

	model_init(true); /* from D3 */
	CHECK(!start());
	CHECK(model.resets == 1 && model.mask == 0 && !model.said);
	memcpy(&bar, model_config() + PCI_BAR, 4);
	CHECK(bar == 0xfebc0000u);
	CHECK((model_config()[PCI_COMMAND] & (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER)) ==
	      (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER));
	CHECK(msix[0] == 0xfee00000 && msix[1] == 1 && msix[2] == 0x41 && msix[3] == 0);
	CHECK((model.reg[REGISTER_RCTL / 4] & rctl) == rctl);
	CHECK(model.reg[REGISTER_RDH / 4] == 0 && model.reg[REGISTER_RDT / 4] == E1000E_SLOTS - 1);
	CHECK(model.reg[REGISTER_IVAR / 4] == 0x80808 && model.reg[REGISTER_EITR / 4]);
	CHECK(model.reg[REGISTER_CTRL / 4] & CTRL_SET_LINK_UP && !(model.reg[REGISTER_CTRL / 4] & CTRL_MASTER_DISABLE));
	CHECK(!card_peek(&card, &frame));
}

static void refused(const char *expected)
{
	const char *wrong = start();

	CHECK(wrong && strstr(wrong, expected));
}

static void test_refused(void)
{
	model_init(false);
	model_info.device.dma_size = E1000E_MEMORY - 4096;
	refused("too little memory");
	model_init(false);
	model_info.device.bar_size[0] = REGISTERS_SIZE - 1;
	refused("registers are not mapped");
	model_init(false);
	model_info.device.bar_vaddr[3] = 0;
	refused("no MSI-X");
	model_init(false);
	model.gone = true;
	refused("does not answer");
	model_init(false);
	model.stuck = true;
	refused("does not end its reset");
	model_init(false);
	model.unread = true;
	refused("does not end its reset");
}

/* --- traffic --- */

static void fill(uint8_t *frame, uint32_t size, unsigned number)
{
	for (uint32_t i = 0; i < size; i++)
		frame[i] = (uint8_t)(number * 31 + i * 7);
}

static uint32_t size_of(unsigned number)
{
	return ETHERNET_HEADER + number * 97 % (PORT_FRAME_MAX - ETHERNET_HEADER + 1);
}

static bool send_one(unsigned number, bool arm)
{
	uint8_t *buffer;

	if (!card_has_room(&card, arm))
		return false;
	buffer = card_reserve(&card);
	memset(buffer, 0xa5, E1000E_SHORTEST); /* what another frame has left there */
	fill(buffer, size_of(number), number);
	card_send(&card, buffer, size_of(number));
	card_flush(&card);
	return true;
}

static void check_sent(unsigned number)
{
	uint8_t expected[PORT_FRAME_MAX] = { 0 };
	uint32_t size = size_of(number);

	fill(expected, size, number);
	CHECK(model.frame_size == (size < E1000E_SHORTEST ? E1000E_SHORTEST : size));
	CHECK(!memcmp(model.frame, expected, model.frame_size)); /* and zeros behind a short one */
}

static void test_transmit(void)
{
	started();
	for (unsigned number = 0; number < 3000; number++) {
		CHECK(send_one(number, false));
		CHECK(model.sent == number + 1);
		check_sent(number);
	}
	/* a card that sends nothing takes as many as its queue has, and interrupts when there is room again */
	model.hold = true;
	model.interrupts = 0;
	for (unsigned i = 0; i < E1000E_SLOTS - 1; i++)
		CHECK(send_one(i, true));
	CHECK(!send_one(0, false) && !model.mask);
	card_arm(&card); /* as the loop does; old causes are cleared */
	CHECK(!send_one(0, true) && model.mask & CAUSE_TRANSMIT && !model.interrupts);
	model_send();
	CHECK(model.interrupts == 1 && send_one(0, true));
}

/* Take a frame and compare it. */
static void take(unsigned number)
{
	uint8_t expected[PORT_FRAME_MAX];
	struct card_frame frame;

	CHECK(card_peek(&card, &frame) && card_peek(&card, &frame)); /* it stays until it is released */
	fill(expected, size_of(number), number);
	CHECK(frame.size == size_of(number) && !memcmp(frame.data, expected, frame.size));
	card_release(&card, &frame);
	card_refill(&card);
}

static void test_receive(void)
{
	unsigned come = 0, taken = 0;
	uint8_t data[PORT_FRAME_MAX];
	struct card_frame frame;

	started();
	srand(14);
	while (taken < 20000) {
		for (int burst = rand() % 400; burst > 0; burst--) {
			fill(data, size_of(come), come);
			come += model_receive(data, size_of(come), WHOLE);
			CHECK(come - taken <= E1000E_SLOTS - 1);
		}
		for (int burst = rand() % 400; burst > 0 && taken != come; burst--)
			take(taken++);
	}
	CHECK(model.missed); /* it came to that, and nothing else was lost */
	CHECK(model.tails < taken / 8); /* the card is told of many buffers at once */
	while (taken != come)
		take(taken++);
	CHECK(!card_peek(&card, &frame));
}

/* One frame with this status; its size as the loop sees it. */
static uint32_t seen_with(uint64_t status)
{
	static const uint8_t data[1500];
	struct card_frame frame;

	CHECK(model_receive(data, sizeof(data), status) && card_peek(&card, &frame));
	card_release(&card, &frame);
	return frame.size;
}

static void test_parts_and_errors(void)
{
	started();
	CHECK(seen_with(WHOLE) == 1500);
	for (unsigned bit = 40; bit < 48; bit++)
		CHECK(seen_with(WHOLE | 1ull << bit) == (E1000E_ERRORS >> bit & 1 ? 0 : 1500));
	CHECK(seen_with(E1000E_DONE) == 0); /* a frame of three buffers, none of which is one */
	CHECK(seen_with(E1000E_DONE) == 0);
	CHECK(seen_with(WHOLE) == 0);
	CHECK(seen_with(WHOLE) == 1500);
}

/* --- wake-ups --- */

/* However writes are late and frames come: a driver that has armed and seen nothing is woken. */
static void test_wake_ups(void)
{
	static const uint8_t data[60];
	struct card_frame frame;
	unsigned slept = 0;

	started();
	srand(15);
	for (int turn = 0; turn < 20000; turn++) {
		bool comes = rand() % 4;

		model.late = true;
		if (rand() % 2)
			model_receive(data, sizeof(data), WHOLE);
		while (card_peek(&card, &frame)) {
			card_release(&card, &frame);
			card_refill(&card);
			if (rand() % 2)
				model_receive(data, sizeof(data), WHOLE);
		}
		card_arm(&card);
		if (rand() % 8 == 0)
			model_receive(data, sizeof(data), WHOLE);
		if (card_peek(&card, &frame))
			continue;
		slept++;
		model.interrupts = 0;
		for (int step = rand() % 4; step > 0; step--)
			model_arrive(1);
		if (comes)
			CHECK(model_receive(data, sizeof(data), WHOLE));
		model_arrive(MODEL_POSTED);
		CHECK(model.interrupts == comes); /* nor for nothing */
		CHECK(card_peek(&card, &frame) == comes);
	}
	CHECK(slept > 5000);
}

/* --- link, resets --- */

static void test_link(void)
{
	static const uint8_t data[60];

	started();
	card_arm(&card);
	CHECK(!model.said);
	model.hold = true;
	while (send_one(1, false))
		;
	model.interrupts = 0;
	model_set_link(false);
	CHECK(model.interrupts == 1);
	card_arm(&card);
	CHECK(model.said == 1 && strstr(model.last_said, "down"));
	for (unsigned i = 0; i < 2 * E1000E_SLOTS; i++)
		CHECK(send_one(i, true)); /* dropped: nothing waits for a cable */
	card_arm(&card);
	CHECK(model.said == 1); /* said once */
	model_set_link(true);
	CHECK(model.interrupts == 2);
	card_arm(&card);
	CHECK(model.said == 2 && strstr(model.last_said, "up"));
	CHECK(!send_one(1, false)); /* the queue is still full */
	model.hold = false;
	model_send();
	CHECK(model.sent == E1000E_SLOTS - 1 && send_one(7, false));
	check_sent(7);
	model.interrupts = 0;
	CHECK(model_receive(data, sizeof(data), WHOLE) && model.interrupts == 1);
}

static void test_reset_underneath(void)
{
	unsigned number = 5;
	uint8_t data[PORT_FRAME_MAX];

	started();
	model_reset();
	model.link = false;
	card_arm(&card);
	CHECK(model.resets == 3 && strstr(model.last_said, "was reset"));
	model_set_link(true);
	card_arm(&card);
	model.interrupts = 0;
	fill(data, size_of(number), number);
	CHECK(model_receive(data, size_of(number), WHOLE) && model.interrupts == 1);
	take(number);
	CHECK(send_one(number, false));
	check_sent(number);
}

static void test_gone(void)
{
	jmp_buf failure;

	started();
	model.failure = &failure;
	if (!setjmp(failure)) {
		model.gone = true;
		card_arm(&card);
		CHECK(false);
	}
	CHECK(strstr(model.last_said, "does not answer any more"));
}

/* --- a card that lies --- */

static void test_hostile(void)
{
	jmp_buf failure;

	srand(16);
	for (volatile int life = 0; life < 60; life++) {
		started();
		model.failure = &failure;
		model.hostile = true;
		if (setjmp(failure))
			continue; /* the driver has given up */
		for (int turn = 0; turn < 100; turn++) {
			struct card_frame frame;

			model_scribble(&card.e);
			for (int n = 0; n < 64 && card_peek(&card, &frame); n++) {
				uint64_t offset = (uint64_t)(uintptr_t)frame.data - PROCESS_DMA_VADDR;

				CHECK(offset <= E1000E_MEMORY - E1000E_BUFFER && frame.size <= 0xffff);
				card_release(&card, &frame);
				card_refill(&card);
			}
			for (unsigned n = 0; n < 64 && send_one((unsigned)rand() % 5000, rand() % 2); n++)
				;
			card_arm(&card);
			CHECK(card.e.transmit.given - card.e.transmit.taken < E1000E_SLOTS);
		}
	}
}

int main(void)
{
	test_start();
	test_refused();
	test_transmit();
	test_receive();
	test_parts_and_errors();
	test_wake_ups();
	test_link();
	test_reset_underneath();
	test_gone();
	test_hostile();
	return 0;
}
