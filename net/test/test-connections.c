/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding connections in front of lwIP against lwIP alone: the same packets,
 * among them lost, repeated, broken and hostile ones, of many connections that
 * come and go, must get the same answers; and lwIP's list must not be searched.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lwip/ip.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/timeouts.h>
#include "../lwip/connections.h"
#include "opening/peers.h"
#include "test.h"

enum { STEPS = 20000, PEERS_MAX = 5000 };

static struct peer peers[PEERS_MAX];
static bool is_up[PEERS_MAX]; /* the peer has a connection */
static uint64_t answers;   /* of this step, in any order: lwIP's timers follow its list */
static unsigned delivered; /* bytes that arrived at the program */
static bool finds;         /* connections are found; else lwIP searches its list, and losses are recovered as well */

/* The linker puts this before connections_seen(). */
int __real_connections_seen(struct pbuf *, struct netif *);
int __wrap_connections_seen(struct pbuf *packet, struct netif *from)
{
	if (finds)
		return __real_connections_seen(packet, from);
	connections_sent_rest();
	return opening_seen(packet, NULL, from);
}

/* --- a program that echoes, and a network that remembers answers --- */

static void remember(struct pbuf *frame)
{
	unsigned char bytes[2048];
	const struct ip_hdr *ip = (const struct ip_hdr *)bytes;
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(bytes + IP_HLEN);
	uint64_t hash = 14695981039346656037ull;
	const size_t size = pbuf_copy_partial(frame, bytes, sizeof(bytes), 0);

	bytes[4] = bytes[5] = 0; /* a number of all packets: timers send in the list's order */
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 1099511628211ull;
	answers += hash;
	struct peer *peer = &peers[(lwip_ntohl(ip->dest.addr) - PEERS) % PEERS_MAX];
	const size_t length = size - IP_HLEN - TCPH_HDRLEN_BYTES(tcp) + !!(TCPH_FLAGS(tcp) & (TCP_SYN | TCP_FIN));
	if (IPH_PROTO(ip) == IP_PROTO_TCP && lwip_ntohs(tcp->dest) == peer->port && length)
		peer->received = lwip_ntohl(tcp->seqno) + (uint32_t)length;
}

static err_t received(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	(void)argument;
	(void)error;
	if (!data)
		return tcp_close(pcb);
	delivered += data->tot_len;
	tcp_recved(pcb, data->tot_len);
	tcp_write(pcb, data->payload, data->len, TCP_WRITE_FLAG_COPY);
	pbuf_free(data);
	return ERR_OK;
}

static err_t accepted(void *argument, struct tcp_pcb *pcb, err_t error)
{
	(void)argument;
	(void)error;
	connections_opened(pcb);
	tcp_recv(pcb, received);
	return ERR_OK;
}

static void input(unsigned number, uint32_t sequence, unsigned flags, unsigned data, unsigned length)
{
	struct pbuf *packet = make_segment(&peers[number], sequence, flags, data, NULL, 0);

	memset((char *)packet->payload + PACKET, 'a' + (int)(number % 26), data);
	if (length) { /* broken: some byte, or cut off */
		((unsigned char *)packet->payload)[net_random() % PACKET] ^= (unsigned char)(1 + net_random() % 255);
		if (length == 1)
			pbuf_realloc(packet, (u16_t)(1 + net_random() % PACKET));
	}
	give(packet);
}

static void connect_peer(unsigned number)
{
	struct peer *peer = &peers[number];

	*peer = (struct peer){ .address = PEERS + number, .port = (uint16_t)(peer->port ? peer->port + 1 : 1024),
	                       .to = PORT, .sent = net_random() };
	is_up[number] = true;
	input(number, peer->sent++, TCP_SYN, 0, 0);
	input(number, peer->sent, TCP_ACK, 0, 0);
}

static void step(unsigned count)
{
	const unsigned number = net_random() % count, what = net_random() % 64, data = 1 + net_random() % 8;
	struct peer *peer = &peers[number];

	if (!is_up[number]) {
		connect_peer(number);
	} else if (what < 2) {
		input(number, peer->sent, what ? TCP_RST | TCP_ACK : TCP_FIN | TCP_ACK, 0, 0);
		is_up[number] = false;
	} else if (what < 6) {
		input(number, peer->sent, TCP_ACK | TCP_PSH, data, what < 4 ? 1 : 2); /* broken */
	} else if (what < 8) {
		input(number, peer->sent - data, TCP_ACK | TCP_PSH, data, 0); /* again */
	} else if (what < 10) {
		input(number, peer->sent + data, TCP_ACK | TCP_PSH, data, 0); /* too early */
	} else {
		input(number, peer->sent, TCP_ACK | TCP_PSH, data, 0);
		peer->sent += data;
	}
}

struct outcome {
	uint64_t answers, searched;
	unsigned delivered;
};

static struct outcome run(unsigned count, bool found)
{
	struct outcome o = { 0 };
	struct tcp_pcb *pcb = start_lwip();

	pcb = tcp_listen_with_backlog(pcb, 255);
	tcp_accept(pcb, accepted);
	finds = found;
	connections_listen(pcb);
	for (unsigned i = 0; i < count; i++)
		connect_peer(i);
	const uint64_t before = connections_searched();
	for (unsigned i = 0; i < STEPS; i++) {
		step(count);
		if (i % 64 == 0) {
			now += 50; /* every second connection that has ended in TIME_WAIT ends while the test runs */
			run_timers();
		}
		o.answers = o.answers * 31 + answers;
		answers = 0;
	}
	o.searched = connections_searched() - before;
	o.delivered = delivered;
	return o;
}

/* In a process of its own: lwIP begins once. */
static struct outcome run_apart(unsigned count, bool found)
{
	struct outcome o = { 0 };
	int ends[2], status;

	CHECK(pipe(ends) == 0);
	fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		o = run(count, found);
		_exit(write(ends[1], &o, sizeof(o)) != (ssize_t)sizeof(o));
	}
	close(ends[1]);
	CHECK(read(ends[0], &o, sizeof(o)) == (ssize_t)sizeof(o));
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	close(ends[0]);
	return o;
}

static err_t connected(void *argument, struct tcp_pcb *pcb, err_t error) { return argument || !pcb ? ERR_VAL : error; }

/* A segment that begins a connection gets no answer. All others do, also an answer to a connection that had no memory
 * to be found by. */
static void without_memory(void)
{
	const ip_addr_t to = { lwip_htonl(PEERS) };
	struct tcp_pcb *pcb = start_lwip();

	for (unsigned i = 0; i < 2; i++)
		peers[i] = (struct peer){ .address = PEERS + i, .port = 1024, .to = PORT };
	CHECK(tcp_connect(pcb, &to, peers[0].port, connected) == ERR_OK);
	memory = 0;
	answers = 0;
	input(1, 1, TCP_SYN, 0, 0);
	CHECK(!answers);
	input(1, 1, TCP_ACK, 0, 0);
	CHECK(answers);
	input(0, 1, TCP_SYN | TCP_ACK, 0, 0);
	CHECK(pcb->state == ESTABLISHED);
	memory = ~0u;
	answers = 0;
	input(1, 1, TCP_SYN, 0, 0);
	CHECK(answers); /* a reset, as nobody listens */
}

int main(void)
{
	static const unsigned counts[] = { 2, 50, 500, PEERS_MAX };

	on_output = remember;
	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		const struct outcome found = run_apart(counts[i], true), alone = run_apart(counts[i], false);

		printf("%u connections: %u bytes, %lu steps of searching\n", counts[i], found.delivered,
		       (unsigned long)found.searched);
		CHECK(found.answers == alone.answers && found.delivered == alone.delivered && found.delivered > STEPS);
		CHECK(alone.searched == 0);
		CHECK(found.searched <= STEPS / 10 * counts[i] / 100); /* alone it would be half of STEPS * count */
	}
	without_memory();
	return 0;
}
