/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is sent again, when, and what is not: by SACK, by duplicate acknowledgements, by time-outs, to peers that report
 * nonsense, and where sequence numbers wrap. The program sends 16 KiB for two bytes.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lwip/priv/tcp_priv.h>
#include "../test.h"
#include "peers.h"

enum { SEGMENT = 1460, WINDOW = 10 /* segments of the first flight */, SENT_MAX = 256 };

static const uint8_t permitted[] = { 2, 4, SEGMENT >> 8, SEGMENT & 255, 1, 1, 4, 2 }, plain[] = { 2, 4, SEGMENT >> 8,
                                                                                                SEGMENT & 255 };
static struct peer peer;
static uint32_t start_at;                  /* number of the first byte of data */
static unsigned sent[SENT_MAX], sent_count; /* segments since they were last forgotten, counted from the first */

static void remember(struct pbuf *packet)
{
	const struct tcp_hdr *tcp = (const void *)((const char *)packet->payload + IP_HLEN);
	const unsigned length = packet->tot_len - IP_HLEN - TCPH_HDRLEN_BYTES(tcp);

	if (length && sent_count < SENT_MAX)
		sent[sent_count++] = (lwip_ntohl(tcp->seqno) - start_at) / SEGMENT;
}

/* Returns whether these segments were sent, in this order, and no others. */
static bool has_sent(unsigned count, const unsigned *numbers)
{
	bool same = sent_count == count && !memcmp(sent, numbers, count * sizeof(*numbers));

	for (unsigned i = 0; !same && i < sent_count; i++)
		fprintf(stderr, "sent %u\n", sent[i]);
	sent_count = 0;
	return same;
}

#define HAS_SENT(...) \
	has_sent(sizeof((unsigned[]){ __VA_ARGS__ }) / sizeof(unsigned), (unsigned[]){ __VA_ARGS__ })

static void open_to(const uint8_t *options, unsigned size)
{
	CHECK(send_syn_with(&peer, options, size));
	send_segment(&peer, peer.sent, TCP_ACK, 0);
	start_at = peer.received;
	sent_count = 0;
}

/* Ten segments are under way. */
static void begin(bool sack)
{
	start(false);
	on_output = remember;
	make_peer(&peer, 1);
	open_to(sack ? permitted : plain, sack ? sizeof(permitted) : sizeof(plain));
	send_segment(&peer, peer.sent, TCP_ACK | TCP_PSH, 2);
	peer.sent += 2;
	CHECK(HAS_SENT(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

/* Acknowledges the segments before `next`, and reports those of `blocks` pairs as delivered: first, and behind last. */
static void report(unsigned next, unsigned blocks, const unsigned *pairs)
{
	uint8_t options[40] = { 1, 1, 5, (uint8_t)(2 + 8 * blocks) };

	for (unsigned i = 0; i < 2 * blocks; i++) {
		const uint32_t number = lwip_htonl(start_at + pairs[i] * SEGMENT);

		memcpy(options + 4 + 4 * i, &number, sizeof(number));
	}
	peer.received = start_at + next * SEGMENT;
	give(make_segment(&peer, peer.sent, TCP_ACK, 0, options, blocks ? 4 + 8 * blocks : 0));
}

/* Acknowledges everything. */
static void finish(void)
{
	sent_count = 0;
	peer.received = tcp_active_pcbs->snd_nxt;
	send_segment(&peer, peer.sent, TCP_ACK, 0);
	CHECK(!sent_count && !tcp_active_pcbs->unacked && !tcp_active_pcbs->unsent);
	CHECK(tcp_active_pcbs->state == ESTABLISHED);
}

#define REPORT(next, ...) \
	report(next, sizeof((unsigned[]){ __VA_ARGS__ }) / (2 * sizeof(unsigned)), (unsigned[]){ __VA_ARGS__ })

/* Two holes: each is sent again when three segments above it have arrived, once; later data fills the window. */
static void holes(void)
{
	begin(true);
	REPORT(1, 2, 3);
	CHECK(HAS_SENT(10, 11)); /* all that the program has */
	REPORT(1, 2, 4);
	CHECK(!sent_count);
	REPORT(1, 2, 5);
	CHECK(HAS_SENT(1));
	REPORT(1, 2, 5, 6, 8);
	CHECK(!memchr(sent, 1, sent_count) && (!sent_count || sent[0] != 5));
	sent_count = 0;
	REPORT(1, 2, 5, 6, 9);
	CHECK(sent_count && sent[0] == 5);
	sent_count = 0;
	REPORT(5, 6, 10);
	CHECK(!sent_count || sent[0] > 9);
	finish();
}

/* The second transmission is lost, too: three later ones that arrive show it, long before a time-out. */
static void lost_again(void)
{
	begin(true);
	send_segment(&peer, peer.sent, TCP_ACK | TCP_PSH, 2); /* the program has twice as much to send */
	peer.sent += 2;
	sent_count = 0;
	REPORT(0, 1, 4);
	CHECK(sent_count > 3 && sent[0] == 0 && sent[1] == 10 && sent[2] == 11 && sent[3] == 12);
	sent_count = 0;
	REPORT(0, 1, 12);
	CHECK(!sent_count || sent[0] != 0);
	sent_count = 0;
	REPORT(0, 1, 13);
	CHECK(sent_count && sent[0] == 0);
}

static void wraps(void)
{
	start(false);
	make_peer(&peer, 1);
	CHECK(send_syn_with(&peer, permitted, sizeof(permitted)));
	/* initial numbers grow by 250 a ms: the next connection begins shortly before they wrap */
	send_segment(&peer, peer.sent, TCP_RST, 0);
	CHECK(!tcp_active_pcbs);
	now += (uint32_t)(0 - 4 * SEGMENT - peer.received) / 250;
	run_timers();
	on_output = remember;
	open_to(permitted, sizeof(permitted));
	CHECK(start_at > UINT32_MAX - 5 * SEGMENT);
	send_segment(&peer, peer.sent, TCP_ACK | TCP_PSH, 2);
	peer.sent += 2;
	sent_count = 0;
	REPORT(1, 2, 5);
	CHECK(sent_count && sent[0] == 1);
	sent_count = 0;
	REPORT(5, 6, 9);
	CHECK(sent_count && sent[0] == 5);
	finish();
}

/* NewReno: duplicates between segments with data count, and each partial acknowledgement sends one segment. */
static void duplicates(void)
{
	begin(false);
	report(1, 0, NULL);
	sent_count = 0;
	for (unsigned i = 0; i < 3; i++) {
		CHECK(!sent_count || sent[0] > 9);
		sent_count = 0;
		report(1, 0, NULL);
		if (i < 2) { /* the other direction's data, which acknowledges nothing new either */
			send_segment(&peer, peer.sent, TCP_ACK | TCP_PSH, 1);
			peer.sent++;
			CHECK(!sent_count || sent[0] > 9);
		}
	}
	CHECK(sent_count && sent[0] == 1);
	sent_count = 0;
	report(4, 0, NULL);
	CHECK(sent_count && sent[0] == 4);
	sent_count = 0;
	report(7, 0, NULL);
	CHECK(sent_count && sent[0] == 7);
}

/* A probe of the last, then all that SACK has not reported, after 200 ms; later after twice the time. */
static void time_out(void)
{
	begin(true);
	REPORT(0, 3, 5);
	sent_count = 0;
	pass(50);
	CHECK(HAS_SENT(11)); /* the last */
	sent_count = 0;
	pass(100);
	CHECK(!sent_count);
	pass(150);
	CHECK(sent_count == 1 && sent[0] == 0);
	sent_count = 0;
	pass(250);
	CHECK(!sent_count);
	pass(100);
	CHECK(sent_count == 1 && sent[0] == 0);
	sent_count = 0;
	report(2, 0, NULL); /* 3 and 4 were reported before */
	CHECK(HAS_SENT(2, 5, 6));
	REPORT(5, 20, 20);
	CHECK(sent_count && sent[0] == 7);
}

/* The peer has dropped what it had reported: nothing that it says of it counts after a time-out. */
static void reneging(void)
{
	begin(true);
	REPORT(0, 2, 4);
	REPORT(2, 20, 20);
	sent_count = 0;
	pass(400);
	CHECK(sent_count && sent[sent_count - 1] == 2);
	sent_count = 0;
	report(3, 0, NULL);
	CHECK(sent_count && sent[0] == 3);
}

/* Blocks that are reversed, empty, beyond what was sent, or acknowledged already; options that are cut off. */
static void nonsense(void)
{
	uint8_t options[40];

	begin(true);
	REPORT(1, 5, 2, 3, 3, 9, 4);
	REPORT(1, 2, 200, 11, 40, 100, 101);
	REPORT(1, 0, 1, 0, 5, 1, 8);
	for (unsigned kind = 0; kind < 256; kind++)
		for (unsigned length = 0; length < 256; length += 5) {
			memset(options, (int)kind, sizeof(options));
			options[1] = (uint8_t)length;
			give(make_segment(&peer, peer.sent, TCP_ACK, 0, options, sizeof(options)));
		}
	for (unsigned i = 0; i < sent_count; i++)
		CHECK(sent[i] > 9);
	sent_count = 0;
	REPORT(1, 2, 5);
	CHECK(sent_count && sent[0] == 1);
	finish();
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "holes", holes }, { "lost again", lost_again }, { "numbers that wrap", wraps }, { "duplicates", duplicates },
	{ "time-out", time_out }, { "reneging", reneging }, { "nonsense", nonsense },
};

/* Each in a process of its own: lwIP begins once. */
int main(void)
{
	int failed = 0;

	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		int status;
		const pid_t child = fork();

		if (!child) {
			scenarios[i].run();
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		printf("%s: %s\n", scenarios[i].name, status ? "failed" : "passed");
		failed |= status;
		fflush(stdout);
	}
	return failed != 0;
}
