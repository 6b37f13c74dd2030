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
	{ "long messages stay whole", long_messages_stay_whole, 1 },
	{ "both paths end in the same situation", both_paths_end_in_the_same, 1 },
	{ "what the server waits for", what_the_server_waits_for, 1 },
	{ 0 },
};
