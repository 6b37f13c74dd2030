/* SPDX-License-Identifier: BSD-2-Clause */
/* Two kernels in this process, joined by a channel. */
#include <skerry/doorbell.h>
#include "channel.h"
#include "check.h"
#include "harness.h"
#include "notification.h"

enum { NOTE = 1000, BADGED = 1001, BELL = 1002, NUMBER = 70 };

static struct hosted *pair[2];

static void begin_apart(unsigned cores, bool remote)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct hosted_link link = { .id = 1, .side = side, .peer = 11 - side, .peer_cores = cores,
			                          .remote = remote };
		struct hosted_config config = { .cluster = 10 + side, .cores = cores, .seed = machine->config.seed,
			                        .threads = machine->config.threads, .channel_count = 1,
			                        .channel = &link };
		pair[side] = hosted_create(&config);
	}
}

static void begin(unsigned cores) { begin_apart(cores, false); }

static void end(void)
{
	for (unsigned side = 0; side < 2; side++)
		hosted_destroy(pair[side]);
}

static void run_both(void)
{
	hosted_run_all(pair, 2);
	kernel_check(pair[0]);
	kernel_check(pair[1]);
}

/* Side 1 listens on `core`, side 0 has the bell. */
static void listen(unsigned core)
{
	struct hosted *saved = machine;
	machine = pair[1];
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	copy(BADGED, NOTE, RIGHT_WRITE, 8);
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(DOORBELL_COUNT, core), W(BADGED)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER, 60), W(BADGED)), SKERRY_BAD_ARGUMENT);
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER), W(BADGED)), SKERRY_TRUNCATED);
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER, core), NONE), SKERRY_BAD_CAP);
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER, core), W(BADGED)), 0);
	machine = pair[0];
	EXPECT(call(CNODE, CNODE_MINT, W(BELL, ROOT_SLOT_CHANNEL, RIGHT_ALL, DOORBELL_COUNT), W(CNODE)),
	       SKERRY_BAD_ARGUMENT);
	EXPECT(call(CNODE, CNODE_MINT, W(BELL, ROOT_SLOT_CHANNEL, RIGHT_ALL, NUMBER), W(CNODE)), 0);
	copy(BELL + 1, BELL, RIGHT_READ, 0);
	/* derived from */
	EXPECT(call(CNODE, CNODE_MUTATE, W(BELL + 2, ROOT_SLOT_CHANNEL, RIGHT_ALL, 0), W(CNODE)), SKERRY_BUSY);
	machine = saved;
}

static uint64_t ring(uint64_t bell)
{
	struct hosted *saved = machine;
	machine = pair[0];
	uint64_t error = simple(0, SYS_SIGNAL, bell);
	run_both();
	machine = saved;
	return error;
}

static uint64_t received(void)
{
	struct hosted *saved = machine;
	machine = pair[1];
	EXPECT(simple(0, SYS_POLL, NOTE), 0);
	uint64_t word = badge(running(0));
	machine = saved;
	return word;
}

static void a_bell_is_received(void)
{
	begin(1);
	listen(0);
	EXPECT(ring(BELL), 0);
	EXPECT(ring(BELL), 0);
	EXPECT(received(), 8);
	EXPECT(received(), 0);
	EXPECT(ring(BELL + 1), SKERRY_NO_RIGHTS);
	EXPECT(received(), 0);
	end();
}

static void it_wakes_on_the_listening_core(void)
{
	begin(2);
	listen(1);
	struct hosted *saved = machine;
	machine = pair[1];
	struct thread *waiter = make_thread(1010, 100, 1);
	simple(1, SYS_WAIT, NOTE);
	EXPECT(running(1), 0);
	machine = saved;
	EXPECT(ring(BELL), 0);
	EXPECT(pair[1]->kernel.cpu[1]->shared.current == waiter, true);
	EXPECT(badge(waiter), 8);
	end();
}

/* Returns the cores that must be interrupted, as bits. */
static uint64_t rung_all(const struct channel_end *end)
{
	struct boot_cores cores = { 0 };
	doorbells_ring_all(end, &cores);
	return cores.word[0];
}

/* Of a kernel that panics: its peer's listeners are signalled, on the cores that they chose, and nobody else is. */
static void all_bells_of_a_panic(void)
{
	begin(2);
	listen(1);
	const struct channel_end *ends[] = { &pair[0]->kernel.channel[0], &pair[1]->kernel.channel[0] };
	EXPECT(rung_all(ends[0]), 2);
	EXPECT(rung_all(ends[1]), 0);
	hosted_interrupt(&pair[1]->core[1], HOSTED_VECTOR_DOORBELL);
	run_both();
	EXPECT(received(), 8);
	/* what no core of the peer is */
	atomic_store(&ends[0]->ring->route[NUMBER + 1], (uint16_t)ends[0]->peer_cpu_count);
	EXPECT(rung_all(ends[0]), 2);
	end();
	begin_apart(2, true);
	listen(1);
	EXPECT(rung_all(&pair[0]->kernel.channel[0]), 0); /* the peer polls */
	end();
}

static void a_revoked_listener_receives_nothing(void)
{
	begin(1);
	listen(0);
	struct hosted *saved = machine;
	machine = pair[1];
	revoke(NOTE);
	delete(NOTE);
	machine = saved;
	EXPECT(ring(BELL), 0);
	end();
}

/* The peer's half of the page holds whatever a hostile kernel may write. */
static void a_hostile_peer(void)
{
	begin(1);
	listen(0);
	struct doorbell_area *rx_page = pair[1]->kernel.channel[0].rx, *ring_page = pair[0]->kernel.channel[0].ring;
	EXPECT(rx_page, ring_page);
	for (unsigned core = 0; core < HOSTED_CORES; core++)
		for (unsigned i = 0; i < DOORBELL_COUNT / 64; i++)
			rx_page->core[core].pending[i] = ~0ull;
	hosted_interrupt(&pair[1]->core[0], HOSTED_VECTOR_DOORBELL);
	run_both();
	EXPECT(received(), 8); /* only what was bound */
	for (unsigned i = 0; i < DOORBELL_COUNT; i++)
		ring_page->route[i] = 200; /* a core that is not there */
	EXPECT(ring(BELL), 0);
	EXPECT(received(), 0);
	end();
}

static void the_peer_has_gone(void)
{
	begin(1);
	listen(0);
	hosted_destroy(pair[1]);
	struct hosted *saved = machine;
	machine = pair[0];
	EXPECT(simple(0, SYS_SIGNAL, BELL), 0);
	machine = saved;
	hosted_destroy(pair[0]);
}

/* Two machines: nothing interrupts, the listening core looks when its time has come, and looks again. */
static void a_remote_bell(void)
{
	enum { LOOK = 200 * 1000 }; /* ticks of a clock of 1 GHz */
	for (unsigned core = 0; core < 2; core++) {
		begin_apart(2, true);
		listen(core);
		struct hosted *saved = machine;
		machine = pair[1];
		run_both(); /* a core that another one told to listen begins to poll */
		uint64_t poll_at = pair[1]->kernel.cpu[core]->own.poll_at;
		EXPECT(poll_at > 0, true);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER, core), W(BADGED)), 0);
		run_both();
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER + 1, core), W(BADGED)), 0);
		run_both();
		EXPECT(pair[1]->kernel.cpu[core]->own.poll_at, poll_at); /* whatever comes before: not later */
		struct thread *waiter = core ? make_thread(1010, 100, core) : pair[1]->root;
		for (unsigned round = 0; round < 3; round++) {
			machine = pair[1];
			simple(core, SYS_WAIT, NOTE);
			machine = saved;
			EXPECT(waiter->state, THREAD_WAITING);
			uint32_t entries = pair[1]->core[0].entries + pair[1]->core[1].entries;
			EXPECT(ring(BELL), 0);
			/* no core with such a number here is interrupted */
			EXPECT(pair[1]->core[0].entries + pair[1]->core[1].entries, entries);
			EXPECT(waiter->state, THREAD_WAITING);
			hosted_advance(pair[1], LOOK);
			run_both();
			EXPECT(waiter->state, THREAD_READY);
			EXPECT(badge(waiter), 8);
		}
		EXPECT(pair[1]->kernel.cpu[!core]->own.poll_at, 0);
		end();
	}
}

/*
 * A remote doorbell goes from core 1 to core 0: core 1 polls no more. What a peer that knew the old route rings there
 * later is received all the same, and core 1 can have the doorbell back.
 */
static void a_remote_bell_that_moves(void)
{
	enum { LOOK = 200 * 1000, ROUNDS = 3 };
	begin_apart(2, true);
	listen(1);
	struct hosted *saved = machine;
	machine = pair[1];
	run_both();
	const struct kernel *kernel = &pair[1]->kernel;
	const struct thread *waiter = pair[1]->root;
	for (unsigned round = 0; round < ROUNDS; round++) {
		EXPECT(kernel->cpu[1]->own.poll_at > 0 && !kernel->cpu[0]->own.poll_at, true);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER, 0), W(BADGED)), 0);
		hosted_advance(pair[1], LOOK);
		run_both();
		EXPECT(kernel->cpu[1]->own.poll_at, 0);
		EXPECT(kernel->cpu[1]->shared.remote_bells, 0);
		simple(0, SYS_WAIT, NOTE);
		EXPECT(waiter->state, THREAD_WAITING);
		atomic_fetch_or(&kernel->channel[0].rx->core[1].pending[NUMBER / 64], 1ull << NUMBER % 64);
		hosted_advance(pair[1], LOOK);
		run_both();
		EXPECT(waiter->state, THREAD_READY);
		EXPECT(badge(waiter), 8);
		EXPECT(kernel->cpu[1]->own.poll_at, 0);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER, 1), W(BADGED)), 0);
		hosted_advance(pair[1], LOOK);
		run_both();
	}
	machine = saved;
	end();
}

/* A notification that only its listener still names, with many waiters, makes way for another. */
static void a_listener_is_replaced(void)
{
	enum { OLD = 1200, WAITER = 1300, COUNT = 60 };
	struct hosted *saved = machine;
	const struct thread *waiter[COUNT];
	unsigned signalled = 0, deleted = 0;
	begin(1);
	machine = pair[1];
	make(OBJECT_NOTIFICATION, 0, OLD, 1);
	for (unsigned i = 0; i < COUNT; i++)
		waiter[i] = make_thread(WAITER + 2 * i, 100, 0);
	root_priority(10);
	for (unsigned i = 0; i < COUNT; i++)
		simple(0, SYS_WAIT, OLD);
	root_priority(200);
	EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER, 0), W(OLD)), 0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	copy(BADGED, NOTE, RIGHT_WRITE, 8);
	delete(OLD);
	machine = pair[0];
	EXPECT(call(CNODE, CNODE_MINT, W(BELL, ROOT_SLOT_CHANNEL, RIGHT_ALL, NUMBER), W(CNODE)), 0);

	machine = pair[1];
	struct hosted_call listen_call = { .number = SYS_CALL, .cptr = ROOT_SLOT_CHANNEL,
		                           .info = message_info(CHANNEL_LISTEN, 1, 2), .word = { NUMBER, 0 } };
	thread_ipc_buffer(machine->root)->caps[0] = BADGED;
	hosted_post_call(machine, 0, &listen_call);
	enter_once();
	EXPECT(machine->root->context.again, true);
	EXPECT(waiter[0]->state, THREAD_READY);
	EXPECT(waiter[COUNT - 1]->state, THREAD_WAITING);
	machine = pair[0]; /* between two budgets the bell is still the old one's */
	EXPECT(simple(0, SYS_SIGNAL, BELL), 0);
	machine = pair[1];
	enter_once();
	run_both();
	EXPECT(result(machine->root), 0);
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(waiter[i]->state, THREAD_READY);
		signalled += result(waiter[i]) == 0;
		deleted += result(waiter[i]) == SKERRY_DELETED;
	}
	EXPECT(signalled, 1);
	EXPECT(deleted, COUNT - 1);
	machine = saved;
	EXPECT(received(), 0);
	EXPECT(ring(BELL), 0);
	EXPECT(received(), 8);
	end();
}

enum { BELLS = 1200, NOTES = 1400, COUNT = 100 };

/* The second of the pair listens to all of them, and the first rings them. */
static void ring_many(struct hosted *saved)
{
	pair[1]->kernel.work_budget = saved->kernel.work_budget;
	machine = pair[1];
	make(OBJECT_NOTIFICATION, 0, NOTES, COUNT);
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(i, 0), W(NOTES + i)), 0);
	machine = pair[0];
	for (unsigned i = 0; i < COUNT; i++) {
		EXPECT(call(CNODE, CNODE_MINT, W(BELLS + i, ROOT_SLOT_CHANNEL, RIGHT_ALL, i), W(CNODE)), 0);
		EXPECT(simple(0, SYS_SIGNAL, BELLS + i), 0);
	}
	machine = pair[1];
}

static unsigned received_of_many(void)
{
	unsigned count = 0;
	for (unsigned i = 0; i < COUNT; i++)
		count += ((const struct notification *)slot_of(NOTES + i)->cap.object)->word;
	return count;
}

/* Each is received once, in as many entries as it takes. */
static void more_bells_than_a_budget(void)
{
	struct hosted *saved = machine;
	unsigned entries = 0;
	begin(1);
	ring_many(saved);
	for (unsigned now = 0, before = 0; now < COUNT; before = now, entries++) {
		enter_once();
		now = received_of_many();
		EXPECT(now > before, true);
		if (machine->kernel.work_budget == 1)
			EXPECT(now, before + 1);
	}
	EXPECT(entries > 1, true);
	settle();
	for (unsigned i = 0; i < COUNT; i++)
		EXPECT(((const struct notification *)slot_of(NOTES + i)->cap.object)->word, 1);
	machine = saved;
	end();
}

/* Of two channels one peer rings all its bells before each entry: the other is received in its turn, local or
 * remote. */
static void receive_beside_a_flood(bool remote)
{
	enum { LOOK = 200 * 1000, ENTRIES = 4 };
	struct hosted *saved = machine;
	const struct hosted_link link[2] = { { .id = 1, .side = 0, .peer = 11, .peer_cores = 1, .remote = remote },
		                             { .id = 2, .side = 0, .peer = 12, .peer_cores = 1, .remote = remote } };
	const struct hosted_config config = { .cluster = 10, .cores = 1, .channel_count = 2, .channel = link,
		                              .threads = saved->config.threads };
	machine = hosted_create(&config);
	machine->kernel.work_budget = 1; /* a bell an entry */
	make(OBJECT_NOTIFICATION, 0, NOTE, 2);
	for (unsigned c = 0; c < 2; c++)
		EXPECT(call(ROOT_SLOT_CHANNEL + c, CHANNEL_LISTEN, W(NUMBER, 0), W(NOTE + c)), 0);
	const struct notification *other = (const struct notification *)slot_of(NOTE + 1)->cap.object;
	struct doorbell_area *page[2] = { machine->kernel.channel[0].rx, machine->kernel.channel[1].rx };
	page[1]->core[0].pending[NUMBER / 64] = 1ull << NUMBER % 64;
	for (unsigned entry = 0; entry < ENTRIES && !other->word; entry++) {
		for (unsigned i = 0; i < DOORBELL_COUNT / 64; i++)
			page[0]->core[0].pending[i] = ~0ull;
		if (remote)
			hosted_advance(machine, LOOK);
		else
			hosted_interrupt(&machine->core[0], HOSTED_VECTOR_DOORBELL);
		enter_once();
	}
	EXPECT(other->word, 1);
	hosted_destroy(machine);
	machine = saved;
}

static void a_flood_drowns_no_other(void)
{
	receive_beside_a_flood(false);
	receive_beside_a_flood(true);
}

/* Of another machine each look receives as many as it has time for: a peer that rings without end gets no more of the
 * core. */
static void more_remote_bells_than_a_budget(void)
{
	enum { LOOK = 200 * 1000 }; /* ticks of a clock of 1 GHz */
	struct hosted *saved = machine;
	unsigned looks = 0;
	begin_apart(1, true);
	ring_many(saved);
	for (unsigned now = 0, before = 0; now < COUNT && looks <= COUNT; before = now, looks++) {
		hosted_advance(machine, LOOK);
		settle();
		now = received_of_many();
		EXPECT(now > before, true);
	}
	EXPECT(looks > 1, true);
	machine = saved;
	end();
}

TESTS(doorbells) = {
	{ "a bell is received", a_bell_is_received, 1 },
	{ "it wakes on the listening core", it_wakes_on_the_listening_core, 2 },
	{ "a remote bell", a_remote_bell, 2 },
	{ "a remote bell that moves", a_remote_bell_that_moves, 2 },
	{ "all bells of a kernel that panics", all_bells_of_a_panic, 2 },
	{ "a revoked listener receives nothing", a_revoked_listener_receives_nothing, 1 },
	{ "a hostile peer", a_hostile_peer, 1 },
	{ "a listener with many waiters is replaced", a_listener_is_replaced, 1 },
	{ "more bells than a budget", more_bells_than_a_budget, 1 },
	{ "more remote bells than a budget", more_remote_bells_than_a_budget, 1 },
	{ "a flood of bells drowns no other channel", a_flood_drowns_no_other, 1 },
	{ "the peer has gone", the_peer_has_gone, 1 },
	{ 0 },
};
