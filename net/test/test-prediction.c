/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Header prediction against lwIP alone: the same packets and the same calls of
 * a program, drawn at random, twice. After each step the frames sent, what the
 * program was told, every field of the connection's state and the number of
 * blocks of memory must be the same. Data of long segments stays in a ring (sent.h). Most packets are those that are
 * predicted; the others are lost, repeated, overlapping, cut, chained, padded, with options,
 * of fragments, with flags, beyond windows or broken at random.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <lwip/init.h>
#include <lwip/ip.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/ip4.h>
#include <lwip/prot/tcp.h>
#include <lwip/timeouts.h>
#include <skerry/posix.h>
#include <netif/ethernet.h>
#include "../lwip/connections.h"
#include "../lwip/prediction.h"
#include "../lwip/recovery.h"
#include "test-prediction.h"
#include "test.h"

enum { STEPS = 60000 };
/* With the last one lwIP's window goes below zero, which is rare. */
static const uint32_t seeds[] = { 1, 2, 3, 4, 5, 6, 24, 62 };

static struct {
	struct tcp_pcb *pcb;
	bool refuses;
	unsigned unread;
} program;

static unsigned predicted, sent_at_once, written; /* segments */

/* The linker puts this before prediction_take(). */
bool __real_prediction_take(struct tcp_pcb *, struct pbuf *, const struct netif *, void *);
bool __wrap_prediction_take(struct tcp_pcb *pcb, struct pbuf *packet, const struct netif *from, void *data)
{
	const bool taken = finds && __real_prediction_take(pcb, packet, from, data);

	predicted += taken;
	return taken;
}

/* --- the machine and its program --- */

static err_t write_out(struct tcp_pcb *pcb, const void *bytes, size_t size)
{
	if (!finds || !prediction_write(pcb, bytes, size))
		return tcp_write(pcb, bytes, (u16_t)size, TCP_WRITE_FLAG_COPY);
	written++;
	return ERR_OK;
}

static void send_out(struct tcp_pcb *pcb)
{
	if (finds && prediction_send(pcb))
		sent_at_once++;
	else
		recovery_output(pcb);
}

static err_t output(struct netif *interface, struct pbuf *frame, const ip4_addr_t *to)
{
	unsigned char bytes[2048];
	const struct tcp_hdr *tcp = (const struct tcp_hdr *)(bytes + IP_HLEN);
	const size_t size = bytes_of(frame, bytes, sizeof(bytes));

	(void)interface;
	(void)to;
	note(bytes, size);
	if (!below(50)) /* no place for it */
		return ERR_MEM;
	if (IPH_PROTO((struct ip_hdr *)bytes) != IP_PROTO_TCP || lwip_ntohs(tcp->dest) != peer.port)
		return ERR_OK;
	const uint32_t end = lwip_ntohl(tcp->seqno) + (uint32_t)(size - IP_HLEN - TCPH_HDRLEN_BYTES(tcp)) +
			     !!(TCPH_FLAGS(tcp) & (TCP_SYN | TCP_FIN));
	if ((int32_t)(end - peer.received) > 0 || TCPH_FLAGS(tcp) & TCP_SYN)
		peer.received = end;
	if (TCPH_FLAGS(tcp) & TCP_RST)
		peer.open = false;
	return ERR_OK;
}

/* the function of ARP */
static err_t send_nothing(struct netif *interface, struct pbuf *frame)
{
	(void)interface;
	(void)frame;
	return ERR_OK;
}

static err_t set_up(struct netif *interface)
{
	interface->mtu = 1500;
	interface->hwaddr_len = ETH_HWADDR_LEN;
	interface->output = output;
	interface->linkoutput = send_nothing;
	interface->flags = NETIF_FLAG_LINK_UP | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET;
	return ERR_OK;
}

static err_t received(void *argument, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
	(void)argument;
	note_number(1);
	if (!data) {
		note_number(2);
		return ERR_OK;
	}
	if (program.refuses)
		return ERR_MEM;
	note_number(data->tot_len);
	note_number(data->flags & PBUF_FLAG_PUSH);
	for (const struct pbuf *p = data; p; p = p->next)
		note(p->payload, p->len);
	program.unread += data->tot_len;
	if (!below(4)) {
		error = write_out(pcb, data->payload, data->len);
		send_out(pcb); /* nothing yet: lwIP sends it when it has done with the segment */
		note_number(pcb->unsent != NULL);
	}
	note_number((uint64_t)error);
	pbuf_free(data);
	return ERR_OK;
}

static err_t sent(void *argument, struct tcp_pcb *pcb, u16_t size)
{
	(void)argument;
	(void)pcb;
	note_number(size);
	return ERR_OK;
}

static void failed(void *argument, err_t error)
{
	(void)argument;
	note_number((uint64_t)error);
	program.pcb = NULL;
	peer.open = false;
}

static err_t accepted(void *argument, struct tcp_pcb *pcb, err_t error)
{
	(void)argument;
	(void)error;
	program.pcb = pcb;
	program.unread = 0;
	pcb->rcv_wnd = pcb->rcv_ann_wnd = 4000; /* as net/lwip/share.c does: small enough to be filled */
	pcb->rcv_ann_right_edge = pcb->rcv_nxt + pcb->rcv_ann_wnd;
	tcp_recv(pcb, received);
	tcp_sent(pcb, sent);
	tcp_err(pcb, failed);
	return ERR_OK;
}

/* --- the peer --- */

/* Something that is not expected, but for one in eight. */
static void spoil(struct packet *k)
{
	static const unsigned fragments[] = { IP_MF, IP_DF, 1, IP_RF };

	switch (below(16)) {
	case 0: k->sequence -= 1 + below(MOST); break;
	case 1: k->sequence += 1 + below(MOST); break;
	case 2: k->acknowledges = peer.received + 1 + below(3000); break;
	case 3: k->acknowledges = peer.received - below(0x20000); break;
	case 4: k->flags |= 1u << below(8); break;
	case 5: k->flags = below(256); break;
	case 6: k->ip_options = below(11); break;
	case 7: k->tcp_options = below(11); break;
	case 8: k->padding = below(30); break;
	case 9: k->fragment = fragments[below(4)]; break;
	case 10: k->chained = true; k->padding = below(2) * 6; break;
	case 11: k->window = below(4) ? below(3000) : 0; break;
	case 12: k->broken = true; break;
	case 13: k->fault = FRAME_TYPE + below(3); break;
	default: break;
	}
}

/* lwIP says nothing when a connection goes to TIME_WAIT or ends in an orderly way. */
static void forget_ended(void)
{
	const struct tcp_pcb *pcb = tcp_active_pcbs;

	while (pcb && pcb != program.pcb)
		pcb = pcb->next;
	if (!pcb)
		program.pcb = NULL;
}

/* As for a segment that was lost on the way to the peer: up to six. */
static void peer_repeats(void)
{
	struct packet k = { .sequence = peer.sent, .acknowledges = program.pcb->lastack, .flags = TCP_ACK,
			    .window = peer.window ? peer.window : 0x4000 };

	for (unsigned i = below(6); i && program.pcb; i--) {
		input(&k);
		k.window += !below(8);
		forget_ended();
	}
}

static void peer_sends(void)
{
	struct packet k = { .sequence = peer.sent, .acknowledges = peer.received,
	                    .flags = below(2) ? TCP_ACK : TCP_ACK | TCP_PSH,
			    .window = peer.window ? peer.window : 0x4000 + below(4) * 0x1000 };

	k.data = !below(3) ? 0 : below(8) ? below(64) : below(MOST + 1);
	if (!below(3)) /* a part only */
		k.acknowledges -= below((peer.received - program.pcb->lastack) % 0x10000 + 1);
	const bool straight = below(4) > 0, lost = !below(64);
	if (!straight)
		spoil(&k);
	if (!lost)
		input(&k);
	forget_ended();
	if (program.pcb)
		peer.sent = program.pcb->rcv_nxt; /* it sends again what is missing */
}

static void program_acts(void)
{
	static char text[8192];
	struct tcp_pcb *pcb = program.pcb;
	const unsigned most = below(2) ? 40 : sizeof(text);

	switch (below(16)) {
	case 0: program.refuses = true; break;
	case 1: send_out(pcb); break;
	case 2:
		if (below(2))
			tcp_nagle_disable(pcb);
		else
			tcp_nagle_enable(pcb);
		break;
	case 3:
		if (!below(40)) { /* one way or the other: both would be the end of `pcb` */
			const int way = below(2) == 0;

			note_number((uint64_t)tcp_shutdown(pcb, way, !way));
		}
		break;
	case 4: case 5: case 6: case 7: case 8: case 9:
		program.refuses = false;
		tcp_recved(pcb, (u16_t)LWIP_MIN(program.unread, 0xffffu));
		program.unread -= LWIP_MIN(program.unread, 0xffffu);
		break;
	default:
		note_number((uint64_t)write_out(pcb, text, below(50) ? 1 + below(most) : 0));
		if (below(2))
			send_out(pcb);
	}
}

static void step(void)
{
	if (!program.pcb || !peer.open || !below(4000)) {
		if (program.pcb)
			tcp_abort(program.pcb);
		program.refuses = false;
		connect_peer();
		return;
	}
	if (!below(32))
		peer_repeats();
	else if (below(4))
		peer_sends();
	else
		program_acts();
	if (!below(100)) {
		now += below(8) ? below(400) : 4000; /* long enough to send again */
		recovery_time(clock_cycles());
		empty_ring();
		if (clock_cycles() >= recovery_clock.due) {
			recovery_clock.due = UINT64_MAX;
			if (connections_tick())
				recovery_start();
		}
		connections_before_timers();
		sys_check_timeouts();
	}
}

static void run(uint32_t seed, uint64_t *digests)
{
	const ip4_addr_t address = { lwip_htonl(ADDRESS) }, mask = { lwip_htonl(0xff000000) };

	random_state = seed;
	lwip_init();
	tcp_ticks = 1;
	recovery_time(clock_cycles());
	connections_start();
	netif_add(&netif, &address, &mask, NULL, NULL, set_up, ethernet_input);
	netif_set_default(&netif);
	netif_set_up(&netif);
	struct tcp_pcb *pcb = tcp_new();
	tcp_bind(pcb, IP_ADDR_ANY, PORT);
	pcb = tcp_listen_with_backlog(pcb, 255);
	tcp_accept(pcb, accepted);
	connections_listen(pcb);
	const unsigned before = blocks;
	for (unsigned i = 0; i < STEPS; i++) {
		seen = 14695981039346656037ull;
		step();
		note_number(random_state);
		forget_ended();
		if (program.pcb)
			note_state(program.pcb);
		else
			note_number(0);
		note_number(blocks - before);
		digests[i] = seen;
	}
	digests[STEPS] = predicted;
	digests[STEPS + 1] = sent_at_once;
	digests[STEPS + 2] = written;
	digests[STEPS + 3] = kept_in_ring;
}

static void read_all(int end, void *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t part = read(end, (char *)bytes + done, size - done);

		CHECK(part > 0);
		done += (size_t)part;
	}
}

/* In a process of its own: lwIP begins once. */
static void run_apart(uint32_t seed, bool found, uint64_t *digests)
{
	const size_t size = (STEPS + 4) * sizeof(*digests);
	int ends[2], status;

	CHECK(pipe(ends) == 0);
	fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		finds = found;
		run(seed, digests);
		for (size_t done = 0; done < size;) {
			const ssize_t part = write(ends[1], (char *)digests + done, size - done);

			if (part <= 0)
				_exit(1);
			done += (size_t)part;
		}
		_exit(0);
	}
	close(ends[1]);
	read_all(ends[0], digests, size);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	close(ends[0]);
}

int main(void)
{
	static uint64_t found[STEPS + 4], alone[STEPS + 4];

	for (unsigned k = 0; k < sizeof(seeds) / sizeof(*seeds); k++) {
		const uint32_t seed = seeds[k];
		unsigned i = 0;

		run_apart(seed, true, found);
		run_apart(seed, false, alone);
		while (i < STEPS && found[i] == alone[i])
			i++;
		printf("seed %u: %u of %u steps the same, %u segments predicted, %u written and %u sent at once\n",
		       seed, i, STEPS, (unsigned)found[STEPS], (unsigned)found[STEPS + 2], (unsigned)found[STEPS + 1]);
		CHECK(i == STEPS);
		CHECK(found[STEPS] > STEPS / 8 && alone[STEPS] == 0);
		CHECK(found[STEPS + 1] > STEPS / 128 && alone[STEPS + 1] == 0);
		CHECK(found[STEPS + 2] > STEPS / 128 && alone[STEPS + 2] == 0);
		CHECK(found[STEPS + 3] > STEPS / 1024 && alone[STEPS + 3] == 0);
	}
	return 0;
}
