/* SPDX-License-Identifier: BSD-2-Clause */
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/tcp.h>
#include <skerry/posix.h>
#include <skerry/require.h>
#include "recovery.h"
#include "scoreboard.h"

enum {
	TICKS = 100,           /* a second */
	RTO_MIN = 200,         /* ms, above SRTT */
	RTO_MIN_LONE = 260,    /* of one segment: lwIP delays its acknowledgement up to 250 ms */
	RTO_FIRST = 1000, RTO_MAX = 60000,
	SYN_BACKOFF = 2,       /* doublings: lwIP gives up after six SYNs, some 20 s */
	OOSEQ_TICKS = 6,       /* lwIP drops segments out of order after 6 of these */
	INITIAL_WINDOW = 10,   /* segments */
	REORDERED = 3,         /* RFC 6675, DupThresh */
	REPEATS = 4,           /* of the first segment, before its time-out */
	NOISE_SHARE = 4,       /* a loss of 1/4 of the window reduces it */
};

struct recovery_clock recovery_clock = { .due = UINT64_MAX };
uint64_t stack_timer_at;

static uint32_t stamps(uint32_t ms)
{
	return (uint32_t)((clock_cycles_per_second() >> RECOVERY_UNIT_SHIFT) * ms / 1000);
}

void recovery_start(void)
{
	if (recovery_clock.due != UINT64_MAX)
		return;
	recovery_clock.due = clock_cycles() + clock_cycles_per_second() / TICKS;
	if (stack_timer_at > recovery_clock.due)
		stack_timer_at = recovery_clock.due;
}

void recovery_begin(struct recovery *r, struct tcp_pcb *pcb)
{
	*r = (struct recovery){ .opened = recovery_clock.now, .since = recovery_clock.now };
	recovery_before_timers(pcb);
	recovery_start();
}

/* --- round trips --- */

/* From the first SYN to its acknowledgement; of one that was sent again there is none (Karn). */
static void measure_handshake(struct recovery *r, struct tcp_pcb *pcb)
{
	const uint32_t trip = recovery_clock.now - r->opened;

	r->begun = true;
	r->timed = false;
	pcb->rttest = 0;
	pcb->sa = 0;
	pcb->sv = (int16_t)LWIP_MIN(stamps(RTO_FIRST), (uint32_t)INT16_MAX);
	if (pcb->nrtx || trip > INT16_MAX / 8)
		return;
	pcb->sa = (int16_t)(trip * 8);
	pcb->sv = (int16_t)(trip * 2);
	r->least = (uint16_t)(trip ? trip : 1);
}

static void measure(struct recovery *r, struct tcp_pcb *pcb)
{
	const uint32_t trip = recovery_clock.now - pcb->rttest;

	pcb->rttest = 0;
	r->timed = false;
	recovery_estimate(pcb, trip);
	if (r->active && trip <= UINT16_MAX && (!r->least || trip < r->least))
		r->least = (uint16_t)(trip ? trip : 1);
}

void recovery_output(struct tcp_pcb *pcb)
{
	const bool timed = pcb->rttest;

	tcp_output(pcb);
	if (!timed && pcb->rttest)
		pcb->rttest = recovery_clock.now;
	if (pcb->unacked)
		recovery_start();
}

static uint32_t smoothed_trip(const struct tcp_pcb *pcb) { return pcb->sa > 0 ? (uint32_t)pcb->sa >> 3 : 0; }

static uint32_t timeout(const struct recovery *r, const struct tcp_pcb *pcb)
{
	const uint32_t least = stamps(pcb->unacked && pcb->unacked->next ? RTO_MIN : RTO_MIN_LONE);
	const uint32_t time = smoothed_trip(pcb) + (pcb->sv > (int32_t)least ? (uint32_t)pcb->sv : least);
	const uint64_t backed_off = (uint64_t)time << (r->backoff < 16 ? r->backoff : 16);

	return backed_off < stamps(RTO_MAX) ? (uint32_t)backed_off : stamps(RTO_MAX);
}

/* --- the window --- */

/* A queue has grown on the way since the shortest round trip. */
static bool is_queueing(const struct recovery *r, const struct tcp_pcb *pcb)
{
	const uint32_t slack = r->least / 4 > 2 ? r->least / 4 : 2;

	return r->least && smoothed_trip(pcb) > r->least + slack;
}

static uint32_t half_of(tcpwnd_size_t flight, const struct tcp_pcb *pcb)
{
	return LWIP_MAX(flight / 2, 2u * pcb->mss);
}

static void activate(struct recovery *r, struct tcp_pcb *pcb)
{
	if (r->active)
		return;
	r->active = true;
	r->cwnd = pcb->cwnd;
	r->ssthresh = pcb->ssthresh;
	r->bytes_acked = pcb->bytes_acked;
	tcp_set_flags(pcb, TF_INFR);
}

static void deactivate(struct recovery *r, struct tcp_pcb *pcb)
{
	r->active = r->recovers = r->timed_out = r->probed = false;
	r->duplicates = 0;
	pcb->cwnd = r->cwnd;
	pcb->ssthresh = r->ssthresh;
	pcb->bytes_acked = r->bytes_acked;
	tcp_clear_flags(pcb, TF_INFR);
}

/* lwIP counts on: what it makes of these opens no window. */
static void hide_window(struct tcp_pcb *pcb)
{
	tcp_clear_flags(pcb, TF_INFR);
	pcb->cwnd = 1;
	pcb->ssthresh = 0;
	pcb->bytes_acked = 0;
}

static void enter(struct recovery *r, struct tcp_pcb *pcb)
{
	r->recovers = true;
	r->reduced = r->timed_out = false;
	r->first = true;
	r->point = pcb->snd_nxt;
	r->flight = LWIP_MIN(r->cwnd, pcb->snd_nxt - pcb->lastack);
	r->lost = 0;
}

static void reduce_if_congested(struct recovery *r, const struct tcp_pcb *pcb)
{
	const bool many = r->lost >= REORDERED * (tcpwnd_size_t)pcb->mss && r->lost > r->flight / NOISE_SHARE;

	if (r->reduced || !(many || is_queueing(r, pcb)))
		return;
	r->reduced = true;
	r->cwnd = r->ssthresh = half_of(r->flight, pcb);
	r->bytes_acked = 0;
}

static void grow(struct recovery *r, struct tcp_pcb *pcb, uint32_t delivered)
{
	if (r->reduced && !r->timed_out)
		return;
	pcb->cwnd = r->cwnd;
	pcb->ssthresh = r->ssthresh;
	pcb->bytes_acked = r->bytes_acked;
	open_congestion_window(pcb, delivered);
	r->cwnd = pcb->cwnd;
	r->bytes_acked = pcb->bytes_acked;
}

/* --- segments that arrive --- */

/* RFC 5681, 2: nothing new, while data is under way; without SACK there is no other sign of a segment out of order. */
static bool is_duplicate(const struct tcp_pcb *pcb, const struct tcp_hdr *header, unsigned length)
{
	return pcb->unacked && header->ackno == pcb->lastack && !length && !(TCPH_FLAGS(header) & TCP_FIN) &&
	       (tcpwnd_size_t)header->wnd << pcb->snd_scale == pcb->snd_wnd;
}

/* How many must have been delivered later. Few segments that nothing follows produce fewer signs (RFC 5827). */
static unsigned threshold(const struct recovery *r, const struct tcp_pcb *pcb, unsigned outstanding)
{
	if (r->probed && (int16_t)(r->delivered - r->probe) >= 0)
		return 1;
	return pcb->unsent || outstanding > REORDERED ? REORDERED : outstanding > 2 ? outstanding - 1 : 1;
}

/* A peer without SACK: returns whether its first segment is lost. */
static bool is_first_lost(struct recovery *r, struct tcp_pcb *pcb, bool duplicate, uint32_t acknowledged,
                          unsigned outstanding)
{
	if (duplicate) {
		r->duplicates += !r->timed_out && r->duplicates < UINT16_MAX;
		return !r->recovers && r->duplicates >= threshold(r, pcb, outstanding);
	}
	if (!acknowledged)
		return false;
	const uint32_t segments = acknowledged / pcb->mss;
	r->duplicates = r->duplicates + 1u > segments && r->recovers ? (uint16_t)(r->duplicates + 1u - segments) : 0;
	return r->recovers && !r->timed_out;
}

static void take_signs(struct recovery *r, struct tcp_pcb *pcb, const struct tcp_hdr *header,
                       const struct sack_list *sacks, bool duplicate)
{
	const uint32_t acknowledged = header->ackno - pcb->lastack;
	struct scoreboard board = { .delivered = r->delivered };

	scoreboard_mark(&board, pcb, header->ackno, sacks);
	r->delivered = board.delivered;
	if (board.timed && pcb->rttest)
		measure(r, pcb);
	if (r->recovers && TCP_SEQ_GEQ(header->ackno, r->point)) {
		r->recovers = r->timed_out = false;
		r->duplicates = 0;
		r->reduced = false;
	}
	const bool first = !(pcb->flags & TF_SACK) &&
	                   is_first_lost(r, pcb, duplicate, acknowledged, board.outstanding);
	const uint32_t lost = scoreboard_lose(&board, pcb, header->ackno,
	                                      threshold(r, pcb, board.outstanding), first);
	if (lost && !r->recovers)
		enter(r, pcb);
	r->lost += lost;
	if (r->recovers)
		reduce_if_congested(r, pcb);
	grow(r, pcb, board.arrived);
	if (r->probed && (int16_t)(r->delivered - r->probe) >= 0)
		r->probed = false;
}

void recovery_before(struct recovery *r, struct tcp_pcb *pcb, const struct tcp_hdr *header, const uint8_t *options,
                     unsigned size, unsigned length)
{
	const unsigned flags = TCPH_FLAGS(header) & (TCP_SYN | TCP_ACK | TCP_RST);
	struct sack_list sacks = { 0 };
	bool duplicate;

	require(pcb->state != LISTEN && pcb->state != TIME_WAIT);
	r->timed = pcb->rttest;
	if (pcb->state < ESTABLISHED) {
		if (flags == (pcb->state == SYN_SENT ? TCP_SYN | TCP_ACK : TCP_ACK) &&
		    header->ackno == pcb->lastack + 1)
			measure_handshake(r, pcb);
		return;
	}
	pcb->dupacks = 0; /* lwIP's fast retransmission never begins */
	if (r->active)
		hide_window(pcb);
	if (flags != TCP_ACK || header->ackno - pcb->lastack > pcb->snd_nxt - pcb->lastack)
		return;
	if (pcb->rttest && TCP_SEQ_LT(pcb->rtseq, header->ackno))
		measure(r, pcb);
	if (pcb->flags & TF_SACK)
		sacks = sack_list_of(options, size, header->ackno, pcb->snd_nxt);
	duplicate = !(pcb->flags & TF_SACK) && is_duplicate(pcb, header, length);
	if (!r->active && !sacks.count && !duplicate)
		return;
	activate(r, pcb);
	take_signs(r, pcb, header, &sacks, duplicate);
	hide_window(pcb);
}

/* --- segments that are sent again --- */

/*
 * Sends the segment at `link` of the unacked list again by tcp_output(), as if it were the only unsent one. Returns
 * false where it is in use below, or the peer's window or memory has no room; the list is as before in both cases.
 */
static bool send_again(struct recovery *r, struct tcp_pcb *pcb, struct tcp_seg **link)
{
	struct tcp_seg *segment = *link, *const rest = pcb->unsent;
	const u16_t oversize = pcb->unsent_oversize;
	const tcpwnd_size_t window = pcb->cwnd;
	const bool nagle = !tcp_nagle_disabled(pcb);

	if (segment->p->ref != 1 || scoreboard_sequence(segment) - pcb->lastack + segment->len > pcb->snd_wnd)
		return false;
	*link = segment->next;
	segment->next = NULL;
	pcb->unsent = segment;
	pcb->cwnd = (tcpwnd_size_t)-1;
	if (nagle)
		tcp_nagle_disable(pcb);
	tcp_output(pcb);
	if (nagle)
		tcp_nagle_enable(pcb);
	const bool sent = pcb->unsent != segment;
	if (!sent) {
		segment->next = *link;
		*link = segment;
	}
	pcb->cwnd = window;
	pcb->unsent = rest;
	pcb->unsent_oversize = oversize;
	pcb->rttest = 0;
	if (sent) {
		scoreboard_sent_again(segment, &r->order);
		r->again_at = recovery_clock.now;
	}
	return sent;
}

/* Sends lost segments while there is room in the window, the first of a recovery in any case. Returns the bytes in the
 * network. */
static tcpwnd_size_t send_lost(struct recovery *r, struct tcp_pcb *pcb, bool first)
{
	tcpwnd_size_t pipe = scoreboard_pipe(pcb);
	const tcpwnd_size_t left = (tcpwnd_size_t)r->duplicates * pcb->mss;

	pipe = pipe > left ? pipe - left : 0;
	for (struct tcp_seg **link = &pcb->unacked; *link; link = &(*link)->next) {
		if (!scoreboard_waits(*link))
			continue;
		if ((pipe && !first && pipe + (*link)->len > r->cwnd) || !send_again(r, pcb, link))
			break;
		first = false;
		pipe += (*link)->len;
	}
	return pipe;
}

static void send_all(struct recovery *r, struct tcp_pcb *pcb, bool first)
{
	const tcpwnd_size_t pipe = send_lost(r, pcb, first);
	const uint32_t next = pcb->snd_nxt;

	pcb->cwnd = window_add(next - pcb->lastack, r->cwnd > pipe ? r->cwnd - pipe : 0);
	recovery_output(pcb);
	if (r->recovers && pcb->snd_nxt != next)
		scoreboard_number(pcb, next, &r->order);
}

/* Initial window (RFC 6928), unless the handshake was lost. */
static void widen(struct recovery *r, struct tcp_pcb *pcb)
{
	const tcpwnd_size_t window = LWIP_MIN(INITIAL_WINDOW * (tcpwnd_size_t)pcb->mss,
	                                      LWIP_MAX(2u * pcb->mss, INITIAL_WINDOW * 1460u));

	r->begun = false;
	if (r->least && pcb->cwnd < window)
		pcb->cwnd = window;
}

static void note_progress(struct recovery *r, const struct tcp_pcb *pcb)
{
	r->acknowledged = pcb->lastack;
	r->since = recovery_clock.now;
	r->backoff = r->repeats = 0;
}

void recovery_after(struct recovery *r, struct tcp_pcb *pcb)
{
	if (pcb->state < ESTABLISHED || pcb->state == TIME_WAIT)
		return;
	if (!r->timed && pcb->rttest)
		pcb->rttest = recovery_clock.now;
	if (!pcb->ooseq) /* there was no memory for it */
		scoreboard_forget_received(pcb);
	if (r->begun)
		widen(r, pcb);
	if (pcb->unacked)
		recovery_start();
	if (!r->active)
		return;
	if (pcb->lastack != r->acknowledged)
		note_progress(r, pcb);
	if (!pcb->unacked)
		r->probed = false;
	if (!r->recovers && !r->duplicates && !r->probed && !scoreboard_marked(pcb)) {
		deactivate(r, pcb);
		recovery_output(pcb);
		return;
	}
	tcp_set_flags(pcb, TF_INFR);
	send_all(r, pcb, r->recovers && r->first);
	r->first = false;
}

/* --- time --- */

void recovery_forget(struct recovery *r, struct tcp_pcb *pcb)
{
	scoreboard_clear(pcb);
	if (r->active)
		deactivate(r, pcb);
	r->backoff = 0;
}

/* The peer's window has no room for the first segment: lwIP's own time-out, behind which it probes the window. */
static void leave_to_lwip(struct recovery *r, struct tcp_pcb *pcb)
{
	recovery_forget(r, pcb);
	pcb->ssthresh = half_of(LWIP_MIN(pcb->cwnd, pcb->snd_wnd), pcb);
	pcb->cwnd = pcb->mss;
	tcp_rexmit_rto(pcb);
}

/* RFC 6298, 5.4 to 5.7; RFC 5681, 3.1. What SACK has reported counts, unless the peer has dropped it again. */
static void time_out(struct recovery *r, struct tcp_pcb *pcb)
{
	const struct tcp_seg *first = pcb->unacked;
	const uint8_t tries = pcb->nrtx;

	if (first->p->ref != 1) /* it has not left yet */
		return;
	if (scoreboard_sequence(first) - pcb->lastack + first->len > pcb->snd_wnd) {
		leave_to_lwip(r, pcb);
		return;
	}
	activate(r, pcb);
	if (!r->timed_out) {
		enter(r, pcb);
		r->ssthresh = half_of(r->flight, pcb);
	}
	r->recovers = r->reduced = r->timed_out = true;
	r->point = pcb->snd_nxt;
	r->cwnd = pcb->mss;
	r->bytes_acked = 0;
	r->duplicates = 0;
	r->probed = false;
	scoreboard_lose_all(pcb);
	send_all(r, pcb, true);
	if (!scoreboard_waits(pcb->unacked)) {
		pcb->nrtx = (u8_t)(tries + (tries < UINT8_MAX));
		r->backoff += r->backoff < UINT8_MAX;
		r->since = recovery_clock.now;
	}
}

/* RFC 8985, 7: the last segment once more, whose acknowledgement shows what is missing before it. */
static void probe_tail(struct recovery *r, struct tcp_pcb *pcb)
{
	struct tcp_seg **link = &pcb->unacked;

	while ((*link)->next)
		link = &(*link)->next;
	activate(r, pcb);
	if (!send_again(r, pcb, link))
		return;
	r->probed = true;
	r->probe = r->order;
}

/* The SYN, or the answer to one: lwIP moves it to the unsent list, and counts. */
static void look_at_handshake(struct recovery *r, struct tcp_pcb *pcb)
{
	if (recovery_clock.now - r->since < stamps(RTO_FIRST) << LWIP_MIN(pcb->nrtx, SYN_BACKOFF))
		return;
	r->since = recovery_clock.now;
	if (pcb->unacked)
		tcp_rexmit_rto(pcb);
	else
		tcp_output(pcb);
}

/* The first segment, whose last retransmission nothing has answered for two round trips, once more: too few were sent
 * after it to show its loss. */
static void repeat_first(struct recovery *r, struct tcp_pcb *pcb)
{
	r->repeats++;
	r->again_at = recovery_clock.now;
	scoreboard_lose_first(pcb);
	send_all(r, pcb, true);
}

static void look_for_progress(struct recovery *r, struct tcp_pcb *pcb)
{
	const uint32_t tail = 2 * smoothed_trip(pcb) + stamps(1000 / TICKS);

	if (!r->recovers && !r->probed && pcb->unacked->next && recovery_clock.now - r->since > tail)
		probe_tail(r, pcb);
	else if (r->recovers && !r->timed_out && r->repeats < REPEATS &&
	         recovery_clock.now - r->again_at > tail << r->repeats)
		repeat_first(r, pcb);
}

bool recovery_tick(struct recovery *r, struct tcp_pcb *pcb)
{
	const uint32_t waited = recovery_clock.now - r->since;

	if (pcb->state < ESTABLISHED) {
		look_at_handshake(r, pcb);
		return true;
	}
	if (!pcb->unacked && (!pcb->unsent || pcb->persist_backoff)) {
		r->acknowledged = pcb->lastack - 1;
		r->probed = false;
		return false;
	}
	if (pcb->lastack != r->acknowledged) {
		note_progress(r, pcb);
	} else if (waited >= timeout(r, pcb)) {
		if (pcb->unacked)
			time_out(r, pcb);
		else
			recovery_output(pcb);
	} else if (pcb->unacked) {
		look_for_progress(r, pcb);
	}
	return true;
}

void recovery_before_timers(struct tcp_pcb *pcb)
{
	pcb->rtime = LWIP_MIN(pcb->rtime, 0);
	pcb->rto = OOSEQ_TICKS;
	if (pcb->unacked)
		recovery_start();
}
