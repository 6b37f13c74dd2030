/* SPDX-License-Identifier: BSD-2-Clause */
/* A port's program has ended: the switch tells its peers, whether or not it ever sleeps and they have room. */
#include "switch-ports.h"

/* A stack has ended: its peers are reset, those with frames in its rings at once; nobody waits for it. */
static void ended_port(void)
{
	uint32_t length;

	set_up();
	send_segment(1, 2, 1000, 6379, 100, 500, 0x18, 20); /* a request that it has read, but not answered */
	send_segment(3, 2, 2000, 6379, 100, 700, 0x18, 20); /* and one that it has */
	send_segment(3, 2, 2001, 6379, 100, 900, 0x18, 20);
	pass_until_quiet();
	send_segment(2, 3, 6379, 2000, 700, 120, 0x18, 30);
	send_segment(2, 3, 6379, 2000, 730, 120, 0x18, 30);
	pass_until_quiet();
	CHECK(received_anything() == (1u << 2 | 1u << 3));
	end(2);
	pass_until_quiet();
	take_reset(1, 2, 1000, 500);
	take_reset(3, 2, 2000, 760);
	take_reset(3, 2, 2001, 900);
	pass_until_quiet(); /* only once */
	CHECK(!received_anything());

	/* and then to each segment its answer, however many; the ended one's ring takes nothing */
	for (unsigned i = 0; i < 3 * PORT_SLOTS; i++) {
		send_segment(1, 2, 1001, 6379, i, i, 0x10, 0);
		CHECK(forward_pass(&forward, now));
		take_reset(1, 2, 1001, i);
	}
	send_segment(1, 2, 1001, 6379, 1, 1, 4, 0); /* never a reset to a reset */
	pass_until_quiet();
	CHECK(!received_anything() && !forward.deadline && !forward.behind && !forward.dropped);
	send_arp(1, table[2].ipv4, ARP_REQUEST);
	pass_until_quiet();
	CHECK(!port_peek(&stack[2], &length));
}

/* The switch never sleeps: peers of an ended port are told all the same, after the frames that it sent before. */
static void ended_while_busy(void)
{
	set_up();
	send_segment(1, 2, 1000, 6379, 100, 500, 0x18, 20);
	pass_until_quiet();
	CHECK(received_anything() == 1u << 2);
	for (unsigned i = 0; i < FORWARD_BATCH + 1; i++)
		send_segment(2, 1, 6379, 1000, 500 + i, 120, 0x18, 1);
	end(2);
	for (unsigned i = 0; i < 4; i++) {
		CHECK(send_to(3, table[UPLINK].mac, i, 60));
		CHECK(forward_pass(&forward, now));
		CHECK(take(UPLINK, NULL) == i);
	}
	for (unsigned i = 0; i < FORWARD_BATCH + 1; i++)
		CHECK(take(1, NULL) != -1);
	take_reset(1, 2, 1000, 500 + FORWARD_BATCH + 1);
	CHECK(!received_anything());
}

/* Port 1 takes nothing: its ring is full, and the share of the backlog that port 2 has in it. */
static unsigned fill_peer(void)
{
	unsigned sent = 0;

	for (unsigned quiet = 0; quiet < 2; quiet = forward_pass(&forward, now) ? 0 : quiet + 1)
		while (send_to(2, table[1].mac, sent, 60) &&
		       send_to(2, table[UPLINK].mac, sent, 60)) { /* one for another behind each */
			sent++;
			received_anything_at(UPLINK);
		}
	return sent;
}

/* A peer without room for its reset is told when it has room; those of other ports need not wait for it. */
static void ended_peer_is_full(void)
{
	unsigned resets = 0;
	uint32_t length;

	set_up();
	table[UPLINK].ipv4 = 0x08080808; /* a host outside */
	send_segment(1, 2, 1000, 6379, 100, 500, 0x18, 20);
	send_segment(UPLINK, 3, 3000, 6379, 100, 900, 0x18, 20);
	pass_until_quiet();
	received_anything();
	fill_peer();
	received_anything_at(UPLINK);
	CHECK(!send_to(2, table[1].mac, 0, 60) && port_peek(&forward.port[2].end, &length));
	end(2);
	end(3);
	pass_until_quiet();
	take_reset(UPLINK, 3, 3000, 900);
	/* the peer goes on: it has all that was sent before, and the reset */
	for (unsigned i = 0; i < 10 * BACKLOG_FRAMES; i++) {
		const uint8_t *frame = port_peek(&stack[1], &length);

		forward_pass(&forward, now);
		if (!frame)
			continue;
		resets += length == 54 && frame[47] & 4 && load_be16(frame + 36) == 1000;
		port_release(&stack[1]);
	}
	CHECK(resets == 1);
	CHECK(!forward.reset_queue.count && !forward.behind);
}

/* A successor that is there before the switch has looked is let in although nobody is to be told and nothing else
 * happens. */
static void succeeded_at_once(void)
{
	set_up();
	end(2);
	stack[2] = port_open(memory + 2 * PORT_SIZE, PORT_TO_SWITCH, 100);
	pass_until_quiet();
	CHECK(port_poll(&stack[2]));
	CHECK(stack[2].up);
}

/* Nobody has an address, and there is no network driver: the switch passes on nothing, and looks at no port. */
static void no_ports(void)
{
	memset(&forward, 0, sizeof(forward));
	forward_init(&forward, table, 0, NULL, TIMEOUT, 2);
	CHECK(!forward_pass(&forward, now) && !forward_last_pass(&forward, now));
}

int main(void)
{
	no_ports();
	ended_port();
	ended_while_busy();
	ended_peer_is_full();
	succeeded_at_once();
	return 0;
}
