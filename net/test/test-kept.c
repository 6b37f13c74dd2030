/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sent data that the ring of a cable keeps, with a far end that speaks TCP by hand: it does not acknowledge, writes the
 * buffers, closes its window, opens it by a part, also where the end waits behind the data, answers late, acknowledges
 * a part, all behind a closed window, asks for a segment again, changes its options, and ends while the data is under
 * way through the switch.
 */
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include "../port_end.h"
#include "lab/lab.h"
#include "test.h"

enum { STACK, FAR, SERVICE = 6379, PEER = 5000, SIZE = 1000, WINDOW = 8192, PART = 300, SECONDS = 20 };
/* <netinet/in.h> has names of ethernet.h for other things */
enum { TYPE = 12, IP = 14, PROTOCOL = 23, FROM = 26, TO = 30, TCP = 34, DATA = 54, ARP_FRAME = 42, ARP_SENDER = 22,
       ARP_TARGET = 32 };
enum { FIN = 1, SYN = 2, ACK = 16 };

static struct port_end far;             /* of the cable; the same program's port is a station of the lab */
static struct file *listener, *file;
static uint32_t sequence = 1, acknowledged; /* the next numbers of both directions */
static unsigned peer = PEER;                /* the far end's port */
static uint8_t got[PORT_FRAME_MAX];

static unsigned load16(const uint8_t *p) { return (unsigned)p[0] << 8 | p[1]; }
static uint32_t load32(const uint8_t *p) { return (uint32_t)load16(p) << 16 | load16(p + 2); }

static void store16(uint8_t *p, unsigned value)
{
	p[0] = (uint8_t)(value >> 8);
	p[1] = (uint8_t)value;
}

static void store32(uint8_t *p, uint32_t value)
{
	store16(p, value >> 16);
	store16(p + 2, value & 0xffff);
}

static const uint8_t MSS[4] = { 2, 4, 1460 >> 8, 1460 & 255 }, SMALL_MSS[4] = { 2, 4, 700 >> 8, 700 & 255 },
SCALE[4] = { 1, 3, 3, 7 };

static void send_with(unsigned flags, unsigned window, const uint8_t *option)
{
	const unsigned options = option ? 4 : 0;
	const uint32_t from = address_of(FAR), to = address_of(STACK);
	uint8_t *frame = port_reserve(&far);

	CHECK(frame);
	memset(frame, 0, DATA + options);
	memcpy(frame, (const uint8_t[]){ 2, 0, 0, 0, 0, STACK, 2, 0, 0, 0, 0, FAR, 8, 0, 0x45 }, 15);
	store16(frame + IP + 2, DATA - IP + options);
	frame[IP + 8] = 64;
	frame[PROTOCOL] = IPPROTO_TCP;
	memcpy(frame + FROM, &from, 4);
	memcpy(frame + TO, &to, 4);
	store16(frame + TCP, peer);
	store16(frame + TCP + 2, SERVICE);
	store32(frame + TCP + 4, sequence);
	store32(frame + TCP + 8, acknowledged);
	frame[TCP + 12] = (uint8_t)((20 + options) << 2);
	frame[TCP + 13] = (uint8_t)flags;
	store16(frame + TCP + 14, window);
	if (option)
		memcpy(frame + DATA, option, options);
	port_publish(&far, DATA + options);
	sequence += !!(flags & (SYN | FIN));
}

static void send_segment(unsigned flags, unsigned window) { send_with(flags, window, flags & SYN ? MSS : NULL); }

static void run(void)
{
	net_poll();
	if (far.own)
		port_poll(&far);
	lab_pass(1);
}

/* The bytes of data of the next segment that has some, or is a SYN; it is in `got`. Returns where it was. */
static uint8_t *take(struct port_end *end, unsigned *size)
{
	for (uint64_t late = in_ms(SECONDS * 1000);; run()) {
		uint32_t length;
		uint8_t *frame = port_peek(end, &length);

		CHECK(lab.now < late);
		if (!frame)
			continue;
		memcpy(got, frame, length);
		port_release(end);
		*size = 0;
		if (load16(got + TYPE) != 0x800 || got[PROTOCOL] != IPPROTO_TCP)
			continue;
		*size = load16(got + IP + 2) - 20u - (unsigned)(got[TCP + 12] >> 4) * 4;
		if (*size || got[TCP + 13] & SYN)
			return frame;
	}
}

static uint8_t byte_of(unsigned text, unsigned at) { return (uint8_t)('a' + (text * 7 + at) % 26); }

static void write_text(unsigned text)
{
	char bytes[SIZE];

	for (unsigned i = 0; i < SIZE; i++)
		bytes[i] = (char)byte_of(text, i);
	CHECK(file->ops->write(file, bytes, SIZE) == SIZE);
}

/* The next segment is this part of a text, or what the far end wrote where that stood. Returns where it was. */
static uint8_t *expect(struct port_end *end, unsigned text, unsigned from, unsigned size, bool written)
{
	unsigned has;
	uint8_t *frame = take(end, &has);

	CHECK(has == size && load32(got + TCP + 4) == acknowledged + from);
	for (unsigned i = 0; i < size; i++)
		CHECK(got[DATA + i] == byte_of(text, from + i) || (written && got[DATA + i] == '!'));
	return frame;
}

static void start_listener(void)
{
	listener = listen_at(SERVICE, 5);
	for (unsigned i = 0; i < 20 || !far.up || !lab.station[FAR].up; i++)
		run();
}

static void connect_far(void)
{
	unsigned size;

	send_segment(SYN, WINDOW);
	sequence--;
	send_with(SYN, WINDOW, SCALE); /* once more, with an option that the first has not */
	for (unsigned i = 0; i < 2; i++)
		take(&far, &size);
	acknowledged = load32(got + TCP + 4) + 1;
	send_segment(ACK, WINDOW);
	while (!(listener->ready & EPOLLIN))
		run();
	CHECK(listener->ops->accept(listener, &file, NULL, NULL) == 0);
}

/* The far end writes what it has taken, and gets that again. */
static void sent_again(void)
{
	uint8_t *frame;

	write_text(0);
	frame = expect(&far, 0, 0, SIZE, false);
	memset(frame + DATA, '!', PORT_BUFFER - DATA);
	expect(&far, 0, 0, SIZE, true);
	acknowledged += SIZE;
}

/* One byte of what waits, then a part of it, then the rest: all by lwIP's timers. The end, if there is one, is behind
 * the last byte. */
static void closed_window(bool ends)
{
	send_segment(ACK, 0);
	for (unsigned i = 0; i < 10; i++)
		run();
	write_text(1);
	if (ends)
		CHECK(file->ops->shutdown(file, SHUT_WR) == 0);
	expect(&far, 1, 0, 1, false);
	CHECK(!(got[TCP + 13] & FIN));
	send_segment(ACK, PART);
	expect(&far, 1, 0, PART, false);
	CHECK(!(got[TCP + 13] & FIN));
	acknowledged += PART;
	send_segment(ACK, WINDOW);
	acknowledged -= PART;
	expect(&far, 1, PART, SIZE - PART, false);
	CHECK(!(got[TCP + 13] & FIN) == !ends);
	acknowledged += SIZE + ends;
	send_segment(ACK, WINDOW);
	for (unsigned i = 0; i < 10; i++)
		run();
}

/* The far end has sent its end, and answers the stack's last data late. The program has shut the connection and holds
 * it. */
static void late_answer(void)
{
	write_text(0);
	send_segment(FIN | ACK, WINDOW);
	for (unsigned i = 0; i < 10; i++)
		run();
	CHECK(file->ops->shutdown(file, SHUT_WR) == 0);
	for (unsigned i = 0; i < 3; i++)
		expect(&far, 0, 0, SIZE, false);
	acknowledged += SIZE + 1;
	send_segment(ACK, WINDOW);
	file->ops->close(file);
}

/* A segment that waits to be sent again, since the window has closed, gets more data, and is acknowledged as it was
 * before, with room for a part of the rest. */
static void acknowledged_in_part(void)
{
	enum { FIRST = 1460, SECOND = 500, MORE = 300, ROOM = 100 };
	static const char bytes[FIRST + SECOND];
	unsigned size;

	CHECK(file->ops->write(file, bytes, FIRST + SECOND) == FIRST + SECOND);
	for (unsigned i = 0; i < 2; i++) {
		take(&far, &size);
		CHECK(size == (i == 1 ? SECOND : FIRST));
	}
	acknowledged++;
	send_segment(ACK, 0); /* both wait behind the window, which lwIP asks for a byte */
	take(&far, &size);
	CHECK(size == 1);
	acknowledged--;
	CHECK(file->ops->write(file, bytes, MORE) == MORE);
	acknowledged += FIRST + SECOND;
	send_segment(ACK, ROOM);
	take(&far, &size);
	CHECK(load32(got + TCP + 4) + size == acknowledged + ROOM);
	acknowledged += ROOM;
	send_segment(ACK, WINDOW);
	take(&far, &size);
	CHECK(load32(got + TCP + 4) == acknowledged && size == MORE - ROOM);
	acknowledged += size;
	send_segment(ACK, WINDOW);
}

/* All that waits for a closed window is acknowledged: nothing is asked for then, and soon again for what is written
 * next. */
static void acknowledged_behind_window(void)
{
	enum { FIRST = 1460, SECOND = 500 };
	static const char bytes[FIRST + SECOND];
	unsigned size;

	CHECK(file->ops->write(file, bytes, FIRST + SECOND) == FIRST + SECOND);
	take(&far, &size);
	acknowledged += size;
	send_segment(ACK, 0);
	take(&far, &size);
	CHECK(size == SECOND);
	take(&far, &size); /* the timer has taken that back */
	CHECK(size == 1);
	acknowledged += SECOND;
	send_segment(ACK, 0);
	for (uint64_t late = in_ms(1200); lab.now < late;)
		run();
	write_text(0);
	expect(&far, 0, 0, 1, false);
	send_segment(ACK, WINDOW);
	expect(&far, 0, 0, SIZE, false);
	acknowledged += SIZE;
	send_segment(ACK, WINDOW);
}

/*
 * The window closes within a segment, and duplicate acknowledgements ask for it. When the window opens, it comes before
 * what is behind it; what is written meanwhile does not go with it, nor does the end.
 */
static void asked_for_again(unsigned more, bool ends)
{
	enum { FIRST = 700, SECOND = 1460, MORE = 300, TAKEN = 100 };
	const uint32_t start = acknowledged, all = FIRST + SECOND + more;
	static char bytes[FIRST + SECOND + MORE];
	unsigned size;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)byte_of(3, i);
	CHECK(file->ops->write(file, bytes, FIRST) == FIRST);
	take(&far, &size);
	CHECK(file->ops->write(file, bytes + FIRST, SECOND) == SECOND);
	take(&far, &size);
	acknowledged += TAKEN;
	for (unsigned i = 0; i < 5; i++)
		send_segment(ACK, 0);
	net_poll(); /* and no timer before what follows */
	if (ends)
		CHECK(file->ops->shutdown(file, SHUT_WR) == 0);
	if (more)
		CHECK(file->ops->write(file, bytes + FIRST + SECOND, more) == (ssize_t)more);
	for (uint64_t late = in_ms(3000); lab.now < late;)
		run();
	send_segment(ACK, WINDOW);
	while (acknowledged - start < all) {
		take(&far, &size);
		const uint32_t at = load32(got + TCP + 4) - start;

		CHECK(at + size <= all && (at + size == all || !(got[TCP + 13] & FIN)));
		for (unsigned i = 0; i < size; i++)
			CHECK(got[DATA + i] == byte_of(3, at + i));
		if (acknowledged - start - at >= size)
			continue;
		acknowledged = start + at + size;
		send_segment(ACK, WINDOW);
	}
}

/* Options that come when the connection is open change nothing: segments are as long as before, and windows not
 * scaled. */
static void late_option(void)
{
	unsigned size;

	write_text(0);
	expect(&far, 0, 0, SIZE, false);
	CHECK(load16(got + TCP + 14) == 65535);
	acknowledged += SIZE;
	send_segment(ACK, 0);
	for (unsigned i = 0; i < 10; i++)
		run();
	write_text(1);
	send_with(ACK, 0, SMALL_MSS);
	for (unsigned i = 0; i < 10; i++)
		run();
	write_text(2);
	send_segment(ACK, WINDOW);
	take(&far, &size);
	CHECK(size == 1460);
	take(&far, &size);
	CHECK(size == 2 * SIZE - 1460);
	acknowledged += 2 * SIZE;
	send_segment(ACK, WINDOW);
}

/* ARP's answer for the far end's address, through the switch. */
static void answer_arp(void)
{
	uint8_t *frame = port_reserve(&lab.station[FAR]);
	const uint32_t from = address_of(FAR), to = address_of(STACK);

	CHECK(frame);
	memset(frame, 0, ARP_FRAME);
	memcpy(frame, (const uint8_t[]){ 2, 0, 0, 0, 0, STACK, 2, 0, 0, 0, 0, FAR, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2, 2, 0,
	                                 0, 0, 0, FAR }, 28);
	memcpy(frame + ARP_SENDER + 6, &from, 4);
	memcpy(frame + ARP_TARGET, (const uint8_t[]){ 2, 0, 0, 0, 0, STACK }, 6);
	memcpy(frame + ARP_TARGET + 6, &to, 4);
	port_publish(&lab.station[FAR], ARP_FRAME);
}

/* The far end has sent its end and is no more; a successor writes the ring before the data leaves through the
 * switch. */
static void ended(void)
{
	write_text(2);
	expect(&far, 2, 0, SIZE, false);
	send_segment(FIN | ACK, WINDOW);
	for (unsigned i = 0; i < 10; i++)
		run();
	far.own = 0; /* no more */
	port_close((struct port_epochs *)(lab.cable[0] + PORT_EPOCHS), PORT_FROM_SWITCH);
	for (unsigned i = 0; i < 10; i++)
		run();
	memset(lab.cable[0] + PORT_BUFFERS, '!', 2 * CABLE_SLOTS * PORT_BUFFER);
	answer_arp();
	expect(&lab.station[FAR], 2, 0, SIZE, false);
}

int main(int count, char **arguments)
{
	lab_begin(count, arguments);
	lab_cable(STACK, FAR);
	lab_start(2);
	here = life_start(STACK);
	station_start(FAR);
	far = cable_open(lab.cable[0], PORT_FROM_SWITCH, 2);
	start_listener();
	connect_far();
	write_text(0);
	expect(&far, 0, 0, SIZE, false);
	acknowledged += SIZE; /* told with the closed window */
	closed_window(true);
	file->ops->close(file);
	peer++;
	connect_far();
	late_answer();
	peer++;
	connect_far();
	acknowledged_in_part();
	acknowledged_behind_window();
	asked_for_again(0, false);
	asked_for_again(300, false);
	late_option();
	asked_for_again(0, true);
	file->ops->close(file);
	peer++;
	connect_far();
	sent_again();
	closed_window(false);
	ended();
	return 0;
}
