/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers that publish without end, break the protocol, or start again and again hold nobody up. */
#define _GNU_SOURCE
#include <stdarg.h>
#include "message.h"
#include "test-link.h"

enum { PEERS = 2, FLOODER = 0, HONEST = 1, TYPE_GOOD = 1, TYPE_BAD = 2, ENDLESS = 100000, SECOND = 1000 };

static _Alignas(4096) uint8_t memory[PEERS][CHANNEL_RINGS + 2 * CHANNEL_RING];
static struct ring_end out[PEERS];
static unsigned received[PEERS], lost, back, lines, taken_at_once;
static char last_line[256];
static bool mailbox_takes = true;
static struct fragment flood; /* what the flooder's ring is filled with again and again; total 0: nothing */

void *channel_memory_map(uint32_t index) { return memory[index]; }
int channel_to(uint32_t cluster) { return cluster <= PEERS ? (int)cluster - 1 : -1; }

_Noreturn void manager_panic(const char *format, ...)
{
	fprintf(stderr, "manager panics: %s\n", format);
	exit(1);
}

static void publish(uint32_t peer, const struct fragment *f)
{
	void *slot = ring_reserve(&out[peer]);
	if (!slot)
		return;
	memcpy(slot, f, sizeof(*f));
	ring_publish(&out[peer]);
}

/* The flooder is as fast as a peer can be: what we take is there again at once. */
static void refill(void)
{
	for (unsigned i = 0; flood.total && i < CHANNEL_SLOTS; i++)
		publish(FLOODER, &flood);
	if (++taken_at_once > ENDLESS) {
		fprintf(stderr, "channels_work() does not return\n");
		exit(1);
	}
}

void console_print(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(last_line, sizeof(last_line), format, arguments);
	va_end(arguments);
	lines++;
	refill();
}

bool mailbox_has_room(size_t bytes, uint32_t count)
{
	CHECK(bytes + count * (MAIL_HEADER + 8) <= MAILBOX_SIZE - MAILBOX_KEPT);
	return mailbox_takes;
}

/* Delivers at once. */
int mailbox_put(const struct mail *mail)
{
	if (mail->kind == MAIL_PEER_LOST) {
		CHECK(mail->cluster == FLOODER + 1 && mail->size == strlen(mail->body) + 1 && mail->size > 1);
		lost++;
		return 0;
	}
	if (mail->kind == MAIL_PEER_BACK) {
		CHECK(mail->size == 0);
		back++;
		return 0;
	}
	CHECK(mail->kind == MAIL_PEER && mailbox_takes);
	received[mail->cluster - 1]++;
	refill();
	if (mail->type != TYPE_GOOD)
		channel_complain(mail->cluster, "lied");
	return 0;
}

static struct channel_side *peer_side(uint32_t peer) { return &((struct channel_header *)memory[peer])->side[1]; }

static void start_peer(uint32_t peer)
{
	struct channel_side *theirs = peer_side(peer);
	const struct channel_side *ours = &((struct channel_header *)memory[peer])->side[0];
	theirs->magic = CHANNEL_MAGIC;
	theirs->version = CHANNEL_VERSION;
	theirs->generation++;
	theirs->acknowledged = ours->generation;
	out[peer] = ring_producer_at(memory[peer] + CHANNEL_RINGS + CHANNEL_RING, CHANNEL_SLOTS,
				     channel_position(ours->generation, theirs->generation));
}

static unsigned work(void)
{
	unsigned calls = 1;
	for (; channels_work() && calls < ENDLESS; calls++)
		taken_at_once = 0;
	taken_at_once = 0;
	return calls;
}

/* Nothing is left, and a piece that comes now rings. */
static bool at_rest(uint32_t peer) { return !ring_peek(&channel[peer].in) && channel[peer].in.ring->wanted; }

/* A ring full of messages takes several calls, none is lost, and then the ring is armed. */
static void budget(void)
{
	const struct fragment one = { .type = TYPE_GOOD, .total = 1 };
	for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
		publish(HONEST, &one);
	CHECK(channels_work() && received[HONEST] <= WORK_BUDGET && !at_rest(HONEST));
	work();
	CHECK(received[HONEST] == CHANNEL_SLOTS && at_rest(HONEST) && at_rest(FLOODER));
}

/* A message without room in the mailbox stays in the ring, and channels_work() asks to be called again. */
static void full_mailbox(void)
{
	const struct fragment one = { .type = TYPE_GOOD, .total = 1 };
	const unsigned before = received[HONEST];
	publish(HONEST, &one);
	mailbox_takes = false;
	CHECK(channels_work() && channels_work() && received[HONEST] == before && !at_rest(HONEST));
	mailbox_takes = true;
	work();
	CHECK(received[HONEST] == before + 1 && at_rest(HONEST) && at_rest(FLOODER));
}

/* Each call returns, and each serves the other peer. */
static void endless(const struct fragment *f)
{
	const struct fragment one = { .type = TYPE_GOOD, .total = 1 };
	flood = *f;
	refill();
	for (unsigned i = 0; i < 100; i++) {
		unsigned before = received[HONEST];
		publish(HONEST, &one);
		taken_at_once = 0;
		CHECK(channels_work());
		refill();
		CHECK(received[HONEST] == before + 1);
	}
	flood.total = 0;
	work();
	CHECK(at_rest(FLOODER) && at_rest(HONEST));
}

/* Broken pieces, and whole messages that may not be sent: a few lines, later one that counts the rest. */
static void complaints(void)
{
	static const struct fragment bad[] = {
		{ .type = TYPE_GOOD, .total = 1, .offset = 7 }, { .type = TYPE_BAD, .total = 1 },
	};
	for (unsigned i = 0; i < 2; i++) {
		now += SECOND;
		channels_tick();
		lines = 0;
		endless(&bad[i]);
		CHECK(lines == SAY_LINES && channel[FLOODER].unsaid > 1000);
		channels_tick();
		CHECK(lines == SAY_LINES);
		now += SECOND;
		channels_tick();
		CHECK(lines == SAY_LINES + 1 && !channel[FLOODER].unsaid);
		CHECK(!strncmp(last_line + strnlen(last_line, sizeof(last_line)) - 41,
		               "more messages from cluster 1 were dropped", 41));
		channels_tick();
		CHECK(lines == SAY_LINES + 1);
	}
}

/* A peer that starts again without end is noticed now and then, and in the end. */
static void restarts(void)
{
	const struct fragment one = { .type = TYPE_GOOD, .total = 1 };
	now += SECOND;
	lost = 0;
	for (unsigned i = 0; i < 1000; i++) {
		start_peer(FLOODER);
		work();
	}
	CHECK(lost == SAY_LINES);
	now += SECOND;
	work();
	CHECK(lost == SAY_LINES + 1);
	unsigned before = received[FLOODER];
	publish(FLOODER, &one);
	work();
	CHECK(received[FLOODER] == before + 1 && channel_alive(FLOODER + 1));
}

/* Console lines that a peer does not take fill a part of the queue only: a report behind them leaves, and the loss is
 * said. */
static void full_queue(void)
{
	static struct ring_end in;
	const uint32_t peer = HONEST + 1;
	uint16_t last = 0;
	unsigned taken = 0, sent = 0;
	in = ring_consumer_at(memory[HONEST] + CHANNEL_RINGS, CHANNEL_SLOTS,
			      channel_position(channel[HONEST].seen, channel[HONEST].mine->generation));
	now += SECOND;
	lines = 0;
	while (!channel_send_line(peer, TYPE_GOOD, "line", 4) && sent < 2 * queue_size)
		sent++;
	CHECK(sent == CHANNEL_SLOTS + queue_size / 2 && lines == 1);
	for (unsigned i = 0; i < 100; i++)
		CHECK(channel_send_line(peer, TYPE_GOOD, "line", 4) == -SKERRY_NO_RESOURCE);
	CHECK(!channel_send(peer, TYPE_BAD, "exited..", 8));
	channels_tick();
	CHECK(lines == 1);
	for (const struct fragment *f; (f = ring_peek(&in)) != NULL; taken++) {
		last = f->type;
		ring_release(&in);
		work();
	}
	CHECK(taken == sent + 1 && last == TYPE_BAD);
	channels_tick();
	CHECK(lines == 2 && !strncmp(last_line, "101 messages to cluster 2 were lost", 35));
	channels_tick();
	CHECK(lines == 2);
}

/* Behind as many lines as there may be, a peer that takes nothing yet is sent the counters of each core. */
static void counters(void)
{
	static const uint32_t cores[] = { 1, 60, 170, 1023 };
	static struct report_record record;
	struct root_info *root = (struct root_info *)ROOT_INFO_VADDR;
	for (unsigned i = 0; i < sizeof(cores) / sizeof(cores[0]); i++) {
		root->cpu_count = cores[i];
		choose_queue_size(sizeof(struct report_brief));
		struct channel c = { .state = LINK_STARTING, .queue = calloc(queue_size, sizeof(*c.queue)) };
		while (!channel_enqueue(&c, TYPE_GOOD, "line", 4, queue_size / 2))
			;
		CHECK(c.dropped == 1);
		for (unsigned core = 0; core < cores[i]; core++)
			CHECK(!channel_enqueue(&c, REPORT_STATS_CORE, &record, sizeof(struct report_brief), 0));
		CHECK(!channel_enqueue(&c, REPORT_LOCKS, &record, sizeof(record), 0));
		CHECK(c.dropped == 1 && queue_size <= 1 << 16);
		free(c.queue);
	}
}

/* Death takes a silence of our clock and of as many of our ticks: cores that take turns, or a stopped machine, do not
 * die. */
static void silence(void)
{
	const unsigned ticks = CHANNEL_DEAD_MS / TIMER_MS;
	peer_side(FLOODER)->heartbeat++;
	peer_side(HONEST)->heartbeat++;
	channels_tick();
	lost = 0;
	for (unsigned i = 0; i < 5 * ticks; i++) {
		now += CHANNEL_DEAD_MS / (6 * ticks); /* many ticks, less than a second */
		channels_tick();
	}
	CHECK(!lost);
	peer_side(FLOODER)->heartbeat++;
	peer_side(HONEST)->heartbeat++;
	channels_tick();
	for (unsigned i = 0; i < ticks; i++) {
		now += 10 * SECOND; /* few ticks, minutes */
		channels_tick();
	}
	CHECK(!lost);
	peer_side(HONEST)->heartbeat++;
	channels_tick();
	CHECK(lost == 1 && !channel_alive(FLOODER + 1) && channel_alive(HONEST + 1));
}

/* The ledger's watcher judges instead, where there is one; a header that is overwritten ends the channel at once. */
static void watched(void)
{
	const unsigned ticks = 3 * CHANNEL_DEAD_MS / TIMER_MS;
	static _Atomic uint32_t life = 1000;
	channel_is_watched(HONEST + 1, &life);
	for (unsigned i = 0; i < ticks; i++) {
		now += TIMER_MS;
		channels_tick();
	}
	CHECK(channel_alive(HONEST + 1));
	CHECK(!channel_lose(PEERS + 1, "no such channel"));
	channel[FLOODER].state = LINK_UP;
	lost = 0;
	CHECK(channel_lose(FLOODER + 1, "its kernel panicked") && !channel_lose(FLOODER + 1, "again"));
	CHECK(lost == 1 && !channel_alive(FLOODER + 1));
	channel[FLOODER].state = LINK_UP;
	channel[FLOODER].life = &life;
	peer_side(FLOODER)->magic++;
	channels_tick();
	CHECK(lost == 2 && !channel_alive(FLOODER + 1) && channel_alive(HONEST + 1));
}

/* A generation that is not the life which the watcher knows of changes nothing; our own half is said again to a new
 * life. */
static void lives(void)
{
	static _Atomic uint32_t life = 5;
	struct channel *c = &channel[FLOODER];
	channel_is_watched(FLOODER + 1, &life);
	c->state = LINK_UP;
	c->seen = 5;
	lost = back = 0;
	peer_side(FLOODER)->magic = CHANNEL_MAGIC;
	peer_side(FLOODER)->generation = 6;
	work();
	CHECK(!lost && c->state == LINK_UP && c->seen == 5);
	c->mine->generation = 77;
	c->mine->magic = 0;
	life = 6;
	work();
	CHECK(lost == 1 && back == 1 && c->seen == 6 && c->mine->generation == c->generation &&
	      c->mine->magic == CHANNEL_MAGIC);
	CHECK(c->mine->acknowledged == 6);
	peer_side(FLOODER)->generation = 5; /* a former one */
	work();
	CHECK(lost == 1 && c->seen == 6);
}

/* A peer of another version, which lays out doorbells or rings in another way, is none. */
static void versions(void)
{
	struct channel *c = &channel[HONEST];
	const uint64_t seen = c->seen;
	c->life = NULL;
	for (int difference = -1; difference <= 1; difference++) {
		c->state = LINK_DEAD;
		peer_side(HONEST)->version = (uint32_t)(CHANNEL_VERSION + difference);
		peer_side(HONEST)->generation = seen + 1;
		work();
		CHECK((c->seen == seen + 1) == !difference);
		c->seen = seen;
	}
}

int main(void)
{
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	root->tsc_hz = 1000; /* a cycle is a millisecond */
	root->channel_count = PEERS;
	for (uint32_t i = 0; i < PEERS; i++)
		root->channel[i] = (struct root_channel){ .id = i, .peer = i + 1 };
	channels_init(1, sizeof(struct report_brief));
	for (uint32_t i = 0; i < PEERS; i++)
		start_peer(i);
	work();
	CHECK(channel[FLOODER].state == LINK_UP && channel[HONEST].state == LINK_UP);
	budget();
	full_mailbox();
	endless(&(struct fragment){ .type = TYPE_GOOD, .total = 1 });
	complaints();
	restarts();
	full_queue();
	silence();
	watched();
	lives();
	versions();
	counters();
	return failures != 0;
}
