/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/require.h>
#include "channel.h"
#include "channel-state.h"
#include "channel-memory.h"
#include "console.h"
#include "fragment.h"
#include "mailbox.h"
#include "root.h"
#include "slots.h"
#include "timer.h"
#include "vspace.h"

enum {
	QUEUE = 2048,           /* pieces waiting to leave, at least */
	QUEUE_OTHERS = 128,     /* of messages beside the counters of cores */
	WORK_BUDGET = 256,      /* pieces that one channels_work() takes, of all channels together */
	WORK_SHARE = 32,        /* of them, before another channel has its turn */
	/* bytes of the messages that a turn completes, at most */
	WORK_ROOM = MESSAGE_SIZE_MAX + WORK_SHARE * FRAGMENT_DATA,
	SAY_LINES = 8,          /* console lines that a peer's misdeeds may cause in SAY_MS */
	SAY_MS = 1000,
	CHANNEL_START_MS = 20000, /* how long a peer may take to boot; an emulated one is slow */
};

static struct channel channel[BOOT_MAX_CHANNELS];
/* pieces of each queue, a power of two; half of them none for console lines: programs that write can lose what they
 * write only */
static uint32_t queue_size;
static uint32_t channel_count; /* published last: the timer thread reads it */
static uint32_t next_channel;  /* the next to be received from */

/* With the peer of generation c->seen. */
static void start_rings(struct channel *c)
{
	require(c->seen && c->generation);
	uint64_t position = channel_position(c->generation, c->seen);
	c->out = ring_producer_at(c->ring_out, CHANNEL_SLOTS, position);
	c->in = ring_consumer_at(c->ring_in, CHANNEL_SLOTS, position);
	memset(c->assembly, 0, sizeof(*c->assembly));
}

/* All of our half of the header, the acknowledgement withdrawn. */
static void channel_announce(struct channel *c)
{
	atomic_store_explicit(&c->mine->acknowledged, 0, memory_order_relaxed);
	atomic_store_explicit(&c->mine->heartbeat, read_tsc(), memory_order_relaxed);
	atomic_store_explicit(&c->mine->cluster, ROOT->cluster, memory_order_relaxed);
	atomic_store_explicit(&c->mine->version, CHANNEL_VERSION, memory_order_relaxed);
	atomic_store_explicit(&c->mine->magic, CHANNEL_MAGIC, memory_order_relaxed);
	atomic_store_explicit(&c->mine->generation, c->generation, memory_order_release);
}

static void channel_open(uint32_t index, int notification)
{
	const struct root_channel *info = &ROOT->channel[index];
	struct channel *c = &channel[index];
	char *memory = channel_memory_map(index);
	c->queue = own_memory(queue_size * sizeof(*c->queue));
	c->assembly = own_memory(sizeof(*c->assembly));
	c->doorbell = slots_take(1);
	if (!memory || !c->queue || !c->assembly || c->doorbell < 0 || info->side > 1)
		manager_panic("channel %u to cluster %u cannot be set up", info->id, info->peer);

	struct channel_header *header = (struct channel_header *)memory;
	c->peer = info->peer;
	c->mine = &header->side[info->side];
	c->theirs = &header->side[!info->side];
	c->ring_out = memory + CHANNEL_RINGS + info->side * CHANNEL_RING;
	c->ring_in = memory + CHANNEL_RINGS + !info->side * CHANNEL_RING;
	c->alive_at = read_tsc();

	int error = cnode_mint(IPC, ROOT_SLOT_CNODE, (uint64_t)c->doorbell, ROOT_SLOT_CNODE,
			       ROOT_SLOT_CHANNEL + index, RIGHT_ALL, CHANNEL_BELL_MANAGER);
	if (!error)
		error = channel_listen(IPC, ROOT_SLOT_CHANNEL + index, CHANNEL_BELL_MANAGER, 0, (uint64_t)notification);
	if (error)
		manager_panic("channel %u: no doorbell (error %d)", info->id, -error);

	c->generation = own_generation(c, header, info);
	channel_announce(c);
	notification_signal((uint64_t)c->doorbell);
}

/* The counters of all cores fit the half that lines leave. */
static void choose_queue_size(size_t counters)
{
	const uint32_t kept = QUEUE_OTHERS + ROOT->cpu_count * fragment_count(counters);
	for (queue_size = QUEUE; queue_size / 2 < kept;)
		queue_size *= 2;
}

void channels_init(int notification, size_t counters)
{
	uint32_t count = ROOT->channel_count < BOOT_MAX_CHANNELS ? ROOT->channel_count : BOOT_MAX_CHANNELS;
	choose_queue_size(counters);
	for (uint32_t i = 0; i < count; i++)
		channel_open(i, notification);
	__atomic_store_n(&channel_count, count, __ATOMIC_RELEASE);
}

bool channel_alive(uint32_t cluster)
{
	int index = channel_to(cluster);
	return index >= 0 && channel[index].state != LINK_DEAD;
}

/* `kept`: pieces for which there must be room behind it. */
static int channel_enqueue(struct channel *c, uint16_t type, const void *body, size_t size, uint32_t kept)
{
	uint32_t pieces = fragment_count(size);
	if (c->state == LINK_DEAD)
		return -SKERRY_PEER_DOWN;
	if (size > MESSAGE_SIZE_MAX)
		return -SKERRY_BAD_ARGUMENT;
	require(c->queue_tail - c->queue_head <= queue_size && kept < queue_size);
	if (pieces + kept > queue_size - (c->queue_tail - c->queue_head)) {
		if (!c->dropped++)
			console_print("the queue to cluster %u is full: messages are lost", c->peer);
		return -SKERRY_NO_RESOURCE;
	}
	for (uint32_t i = 0; i < pieces; i++)
		fragment_cut(&c->queue[c->queue_tail++ % queue_size], type, body, size, i);
	return 0;
}

static void send_queue(struct channel *c)
{
	bool sent = false;
	require(c->queue_tail - c->queue_head <= queue_size);
	while (c->state == LINK_UP && c->queue_head != c->queue_tail) {
		void *slot = ring_reserve(&c->out);
		if (!slot) {
			ring_arm_room(&c->out);
			slot = ring_reserve(&c->out);
			if (!slot)
				break;
		}
		memcpy(slot, &c->queue[c->queue_head++ % queue_size], sizeof(struct fragment));
		ring_publish(&c->out);
		sent = true;
	}
	if (sent && ring_wanted(&c->out))
		notification_signal((uint64_t)c->doorbell);
}

static int send_keeping(uint32_t cluster, uint16_t type, const void *body, size_t size, uint32_t kept)
{
	int index = channel_to(cluster);
	if (index < 0)
		return -SKERRY_NOT_FOUND;
	int error = channel_enqueue(&channel[index], type, body, size, kept);
	if (!error)
		send_queue(&channel[index]);
	return error;
}

int channel_send(uint32_t cluster, uint16_t type, const void *body, size_t size)
{
	return send_keeping(cluster, type, body, size, 0);
}

int channel_send_line(uint32_t cluster, uint16_t type, const void *body, size_t size)
{
	return send_keeping(cluster, type, body, size, queue_size / 2);
}

void channel_broadcast(uint16_t type, const void *body, size_t size)
{
	for (uint32_t i = 0; i < channel_count; i++)
		if (!channel_enqueue(&channel[i], type, body, size, 0))
			send_queue(&channel[i]);
}

/* Rate limit: takes one of the channel's SAY_LINES lines. False: none is left in this SAY_MS. */
static bool may_say(struct channel *c)
{
	uint64_t now = read_tsc();
	if (now - c->said_since >= milliseconds(SAY_MS)) {
		c->said_since = now;
		c->said = 0;
	}
	require(c->said <= SAY_LINES);
	if (c->said == SAY_LINES)
		return false;
	c->said++;
	return true;
}

static void log_complaint(struct channel *c, const char *what)
{
	if (may_say(c))
		console_print("cluster %u %s: a message is dropped", c->peer, what);
	else
		c->unsaid++;
}

void channel_complain(uint32_t cluster, const char *what)
{
	int index = channel_to(cluster);
	if (index >= 0)
		log_complaint(&channel[index], what);
}

/* Prints the complaints that log_complaint() kept back, once it may speak again; the messages lost, once the queue has
 * room for the line. */
static void channel_summarise(struct channel *c)
{
	if (c->dropped && c->queue_head == c->queue_tail && may_say(c)) {
		console_print("%u messages to cluster %u were lost: the queue was full", c->dropped, c->peer);
		c->dropped = 0;
	}
	if (c->unsaid && may_say(c)) {
		console_print("%u more messages from cluster %u were dropped", c->unsaid, c->peer);
		c->unsaid = 0;
	}
}

static void link_lose(struct channel *c, const char *text)
{
	require(c->state != LINK_DEAD);
	c->state = LINK_DEAD;
	c->queue_head = c->queue_tail;
	const struct mail mail = { .kind = MAIL_PEER_LOST, .cluster = c->peer, .body = text, .size = strlen(text) + 1 };
	mailbox_put(&mail);
}

void channel_is_watched(uint32_t cluster, const _Atomic uint32_t *life)
{
	int index = channel_to(cluster);
	if (index >= 0)
		channel[index].life = life;
}

uint32_t channel_peer_life(uint32_t cluster)
{
	int index = channel_to(cluster);
	return index >= 0 ? (uint32_t)channel[index].seen : 0;
}

bool channel_lose(uint32_t cluster, const char *text)
{
	int index = channel_to(cluster);
	if (index < 0 || channel[index].state == LINK_DEAD)
		return false;
	link_lose(&channel[index], text);
	return true;
}

static void put_in_mailbox(const struct channel *c)
{
	const struct assembly *a = c->assembly;
	require(a->total <= MESSAGE_SIZE_MAX);
	const struct mail mail = { .kind = MAIL_PEER, .type = a->type, .cluster = c->peer, .body = a->body,
	                           .size = a->total };
	mailbox_put(&mail);
}

/*
 * Takes at most `most` pieces and returns how many. Fewer than `most`: the ring
 * was empty and is armed, so that the peer's next piece rings our doorbell.
 * The mailbox has room for what they complete.
 */
static uint32_t channel_drain(struct channel *c, uint32_t most)
{
	uint32_t taken = 0;
	while (taken < most && c->state == LINK_UP) {
		struct fragment f;
		const void *slot = ring_peek(&c->in);
		if (!slot) {
			ring_arm(&c->in);
			slot = ring_peek(&c->in);
			if (!slot)
				break;
		}
		memcpy(&f, slot, sizeof(f));
		ring_release(&c->in);
		taken++;
		enum assembly_state state = fragment_join(c->assembly, &f);
		if (state == ASSEMBLY_WHOLE)
			put_in_mailbox(c);
		else if (state == ASSEMBLY_BROKEN)
			log_complaint(c, "broke the channel protocol");
	}
	if (taken && ring_room_wanted(&c->in))
		notification_signal((uint64_t)c->doorbell);
	return taken;
}

/* The peer's machine has been started again: its loader waits until this side has released the former life. */
static void look_at_loader(struct channel *c)
{
	if (!handshake_is_requested(&c->handshake))
		return;
	if (c->state != LINK_DEAD) {
		if (!may_say(c))
			return; /* it starts over and over: the timer has us look again */
		link_lose(c, "it started again");
	}
	channel_announce(c); /* the peer's former life may have overwritten this */
	handshake_grant(&c->handshake);
}

/* The handshake of channel.h: notices a peer that started, and when it has noticed us. */
static void look_at_peer(struct channel *c)
{
	uint64_t generation = atomic_load_explicit(&c->theirs->generation, memory_order_acquire);
	if (generation != c->seen) {
		if (atomic_load_explicit(&c->theirs->magic, memory_order_relaxed) != CHANNEL_MAGIC ||
		    atomic_load_explicit(&c->theirs->version, memory_order_relaxed) != CHANNEL_VERSION)
			return;
		if (c->life && atomic_load_explicit(c->life, memory_order_relaxed) != generation)
			return; /* the word was overwritten, or the peer has not seen yet that it has started again */
		if (!handshake_expects(&c->handshake, generation))
			return; /* the same */
		if (c->seen && c->state != LINK_DEAD) {
			if (!may_say(c))
				return; /* as above */
			link_lose(c, "it started again");
		}
		bool is_later = c->seen || ((c->life || c->handshake.theirs) && generation > 1); /* than its first */
		c->state = LINK_STARTING;
		c->seen = generation;
		start_rings(c);
		if (c->life || c->handshake.theirs)
			channel_announce(c); /* its former life may have overwritten this */
		c->alive_at = read_tsc();
		c->silent_ticks = 0;
		atomic_store_explicit(&c->mine->acknowledged, generation, memory_order_release);
		notification_signal((uint64_t)c->doorbell);
		if (is_later)
			mailbox_put(&(struct mail){ .kind = MAIL_PEER_BACK, .cluster = c->peer });
	}
	if (c->state == LINK_STARTING && c->seen &&
	    atomic_load_explicit(&c->theirs->acknowledged, memory_order_acquire) ==
		    c->generation)
		c->state = LINK_UP;
}

/*
 * Judged by our own clock, so that a peer cannot claim a heartbeat from the
 * future, and by our own timer ticks: where an emulator runs the cores in turn,
 * time alone may pass while the peer has had none.
 */
static void check_alive(struct channel *c)
{
	uint64_t now = read_tsc();
	uint64_t heartbeat = atomic_load_explicit(&c->theirs->heartbeat, memory_order_relaxed);
	uint32_t timeout = c->state == LINK_UP ? CHANNEL_DEAD_MS : CHANNEL_START_MS;
	if (heartbeat != c->heartbeat || (c->life && c->state == LINK_UP)) {
		c->heartbeat = heartbeat;
		c->alive_at = now;
		c->silent_ticks = 0;
	} else if (c->state != LINK_DEAD && ++c->silent_ticks > timeout / timer_ms() &&
		   now - c->alive_at > milliseconds(timeout)) {
		link_lose(c, c->seen ? "its heartbeat stopped" : "it never started");
	}
}

/* No peer that keeps to the protocol changes these words. */
static void check_header(struct channel *c)
{
	if (c->state == LINK_UP && (atomic_load_explicit(&c->theirs->magic, memory_order_relaxed) != CHANNEL_MAGIC ||
				    handshake_corrupted(&c->handshake)))
		link_lose(c, "it overwrote what it shares with us");
}

void channels_tick(void)
{
	for (uint32_t i = 0; i < channel_count; i++) {
		check_alive(&channel[i]);
		check_header(&channel[i]);
		channel_summarise(&channel[i]);
	}
}

/*
 * Channels take turns, from where the budget or the mailbox's room ran out the
 * last time, so that no peer starves another. When it returns true, a ring that
 * is not armed may hold more: its doorbell was consumed already and will not ring
 * again.
 */
bool channels_work(void)
{
	uint32_t budget = WORK_BUDGET, empty = 0;
	for (uint32_t i = 0; i < channel_count; i++) {
		look_at_loader(&channel[i]);
		look_at_peer(&channel[i]);
	}
	while (budget && empty < channel_count && mailbox_has_room(WORK_ROOM, WORK_SHARE)) {
		struct channel *c = &channel[next_channel];
		uint32_t share = budget < WORK_SHARE ? budget : WORK_SHARE;
		require(next_channel < channel_count && share <= WORK_SHARE);
		uint32_t taken = channel_drain(c, share);
		require(taken <= share);
		send_queue(c);
		next_channel = (next_channel + 1) % channel_count;
		budget -= taken;
		empty = taken < share ? empty + 1 : 0;
	}
	return empty < channel_count;
}

void channels_heartbeat(void)
{
	uint32_t count = __atomic_load_n(&channel_count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count; i++)
		atomic_store_explicit(&channel[i].mine->heartbeat, read_tsc(), memory_order_relaxed);
}
