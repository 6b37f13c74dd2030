/* SPDX-License-Identifier: BSD-2-Clause */
/* Two kernels and the page between them: a doorbell against its waiters, and two doorbells against each other. */
#include <skerry/doorbell.h>
#include "machine.h"
#include "notification.h"

enum { A = 1000, NOTE = 1050, BADGED, BELL = 1060, NUMBER = 7, BELLS = 2 };

static struct hosted *peer;
static struct thread *root, *a, *listener;

/* Bell NUMBER + i signals with badge 1 << i. */
static void listen(unsigned core)
{
	listener = running(0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	for (unsigned i = 0; i < BELLS; i++) {
		copy(BADGED + i, NOTE, RIGHT_WRITE, 1 << i);
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(NUMBER + i, core), W(BADGED + i)), 0);
	}
	if (core)
		listener = make_thread(A, 100, core);
}

/* The peer listens on `core`; its thread there, or on core 0 its root task, waits for a bell `waits` times. */
static void make_pair(unsigned ringing_cores, unsigned core, unsigned waits)
{
	peer = machine_make_pair(ringing_cores, core + 1);
	struct hosted *ringing = machine;
	machine = peer;
	listen(core);
	machine = ringing;
	root = running(0);
	for (unsigned i = 0; i < BELLS; i++)
		EXPECT(call(CNODE, CNODE_MINT, W(BELL + i, ROOT_SLOT_CHANNEL, RIGHT_ALL, NUMBER + i), W(CNODE)), 0);
	for (unsigned i = 0; i < waits; i++)
		machine_does(listener, SYS_WAIT, NOTE);
	explore_name(peer->kernel.channel[0].rx, 4096, "the doorbell page");
}

static void one_ring(void)
{
	make_pair(1, 0, 1);
	machine_does(root, SYS_SIGNAL, BELL);
}

/* Two bells: both badges arrive, at once or one after the other. */
static void two_rings(void)
{
	make_pair(1, 0, 1);
	machine_does(root, SYS_SIGNAL, BELL);
	machine_does(root, SYS_SIGNAL, BELL + 1);
}

static void two_ringers(void)
{
	make_pair(2, 0, 1);
	a = make_thread(A, 100, 1);
	machine_does(root, SYS_SIGNAL, BELL);
	machine_does(a, SYS_SIGNAL, BELL + 1);
}

static void on_another_core(void)
{
	make_pair(1, 1, 1);
	machine_does(root, SYS_SIGNAL, BELL);
}

static void received(void)
{
	machine_check();
	EXPLORE_CHECK(listener->state == THREAD_READY, "the listener sleeps though the bell was rung");
	for (unsigned i = 0; i < peer->config.cores; i++)
		EXPLORE_CHECK(!peer->kernel.channel[0].rx->core[i].pending[0], "a bell was rung and nobody looks");
}

static void both_received(void)
{
	received();
	uint64_t later = ((const struct notification *)peer->root_cnode[NOTE].cap.object)->word;
	EXPLORE_CHECK((badge(listener) | later) == 3, "a bell is lost: %llu came",
	              (unsigned long long)(badge(listener) | later));
}

/* The listener is removed while the doorbell is rung. */
static void revoked(void)
{
	make_pair(1, 0, 0);
	machine_does(root, SYS_SIGNAL, BELL);
	machine_invokes(listener, CNODE, CNODE_DELETE, BADGED, 0, 0);
}

/* Each listens, tells the other, and waits: both may be told, but not neither. */
static struct thread *opener[2];

static void two_openers(void)
{
	peer = machine_make_pair(1, 1);
	struct hosted *const both[] = { peer, machine };
	for (unsigned i = 0; i < 2; i++) {
		machine = both[i];
		opener[i] = running(0);
		make(OBJECT_NOTIFICATION, 0, NOTE, 1);
		copy(BADGED, NOTE, RIGHT_WRITE, 1);
		EXPECT(call(CNODE, CNODE_MINT, W(BELL, ROOT_SLOT_CHANNEL, RIGHT_ALL, NUMBER), W(CNODE)), 0);
		machine_invokes(opener[i], ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, NUMBER, 0, BADGED);
		machine_does(opener[i], SYS_SIGNAL, BELL);
		machine_does(opener[i], SYS_WAIT, NOTE);
	}
}

static void one_told(void)
{
	machine_check();
	EXPLORE_CHECK(opener[0]->state == THREAD_READY || opener[1]->state == THREAD_READY,
	              "both listen and neither is told");
}

static void nothing_left(void)
{
	machine_check();
	EXPLORE_CHECK(!peer->kernel.channel[0].rx->core[0].pending[0], "a bell was rung and nobody looks");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("a ring meets a wait", 2, one_ring, received),
	MACHINE_CASE("two bells", 2, two_rings, both_received),
	MACHINE_CASE("rings from two cores", 3, two_ringers, both_received),
	MACHINE_CASE("a ring for another core", 3, on_another_core, received),
	MACHINE_CASE("a ring meets the listener's end", 2, revoked, nothing_left),
	MACHINE_CASE("both begin to listen", 2, two_openers, one_told),
	{ 0 },
};

int main(int argc, char **argv) { return explore_main(argc, argv, cases); }
