/* SPDX-License-Identifier: BSD-2-Clause */
/* The fast path and the slow one leave objects and threads in the same state. */
#include <string.h>
#include "endpoint.h"
#include "harness.h"
#include "message.h"
#include "reply.h"

enum { EP = 1000, REPLY = 1001, PLAIN = 1002, SERVER = 1030, OTHER = 1040, LONG = 10, EQUAL = 100 };

static struct thread *client, *server;

/* The root task is the client; both have the same priority and run when the other waits. PLAIN has no GRANT. */
static void begin(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	copy(PLAIN, EP, RIGHT_READ | RIGHT_WRITE, 0);
	client = machine->root;
	server = make_thread(SERVER, EQUAL, 0);
	root_priority(EQUAL);
	simple(0, SYS_YIELD, 0);
	EXPECT(running(0), server);
}

static void begin_received(void)
{
	begin();
	syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, REPLY);
	EXPECT(running(0), client);
}

/* All that a conversation leaves behind, but for the length of its messages and what time it took. */
struct snapshot {
	const void *running, *receivers, *last_receiver, *senders, *held, *reply[2], *endpoint, *loaded;
	uint64_t reply_rights, state[2], core[2], queued[2], in_timers[2], badge[2], label[2], result[2], word[2],
	         rip[2];
	uint64_t references[3], highest, slice_runs;
};

static void look(struct snapshot *s)
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
	s->references[0] = endpoint->references, s->references[1] = reply->references,
	                   s->references[2] = client->references;
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

/* A conversation of two calls with `words` words; a snapshot after each step. */
enum { STEPS = 4 };
static void converse(uint64_t first_cptr, uint64_t second_cptr, unsigned words, struct snapshot s[STEPS])
{
	const uint64_t call_words[LONG] = { 1, 2, 3, 4, 5 }, answer_words[LONG] = { 11, 12, 13, 14, 15 };
	uint64_t rip = client->context.registers.rip, server_rip = server->context.registers.rip;
	for (unsigned step = 0; step < STEPS; step++) {
		if (step % 2 == 0)
			syscall_on(0, SYS_CALL, step ? EP : first_cptr, 30 + step, call_words, words, NONE, 0);
		else
			syscall_on(0, SYS_REPLY_RECV, step == 1 ? second_cptr : EP, 30 + step, answer_words, words,
			           NONE, REPLY);
		look(&s[step]);
		s[step].rip[0] -= rip, s[step].rip[1] -= server_rip;
	}
}

static void both_paths_end_in_the_same(void)
{
	struct snapshot fast[STEPS], slow[STEPS];
	begin_received();
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
	begin_received();
	make(OBJECT_ENDPOINT, 0, OTHER, 1);
	make(OBJECT_REPLY, 0, OTHER + 1, 1);
	make_thread(OTHER + 2, EQUAL - 1, 0);
	syscall_on(0, SYS_CALL, EP, 7, W(70), NONE, 0);
	EXPECT(running(0), server);
	syscall_on(0, SYS_RECV, OTHER, 0, NONE, NONE, OTHER + 1);
	simple(0, SYS_SEND, OTHER);
	EXPECT(running(0), server);
	syscall_on(0, SYS_REPLY_RECV, EP, 8, W(80), NONE, REPLY);
	EXPECT(running(0), client);
	EXPECT(word(client, 0), 80);
	EXPECT(server->endpoint, slot_of(EP)->cap.object);
	EXPECT(server->reply, slot_of(REPLY)->cap.object);
}

TESTS(messages) = {
	{ "both paths end in the same state", both_paths_end_in_the_same, 1 },
	{ "what the server waits for", what_the_server_waits_for, 1 },
	{ 0 },
};
