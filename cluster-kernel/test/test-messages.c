/* SPDX-License-Identifier: BSD-2-Clause */
/* What a message takes with it: words and capabilities; the same by the fast path and by the slow one. */
#include <string.h>
#include "endpoint.h"
#include "harness.h"
#include "message.h"
#include "reply.h"

enum { EP = 1000, REPLY = 1001, PLAIN = 1002, GIFT = 1010, NODE = 1020, WEAK_NODE = 1021, SERVER = 1030, OTHER = 1040 };
enum { RECEIVED = 3000, ANSWERED = 3100, LONG = 10, EQUAL = 100 };

static struct thread *client, *server;

static void wants(const struct thread *thread, uint64_t node, uint64_t slot)
{
	thread_ipc_buffer(thread)->receive_cnode = node;
	thread_ipc_buffer(thread)->receive_slot = slot;
}

/* The root task is the client; both have the same priority and run when the other waits. PLAIN has no GRANT. */
static void begin(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	make(OBJECT_NOTIFICATION, 0, GIFT, MESSAGE_CAPS_MAX);
	copy(PLAIN, EP, RIGHT_READ | RIGHT_WRITE, 0);
	client = machine->root;
	server = make_thread(SERVER, EQUAL, 0);
	wants(server, CNODE, RECEIVED);
	wants(client, CNODE, ANSWERED);
	root_priority(EQUAL);
	simple(0, SYS_YIELD, 0);
	EXPECT(running(0), server);
}

static void receive(uint64_t cptr) { syscall_on(0, SYS_RECV, cptr, 0, NONE, NONE, REPLY); }

static void begin_received(uint64_t cptr)
{
	begin();
	receive(cptr);
	EXPECT(running(0), client);
}

static unsigned arrived(const struct thread *thread) { return message_caps(context_info(&thread->context)); }

/* The client calls with these capabilities; how many reached the server. */
static unsigned give(uint64_t cptr, const uint64_t *caps, unsigned count)
{
	EXPECT(running(0), client);
	syscall_on(0, SYS_CALL, cptr, 7, W(70), caps, count, 0);
	EXPECT(running(0), server);
	EXPECT(word(server, 0), 70);
	EXPECT(message_label(context_info(&server->context)), 7);
	return arrived(server);
}

/* The server answers so and receives through `cptr`; how many reached the client. */
static unsigned answer(uint64_t cptr, const uint64_t *caps, unsigned count)
{
	EXPECT(running(0), server);
	syscall_on(0, SYS_REPLY_RECV, cptr, 8, W(80), caps, count, REPLY);
	EXPECT(running(0), client);
	EXPECT(result(client), 0);
	EXPECT(word(client, 0), 80);
	return arrived(client);
}

/* Copies of the first `count` gifts stand there, and nothing after them; they go with what they were made from. */
static void expect_gifts(uint64_t at, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		EXPECT(slot_of(at + i)->cap.type, OBJECT_NOTIFICATION);
		EXPECT(slot_of(at + i)->cap.object, slot_of(GIFT + i)->cap.object);
		EXPECT(slot_of(GIFT + i)->open.next == &slot_of(at + i)->open, true);
	}
	EXPECT(slot_of(at + count)->cap.type, 0);
}

static void clear(uint64_t at)
{
	for (unsigned i = 0; i < MESSAGE_CAPS_MAX; i++)
		delete(at + i);
}

static void capabilities_arrive(void)
{
	begin_received(EP);
	for (unsigned count = 1; count <= MESSAGE_CAPS_MAX; count++) {
		EXPECT(give(EP, (const uint64_t[]){ GIFT, GIFT + 1, GIFT + 2 }, count), count);
		expect_gifts(RECEIVED, count);
		answer(EP, NONE);
		clear(RECEIVED);
	}
	EXPECT(give(EP, W(GIFT, GIFT + 1)), 2);
	answer(EP, NONE);
	revoke(GIFT);
	EXPECT(slot_of(RECEIVED)->cap.type, 0);
	EXPECT(slot_of(RECEIVED + 1)->cap.type, OBJECT_NOTIFICATION);
}

static void they_do_not_without_grant(void)
{
	begin_received(EP);
	EXPECT(give(PLAIN, W(GIFT, GIFT + 1, GIFT + 2)), 0);
	expect_gifts(RECEIVED, 0);
}

static void the_first_that_cannot_ends_it(void)
{
	begin_received(EP);
	make(OBJECT_PAGE_TABLE, 0, OTHER, 1);
	EXPECT(call(ROOT_SLOT_IRQ_CONTROL, IRQ_GET_IOAPIC, W(OTHER + 1, 0, 3, 0), W(CNODE)), 0);
	/* of some there is but one; an empty slot; none; no such slot */
	const uint64_t bad[] = { U, OTHER, OTHER + 1, OTHER + 2, 0, 1ull << 40 };
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		for (unsigned at = 0; at < MESSAGE_CAPS_MAX; at++) {
			uint64_t caps[MESSAGE_CAPS_MAX] = { GIFT, GIFT + 1, GIFT + 2 };
			caps[at] = bad[i];
			EXPECT(give(EP, caps, MESSAGE_CAPS_MAX), at);
			expect_gifts(RECEIVED, at);
			EXPECT(slot_of(RECEIVED + 2)->cap.type, 0);
			answer(EP, NONE);
			clear(RECEIVED);
		}
	copy(RECEIVED + 1, VSPACE, RIGHT_ALL, 0); /* taken */
	EXPECT(give(EP, W(GIFT, GIFT + 1, GIFT + 2)), 1);
	EXPECT(slot_of(RECEIVED + 1)->cap.type, OBJECT_VSPACE);
	EXPECT(slot_of(RECEIVED + 2)->cap.type, 0);
}

static void where_they_may_go(void)
{
	enum { LAST = 15 };
	begin_received(EP);
	make(OBJECT_CNODE, 4, NODE, 1);
	copy(WEAK_NODE, NODE, RIGHT_READ, 0);
	static const struct {
		uint64_t node, slot, count;
	} places[] = { { 0, 1, 0 }, { GIFT, 1, 0 }, { OTHER, 1, 0 }, { WEAK_NODE, 1, 0 }, { NODE, 0, 0 },
		       { NODE, LAST + 1, 0 }, { NODE, ~0ull, 0 }, { NODE, LAST - 1, 2 }, { NODE, 3, 3 } };
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct slot *slots = (const struct slot *)slot_of(NODE)->cap.object;
		unsigned full = 0;
		wants(server, places[i].node, places[i].slot);
		EXPECT(give(EP, W(GIFT, GIFT + 1, GIFT + 2)), places[i].count);
		answer(EP, NONE);
		for (unsigned s = 1; s <= LAST; s++)
			full += !slot_empty(&slots[s]);
		EXPECT(full, places[i].count);
		for (unsigned s = 1; s <= LAST; s++)
			EXPECT(call(NODE, CNODE_DELETE, W(s), NONE), 0);
	}
}

/* The right is that of the capability through which the sender sent, however long ago. */
static void sender_waited(uint64_t cptr, unsigned count)
{
	begin();
	simple(0, SYS_YIELD, 0); /* the client calls before the server receives */
	syscall_on(0, SYS_CALL, cptr, 7, W(70), W(GIFT, GIFT + 1, GIFT + 2), 0);
	EXPECT(client->state, THREAD_SENDING);
	receive(EP);
	EXPECT(client->state, THREAD_REPLY);
	EXPECT(arrived(server), count);
	expect_gifts(RECEIVED, count);
}

static void from_a_sender_that_waited(void) { sender_waited(EP, 3); }
static void from_a_sender_that_waited_without_grant(void) { sender_waited(PLAIN, 0); }

static void answers_carry_capabilities(void)
{
	begin_received(EP);
	give(EP, NONE);
	EXPECT(answer(EP, W(GIFT, GIFT + 1, GIFT + 2)), 3);
	expect_gifts(ANSWERED, 3);
	clear(ANSWERED);
	give(EP, NONE);
	EXPECT(syscall_on(0, SYS_REPLY, 0, 8, W(80), W(GIFT), REPLY), 0);
	EXPECT(arrived(client), 1);
	expect_gifts(ANSWERED, 1);
}

/* What counts is the right of the capability the call was received through, by whichever path that was. */
static void answers_without_grant(void)
{
	begin_received(PLAIN);
	give(EP, NONE);
	EXPECT(answer(EP, W(GIFT)), 0); /* received through PLAIN */
	give(EP, NONE);
	EXPECT(answer(PLAIN, W(GIFT)), 1); /* through EP */
	clear(ANSWERED);
	give(EP, NONE);
	answer(EP, NONE); /* by the fast path */
	give(EP, NONE);
	answer(PLAIN, NONE);
	give(EP, NONE);
	EXPECT(syscall_on(0, SYS_REPLY, 0, 8, W(80), W(GIFT), REPLY), 0);
	EXPECT(arrived(client), 0);
	expect_gifts(ANSWERED, 0);
}

/* Both wait for each other in turn on one core, where the fast path would take a short message. */
static void long_messages_stay_whole(void)
{
	uint64_t words[LONG];
	begin_received(EP);
	for (unsigned round = 0; round < 4; round++) {
		struct thread *from = round % 2 ? server : client, *to = round % 2 ? client : server;
		for (unsigned i = 0; i < LONG; i++)
			words[i] = 100 * round + i + 1;
		EXPECT(running(0), from);
		syscall_on(0, round % 2 ? SYS_REPLY_RECV : SYS_CALL, EP, round, words, LONG, W(GIFT), REPLY);
		EXPECT(running(0), to);
		EXPECT(context_info(&to->context), message_info(round, 1, LONG));
		for (unsigned i = 0; i < LONG; i++)
			EXPECT(word(to, i), words[i]);
		expect_gifts(round % 2 ? ANSWERED : RECEIVED, 1);
		if (round == 1) { /* the rest with slots that are empty again */
			clear(RECEIVED);
			clear(ANSWERED);
		}
	}
}

/* All that a conversation leaves behind, but for the length of its messages and what time it took. */
struct situation {
	const void *running, *receivers, *last_receiver, *senders, *held, *reply[2], *endpoint, *loaded;
	uint64_t reply_rights, state[2], core[2], queued[2], in_timers[2], badge[2], label[2], result[2], word[2], rip[2];
	uint64_t references[3], highest, slice_runs;
};

static void look(struct situation *s)
{
	const struct thread *thread[2] = { client, server };
	const struct endpoint *endpoint = (const struct endpoint *)slot_of(EP)->cap.object;
	const struct reply *reply = (const struct reply *)slot_of(REPLY)->cap.object;
	const struct cpu *cpu = machine->kernel.cpu[0];
	memset(s, 0, sizeof(*s));
	s->running = running(0);
	s->receivers = endpoint->receivers.head, s->last_receiver = endpoint->receivers.tail;
	s->senders = endpoint->senders.head;
	s->held = reply->thread, s->reply_rights = reply->rights;
	s->endpoint = server->endpoint;
	s->loaded = cpu->own.loaded_thread;
	s->highest = cpu->shared.ready.highest, s->slice_runs = cpu->own.slice_end != 0;
	s->references[0] = endpoint->references, s->references[1] = reply->references, s->references[2] = client->references;
	for (unsigned i = 0; i < 2; i++) {
		const struct thread *t = thread[i];
		/* a thread that waits has the registers of its call, but for the message's length */
		bool waits = thread_waits(t);
		s->reply[i] = waits ? t->reply : 0;
		s->state[i] = t->state, s->core[i] = t->core, s->queued[i] = t->queued, s->in_timers[i] = t->in_timers;
		s->badge[i] = badge(t), s->label[i] = message_label(context_info(&t->context));
		s->result[i] = result(t), s->word[i] = word(t, 0), s->rip[i] = t->context.registers.rip;
	}
}

/* A conversation of two calls with `words` words; the situation after each step. */
enum { STEPS = 4 };
static void converse(uint64_t first_cptr, uint64_t second_cptr, unsigned words, struct situation s[STEPS])
{
	const uint64_t call_words[LONG] = { 1, 2, 3, 4, 5 }, answer_words[LONG] = { 11, 12, 13, 14, 15 };
	uint64_t rip = client->context.registers.rip, server_rip = server->context.registers.rip;
	for (unsigned step = 0; step < STEPS; step++) {
		if (step % 2 == 0)
			syscall_on(0, SYS_CALL, step ? EP : first_cptr, 30 + step, call_words, words, NONE, 0);
		else
			syscall_on(0, SYS_REPLY_RECV, step == 1 ? second_cptr : EP, 30 + step, answer_words, words, NONE, REPLY);
		look(&s[step]);
		s[step].rip[0] -= rip, s[step].rip[1] -= server_rip;
	}
}

static void both_paths_end_in_the_same(void)
{
	struct situation fast[STEPS], slow[STEPS];
	begin_received(EP);
	copy(OTHER, EP, RIGHT_ALL, 42);
	converse(OTHER, PLAIN, 1, fast);
	converse(OTHER, PLAIN, LONG, slow);
	for (unsigned step = 0; step < STEPS; step++)
		EXPECT(memcmp(&fast[step], &slow[step], sizeof(fast[step])), 0);
	EXPECT(fast[0].running, server);
	EXPECT(fast[0].badge[1], 42);
	EXPECT(fast[1].running, client);
	EXPECT(fast[1].reply_rights, RIGHT_READ | RIGHT_WRITE);
}

/* The server has waited at another endpoint with another reply object meanwhile, and answers by the fast path. */
static void what_the_server_waits_for(void)
{
	begin_received(EP);
	make(OBJECT_ENDPOINT, 0, OTHER, 1);
	make(OBJECT_REPLY, 0, OTHER + 1, 1);
	make_thread(OTHER + 2, EQUAL - 1, 0);
	give(EP, NONE);
	syscall_on(0, SYS_RECV, OTHER, 0, NONE, NONE, OTHER + 1);
	simple(0, SYS_SEND, OTHER);
	EXPECT(running(0), server);
	answer(EP, NONE);
	EXPECT(server->endpoint, slot_of(EP)->cap.object);
	EXPECT(server->reply, slot_of(REPLY)->cap.object);
}

const struct test tests[] = {
	{ "capabilities arrive", capabilities_arrive, 1 },
	{ "no capabilities without GRANT", they_do_not_without_grant, 1 },
	{ "the first capability that cannot go ends it", the_first_that_cannot_ends_it, 1 },
	{ "where capabilities may go", where_they_may_go, 1 },
	{ "capabilities of a sender that waited", from_a_sender_that_waited, 1 },
	{ "none of a sender that waited without GRANT", from_a_sender_that_waited_without_grant, 1 },
	{ "answers carry capabilities", answers_carry_capabilities, 1 },
	{ "answers without GRANT", answers_without_grant, 1 },
	{ "long messages stay whole", long_messages_stay_whole, 1 },
	{ "both paths end in the same situation", both_paths_end_in_the_same, 1 },
	{ "what the server waits for", what_the_server_waits_for, 1 },
	{ 0 },
};
