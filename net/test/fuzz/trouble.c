/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "../../lwip/link.h"
#include "fuzz.h"

enum { LATE_FRAMES = 16, IP_AT = 14, OFFSET_AT = 46, FLAGS_AT = 47, WINDOW_AT = 48, DATA_AT = 54, SYN_FLAG = 2,
       TO_STATION = 5, FROM_STATION = 11 };
enum { LOST = 3 /* a length that no frame has */ };

/* Frames that were sent, and are still to come: once more, or only now. */
static struct {
	uint8_t frame[LATE_FRAMES][PORT_FRAME_MAX];
	uint32_t length[LATE_FRAMES]; /* 0: none */
} late;

void trouble_start(void) { run.data = run.words = run.starving = NONE; }

static void keep(const uint8_t *frame, uint32_t length)
{
	const unsigned place = draw(LATE_FRAMES);

	if (length > PORT_FRAME_MAX || length <= FROM_STATION || frame[0] != 2 || frame[TO_STATION] >= STACKS ||
	    frame[FROM_STATION] >= STACKS)
		return;
	memcpy(late.frame[place], frame, length);
	late.length[place] = length;
}

void trouble_keep(const uint8_t *frame, uint32_t length)
{
	if (run.modes & LATE && once_in(50))
		keep(frame, length);
}

/* By way of the switch, which passes frames on in the name of another. */
static void bring(void)
{
	const unsigned place = draw(LATE_FRAMES);
	const uint8_t *frame = late.frame[place];

	if (!late.length[place])
		return;
	if (forward_make(&lab.forward, frame[FROM_STATION], frame, late.length[place], lab.now, false))
		run.totals.late++;
	lab.switch_awake = true;
	if (draw(4))
		late.length[place] = 0;
}

/* One of the frames that the far end has not taken yet. */
static void lose_from(const struct port_end *out, const struct port_end *in)
{
	const uint64_t position = out->transmit.position, taken = in->receive.position, slots = port_slots(out);
	struct port_descriptor *descriptor;
	uint64_t at;

	if (!out->up || position == taken || position - taken > slots)
		return;
	at = (draw(3) ? taken + draw((uint32_t)(position - taken)) : position - 1) & out->transmit.mask;
	descriptor = (void *)out->transmit.ring->slot[at].payload;
	if (run.modes & LATE && (!(run.modes & LOSS) || draw(2)))
		keep((const uint8_t *)out->sent + at * PORT_BUFFER, descriptor->length);
	descriptor->length = LOST;
	run.totals.lost++;
}

static void lose(void)
{
	const unsigned cable = draw(CABLES), side = draw(2), stack = lab.cable_end[cable][side];
	const struct link *from = link_of_cable(cable, side), *to = link_of_cable(cable, !side);
	const struct port_end *at_switch = &lab.forward.port[stack].end;

	if (draw(2)) {
		if (from && to)
			lose_from(&from->port, &to->port);
	} else if (from) {
		const struct port_end *port = &lab.life[stack].calls->link(0)->port;

		if (draw(2))
			lose_from(port, at_switch);
		else
			lose_from(at_switch, port);
	}
}

/* The data of what was sent to this end, and is perhaps not acknowledged yet. */
static void write_data(void)
{
	const enum port_direction in = run.data_side ? PORT_TO_SWITCH : PORT_FROM_SWITCH;

	for (unsigned i = 0; i < CABLE_SLOTS; i++) {
		uint8_t *frame = port_buffer(lab.cable[run.data], in, CABLE_SLOTS, i);
		uint32_t from = DATA_AT, size = PORT_BUFFER - DATA_AT;

		if (draw(4))
			continue;
		if (draw(3)) {
			from += draw(MTU - 20);
			size = 1 + draw(PORT_BUFFER - from);
		}
		if (!(frame[FLAGS_AT] & SYN_FLAG)) /* a SYN has options there */
			memset(frame + from, WRITTEN, size);
	}
}

/* Any number without a byte STALE, small ones often. */
static uint32_t any_number(void)
{
	uint32_t number = draw(3) ? draw(UINT32_MAX) : draw(2000);

	for (unsigned bit = 0; bit < 32; bit += 8)
		if ((number >> bit & 255) == STALE)
			number ^= 1u << bit;
	return number;
}

static void write_epochs(char *cable)
{
	struct port_side *side = &((struct port_epochs *)(cable + PORT_EPOCHS))->side[draw(2)];

	if (draw(4))
		return;
	if (draw(2))
		side->epoch += draw(5) - 2ull;
	else
		side->acknowledged += draw(5) - 2ull;
}

/* Changes a frame that is taken soon: another byte, or an MSS that comes late, perhaps with a closed window. */
static void write_header(char *cable)
{
	const unsigned direction = draw(2);
	struct ring *ring = port_ring(cable, direction);
	const uint64_t slot = (ring->taken + draw(4)) % CABLE_SLOTS;
	uint8_t *frame = port_buffer(cable, direction, CABLE_SLOTS, slot);
	const uint8_t mss[] = { 2, 4, (uint8_t)draw(6), (uint8_t)draw(STALE) };

	if (draw(2)) {
		frame[IP_AT + draw(DATA_AT - IP_AT)] = (uint8_t)draw(STALE);
		return;
	}
	((struct port_descriptor *)ring->slot[slot].payload)->length = DATA_AT + sizeof(mss);
	frame[IP_AT + 2] = 0;
	frame[IP_AT + 3] = DATA_AT + sizeof(mss) - IP_AT;
	frame[OFFSET_AT] = 6 << 4;
	memcpy(frame + DATA_AT, mss, sizeof(mss));
	if (draw(2))
		memset(frame + WINDOW_AT, 0, 2);
}

/* Numbers of the rings a little beside what they are, wrong lengths, and anything anywhere. */
static void write_word(char *cable)
{
	uint64_t *number = (uint64_t *)cable;
	struct ring *ring = port_ring(cable, draw(2));
	struct ring_slot *slot = &ring->slot[draw(CABLE_SLOTS)];

	switch (draw(10)) {
	case 0:
		number[draw(PORT_BUFFERS / 8) & ~7u] += draw(300) - 150ull;
		break;
	case 1:
		for (unsigned i = 0; i < 2; i++)
			number[i * PORT_RING_SIZE / 8] += draw(200) - 100ull;
		break;
	case 2:
		write_epochs(cable);
		break;
	case 3:
		slot->sequence = ring->taken + draw(64) + 1;
		break;
	case 4:
		((struct port_descriptor *)slot->payload)->length = draw(2) ? draw(1600) : any_number();
		break;
	case 5: case 6:
		write_header(cable);
		break;
	default:
		((uint32_t *)cable)[draw(CABLE_SIZE / 4)] = any_number();
	}
}

static void begin(int *cable, unsigned *side, bool words)
{
	*cable = (int)draw(CABLES);
	*side = draw(2);
	connections_loosen((unsigned)*cable, words);
}

static void end_words(void)
{
	if (run.words == NONE)
		return;
	stack_end(lab.cable_end[run.words][run.words_side]);
	run.words = NONE;
}

static void write_rings(void)
{
	if (run.modes & DATA && once_in(10000)) {
		if (run.data == NONE)
			begin(&run.data, &run.data_side, false);
		else
			run.data = NONE;
	}
	if (run.modes & WORDS && once_in(20000)) {
		if (run.words == NONE)
			begin(&run.words, &run.words_side, true);
		else
			end_words();
	}
	if (draw(10))
		return;
	if (run.data != NONE)
		write_data();
	for (unsigned i = run.words == NONE ? 0 : draw(40); i; i--)
		write_word(lab.cable[run.words]);
}

static void feed(void)
{
	if (run.starving != NONE)
		lab.life[run.starving].host.memory = FED;
	run.starving = NONE;
}

/* One stack, for so short a time that nobody gives a connection up. */
static void starve(void)
{
	if (run.starving != NONE && lab.now < run.starving_until)
		return;
	feed();
	if (draw(1000))
		return;
	run.starving = (int)draw(STACKS);
	run.starving_until = lab.now + draw(5) * 1000000000ull + draw(1000000000);
	lab.life[run.starving].host.memory = HUNGRY + draw(MEMORIES - HUNGRY);
}

void trouble(void)
{
	if (run.modes & (LOSS | LATE)) {
		if (once_in(300))
			lose();
		for (unsigned i = once_in(3000) ? draw(30) : 0; i; i--)
			lose();
	}
	if (run.modes & LATE && once_in(100))
		bring();
	if (run.modes & DEATHS && once_in(8000))
		stack_end(draw(STACKS));
	if (run.modes & HUNGER)
		starve();
	write_rings();
}

void trouble_end(void)
{
	memset(late.length, 0, sizeof(late.length));
	run.data = NONE;
	end_words();
	feed();
}
