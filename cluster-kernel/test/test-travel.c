/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads whose calls another core makes (core/visit.h), while the slots that the calls name are replaced: each call
 * has the outcome of one that begins after the replacement, and the home's own thread is as it was. All cores but the
 * thread's wait until the thread is away; the home waits until the root task has replaced the slot.
 */
#include <stdio.h>
#include <string.h>
#include <skerry/cluster_mask.h>
#include <skerry/doorbell.h>
#include "arch.h"
#include "harness.h"
#include "lock.h"
#include "message.h"
#include "notification.h"
#include "thread.h"

/* The order in which a test has calls travel: away, then the root task invokes, then they are made. */
enum { TRAVELLERS = 6, TRAVEL_STEPS = 16 };
/* the threads are on core AT, what they call on HOME */
enum { CORES = 3, AT = 1, HOME = 2 };

struct travel_call {
	uint64_t number, label, cptr, reply;
};
struct travel_step {
	uint64_t label, word[4], cptr; /* 0: the root CNode */
};
struct travel {
	const struct thread *traveller[TRAVELLERS];
	/* what those do that run when the ones before them are away; number 0: nothing, or posted */
	struct travel_call call[TRAVELLERS];
	struct travel_step step[TRAVEL_STEPS]; /* invocations, by the root task */
	uint64_t result[TRAVEL_STEPS];
	unsigned steps;
	/* The rest is the order's own. */
	unsigned done, turns;
	bool released; /* the home may go on */
};

/* The current thread of a core makes the call, with words and a capability that fit any. */
static void travel_post(unsigned core, const struct travel_call *m)
{
	static const uint64_t words[] = { 0x40100000, RIGHT_READ, 0, 44, 55 };
	struct hosted_call posted = { .number = m->number, .cptr = m->cptr, .reply = m->reply,
	                              .info = message_info(m->label, 0, 5) };
	struct ipc_buffer *buffer = thread_ipc_buffer(running(core));
	const bool waits = m->number == SYS_WAIT || m->number == SYS_SIGNAL_WAIT;
	for (unsigned i = 0; i < 4; i++)
		posted.word[i] = waits ? 0 : m->label == FRAME_PROTECT && i == 0 ? RIGHT_READ : words[i];
	buffer->words[4] = words[4];
	buffer->caps[0] = VSPACE;
	hosted_post_call(machine, core, &posted);
}

static struct travel *active;

static bool all_away(void)
{
	for (unsigned i = 0; i < TRAVELLERS; i++)
		if (active->traveller[i] && active->traveller[i]->state != THREAD_AWAY)
			return false;
	return true;
}

static bool root_is_done(void) { return active->done == active->steps && !machine->core[0].inside; }

/* The candidate that is this core; `count` if it has nothing to do. */
static unsigned place_of(unsigned core, unsigned count)
{
	unsigned place = 0;
	for (unsigned i = 0; i < core; i++)
		place += hosted_core_busy(&machine->core[i]);
	return hosted_core_busy(&machine->core[core]) ? place : count;
}

static unsigned choose(void *argument, unsigned count)
{
	enum { PATIENCE = 400 };
	(void)argument;
	active->turns++;
	const bool away = active->done || (all_away() && !machine->core[AT].inside);
	unsigned first = place_of(away && active->turns % 2 ? 0 : AT, count),
	         second = place_of(away && active->turns % 2 ? AT : 0, count);
	active->released |= (away && root_is_done()) || active->turns > PATIENCE || (first == count && second == count);
	if (active->released)
		return active->turns % count;
	return first < count ? first : second; /* a writer may wait for the thread's core */
}

static bool next_step(void *argument, struct hosted *of, unsigned core)
{
	(void)argument;
	for (unsigned i = 0; core == AT && i < TRAVELLERS; i++)
		if (active->call[i].number && running(AT) == active->traveller[i]) {
			travel_post(AT, &active->call[i]);
			active->call[i].number = 0;
			return true;
		}
	if (core != 0 || (!active->done && !all_away()))
		return false;
	if (active->done)
		active->result[active->done - 1] = result(of->root);
	if (active->done == active->steps)
		return false;
	const struct travel_step *step = &active->step[active->done++];
	struct hosted_call call = { .number = SYS_CALL, .cptr = step->cptr ? step->cptr : CNODE,
	                            .info = message_info(step->label, 2, 21) };
	memcpy(call.word, step->word, sizeof(call.word));
	memset(thread_ipc_buffer(of->root)->words, 0, sizeof(uint64_t) * 24);
	thread_ipc_buffer(of->root)->caps[0] = step->label == TCB_SCHEDULE ? ROOT_SLOT_TCB : CNODE;
	thread_ipc_buffer(of->root)->caps[1] = VSPACE;
	hosted_post_call(of, 0, &call);
	return true;
}

/* Lets all posted calls happen in their order. Returns whether all travelled, and waited for the root task. */
static bool travel_run(struct travel *wanted)
{
	active = wanted;
	machine->config.choose = choose;
	machine->config.program = next_step;
	for (unsigned i = 0; i < CORES; i++)
		machine->core[i].quiet = false;
	settle();
	machine->config.choose = 0;
	machine->config.program = 0;
	return active->done == active->steps && active->steps > 0;
}

/* Slots: objects at home on core HOME, what the travelling call names, what comes in its place, and the rest. */
enum { NOTE = 1000, ENDPOINT, REPLY, FIRST_SLOT = 1010, SECOND_SLOT, THINGS = 1020, A = 1100, B = 1110, C = 1120,
       DOMAIN = 1130, COARSE, TABLES = 1140, BELL = 1150, HEARD = 1160, MANY = 1200, MANY_FRAMES = 1300 };
#define VADDR 0x40000000ull

static struct thread *a, *b, *c;
static struct travel order;

/* What comes in the place of a slot. */
static const struct {
	const char *name;
	unsigned type;
	bool mapped; /* in the root task's space */
	uint64_t domain;
} things[] = {
	{ "nothing", 0, false, 0 },
	{ "a frame", OBJECT_FRAME_4K, false, 0 },
	{ "a frame of a domain", OBJECT_FRAME_4K, false, DOMAIN },
	{ "a frame of a coarse domain", OBJECT_FRAME_4K, false, COARSE },
	{ "a mapped frame of a domain", OBJECT_FRAME_4K, true, DOMAIN },
	{ "a mapped frame of a coarse domain", OBJECT_FRAME_4K, true, COARSE },
	{ "an endpoint", OBJECT_ENDPOINT, false, 0 },
	{ "a notification", OBJECT_NOTIFICATION, false, 0 },
	{ "a reply object", OBJECT_REPLY, false, 0 },
	{ "a TCB", OBJECT_TCB, false, 0 },
	{ "a CNode", OBJECT_CNODE, false, 0 },
	{ "an address space", OBJECT_VSPACE, false, 0 },
	{ "untyped memory", OBJECT_UNTYPED, false, 0 },
	{ "a domain", OBJECT_DOMAIN, false, 0 },
};
enum { THINGS_COUNT = sizeof(things) / sizeof(things[0]) };

static void make_thing(unsigned i)
{
	const unsigned type = things[i].type;
	if (!type)
		return;
	make(type, type == OBJECT_CNODE ? 4 : type == OBJECT_UNTYPED ? 12 : 0, THINGS + i, 1);
	if (things[i].domain)
		EXPECT(call(THINGS + i, FRAME_SPLIT, NONE, W(things[i].domain)), 0);
	if (things[i].mapped)
		EXPECT(call(THINGS + i, FRAME_MAP, W(VADDR + 4096ull * i, RIGHT_ALL, 0), W(VSPACE)), 0);
}

static void drop_thing(unsigned i)
{
	if (!slot_empty(slot_of(THINGS + i))) {
		revoke(THINGS + i);
		delete(THINGS + i);
	}
}

static void be_fine(void)
{
	while (order_granularity(GRANULARITY_FINE))
		settle();
}

static void go_home(uint64_t slot) { EXPECT(call(CNODE, CNODE_LOCALITY, W(slot, mask_of(HOME)), NONE), 0); }

/* A and, below it, B on core AT; C runs on core HOME, with words of its own. */
static void set_up(void)
{
	check_every(64);
	make(OBJECT_DOMAIN, 0, DOMAIN, 2);
	EXPECT(call(DOMAIN, DOMAIN_GRANULARITY, W(GRANULARITY_FINE), NONE), 0);
	make(OBJECT_PAGE_TABLE, 0, TABLES, 2);
	for (unsigned i = 0; i < 2; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(VADDR), W(VSPACE)), 0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	a = make_thread(A, 120, AT);
	b = make_thread(B, 100, AT);
	c = make_thread(C, 100, HOME);
	be_fine();
	for (uint64_t slot = NOTE; slot <= REPLY; slot++)
		go_home(slot);
	EXPECT(syscall_on(HOME, SYS_YIELD, NOTE, 7, W(RIGHT_ALL, RIGHT_ALL, 3, 4, 5, 6), W(A, B, C), FIRST_SLOT), 0);
}

static void replace(unsigned step, uint64_t slot, unsigned thing)
{
	order.step[step] = (struct travel_step){ CNODE_DELETE, { slot }, 0 };
	if (things[thing].type)
		order.step[step + 1] = (struct travel_step){ CNODE_MOVE, { slot, THINGS + thing }, 0 };
	order.steps = step + 1 + (things[thing].type != 0);
}

/* What the thread and the slot say afterwards. */
struct seen {
	uint64_t state, result, badge, info, word[5], type, rights, flags, at, mapped;
};

static struct seen look(uint64_t slot)
{
	const struct cap *cap = &slot_of(slot)->cap;
	struct seen seen = { .state = a->state, .result = result(a), .badge = badge(a),
	                     .info = a->context.registers.rsi, .type = cap->type };
	for (unsigned i = 0; i < 5; i++)
		seen.word[i] = word(a, i);
	if (cap->type >= OBJECT_FRAME_4K && cap->type <= OBJECT_FRAME_1G) {
		seen.rights = cap->rights;
		seen.flags = cap->flags;
		seen.at = cap->flags & CAP_MAPPED ? cap_vaddr(cap) : 0;
		seen.mapped = seen.at ? arch_pte_rights(hosted_touch(machine, 0, seen.at)) : 0;
	}
	return seen;
}

/* A runs from its start again; what the last call has left goes. */
static void begin_again(unsigned thing)
{
	const uint64_t start[21] = { 1, 0x1000 * A, 0x2000 * A };
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	for (uint64_t slot = FIRST_SLOT; slot <= SECOND_SLOT; slot++)
		if (!slot_empty(slot_of(slot)))
			delete(slot);
	drop_thing(thing);
	memset(thread_ipc_buffer(a), 0, sizeof(struct ipc_buffer));
	EXPECT(call(A, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	EXPECT(running(AT), a);
	simple(0, SYS_POLL, NOTE);
	order = (struct travel){ .traveller = { a } };
}

/* The slots of the call name these objects first. */
static void name(const struct travel_call *m)
{
	const bool notes = m->number == SYS_SIGNAL || m->number == SYS_WAIT || m->number == SYS_POLL ||
	                   m->number == SYS_SIGNAL_WAIT;
	copy(FIRST_SLOT, notes ? NOTE : ENDPOINT, RIGHT_ALL, 0);
	copy(SECOND_SLOT, notes ? NOTE : REPLY, RIGHT_ALL, 0);
}

/* Returns whether the call travelled, and found the slot replaced. */
static bool try_one(const struct travel_call *m, uint64_t slot, unsigned thing)
{
	struct thread_registers others = c->context.registers;
	struct ipc_buffer buffer = *thread_ipc_buffer(c);
	begin_again(thing);
	name(m);
	make_thing(thing);
	replace(0, slot, thing);
	travel_post(AT, m);
	bool travelled = travel_run(&order);
	struct seen seen = look(slot);
	EXPECT(memcmp(&others, &c->context.registers, sizeof(others)), 0);
	EXPECT(memcmp(&buffer, thread_ipc_buffer(c), sizeof(buffer)), 0);
	EXPECT(running(HOME), c);
	if (!travelled)
		return false;
	begin_again(thing);
	name(m);
	make_thing(thing);
	delete(slot);
	if (things[thing].type)
		EXPECT(call(CNODE, CNODE_MOVE, W(slot, THINGS + thing), W(CNODE)), 0);
	order.traveller[0] = 0;
	travel_post(AT, m);
	settle();
	struct seen expected = look(slot);
	if (memcmp(&seen, &expected, sizeof(seen))) {
		fprintf(stderr, "system call %llu, label %llu, '%s' in slot %llu\n", (unsigned long long)m->number,
		        (unsigned long long)m->label, things[thing].name, (unsigned long long)slot);
		for (unsigned i = 0; i < sizeof(seen) / 8; i++)
			EXPECT(((uint64_t *)&seen)[i], ((uint64_t *)&expected)[i]);
	}
	return true;
}

static const struct travel_call calls[] = {
	{ SYS_CALL, FRAME_MAP, FIRST_SLOT, 0 },        { SYS_CALL, FRAME_UNMAP, FIRST_SLOT, 0 },
	{ SYS_CALL, FRAME_PROTECT, FIRST_SLOT, 0 },
	{ SYS_CALL, 1, FIRST_SLOT, 0 },                { SYS_SEND, 3, FIRST_SLOT, 0 },
	{ SYS_NB_SEND, 3, FIRST_SLOT, 0 },
	{ SYS_RECV, 0, FIRST_SLOT, SECOND_SLOT },      { SYS_NB_RECV, 0, FIRST_SLOT, SECOND_SLOT },
	{ SYS_REPLY, 2, 0, SECOND_SLOT },
	{ SYS_REPLY_RECV, 2, FIRST_SLOT, SECOND_SLOT }, { SYS_SIGNAL, 0, FIRST_SLOT, 0 },
	{ SYS_WAIT, 0, FIRST_SLOT, 0 },
	{ SYS_POLL, 0, FIRST_SLOT, 0 },                { SYS_SIGNAL_WAIT, 0, FIRST_SLOT, SECOND_SLOT },
};

static void slots_change(void)
{
	unsigned travelled = 0, tried = 0;
	if (!objects_have_homes())
		return;
	set_up();
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		for (uint64_t slot = FIRST_SLOT; slot <= SECOND_SLOT; slot++)
			for (unsigned thing = 0; thing < THINGS_COUNT; thing++) {
				const struct travel_call *m = &calls[i];
				if (m->cptr != slot && m->reply != slot)
					continue;
				tried++;
				travelled += try_one(m, slot, thing);
			}
	EXPECT(travelled * 10 > tried * 9, true);
}

/* The machine's place is taken by one that can ring the cores of another, which hears two doorbells, each on a core of
 * its own. */
static struct hosted *make_peer(void)
{
	enum { PEER = 10, PEER_CORES = 2 };
	const struct hosted_link link = { .id = 3, .side = 0, .peer = PEER, .peer_cores = PEER_CORES };
	const struct hosted_link other = { .id = 3, .side = 1, .peer = 0, .peer_cores = CORES };
	struct hosted_config config = machine->config,
	                     of_peer = { .cluster = PEER, .cores = PEER_CORES, .channel_count = 1, .channel = &other };
	config.channel_count = 1;
	config.channel = &link;
	hosted_destroy(machine);
	struct hosted *own = hosted_create(&config);
	struct hosted *peer = machine = hosted_create(&of_peer);
	make(OBJECT_NOTIFICATION, 0, HEARD, 2);
	for (unsigned i = 0; i < 2; i++)
		EXPECT(call(ROOT_SLOT_CHANNEL, CHANNEL_LISTEN, W(8 + i, i), W(HEARD + i)), 0);
	machine = own;
	for (unsigned i = 0; i < 2; i++)
		EXPECT(call(CNODE, CNODE_MINT, W(BELL + i, ROOT_SLOT_CHANNEL, RIGHT_ALL, 8 + i), W(CNODE)), 0);
	return peer;
}

static void both_are_heard(struct hosted *peer)
{
	struct hosted *own = machine;
	machine = peer;
	settle();
	for (unsigned i = 0; i < 2; i++) {
		EXPECT(simple(0, SYS_POLL, HEARD + i), 0);
		EXPECT(badge(machine->root), 1);
	}
	machine = own;
}

/*
 * Two visitors whose slots have become doorbells meanwhile, both served in one entry, which can ring one.
 */
static void both_ring(void)
{
	const struct travel_call first = { SYS_SIGNAL, 0, FIRST_SLOT, 0 }, second = { SYS_SIGNAL, 0, SECOND_SLOT, 0 };
	if (!objects_have_homes())
		return;
	struct hosted *peer = make_peer();
	set_up();
	for (unsigned round = 0; round < 8; round++) {
		for (unsigned i = 0; i < 2; i++)
			copy(FIRST_SLOT + i, NOTE, RIGHT_ALL, 0);
		order = (struct travel){ .traveller = { a, b }, .call[1] = second, .steps = 4 };
		for (unsigned i = 0; i < 2; i++) {
			order.step[2 * i] = (struct travel_step){ CNODE_DELETE, { FIRST_SLOT + i }, 0 };
			order.step[2 * i + 1] = (struct travel_step){ CNODE_COPY,
			                                              { FIRST_SLOT + i, BELL + i, RIGHT_ALL }, 0 };
		}
		EXPECT(running(AT), a);
		travel_post(AT, &first);
		EXPECT(travel_run(&order), true);
		EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0); /* B, which is below it, makes its call */
		EXPECT(result(a) | result(b), 0);
		EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
		both_are_heard(peer);
		for (unsigned i = 0; i < 2; i++)
			delete(FIRST_SLOT + i);
		EXPECT(simple(0, SYS_POLL, NOTE), 0);
		EXPECT(badge(machine->root), 0);
	}
	hosted_destroy(peer);
}

/* What may not be done to a thread that travels, and what may: its call is made once in any case. */
static void threads_change(void)
{
	static const struct {
		struct travel_step step[2];
		uint64_t result;
	} tried[] = {
		{ { { TCB_READ_REGISTERS, { 0 }, A } }, SKERRY_BUSY },
		{ { { TCB_WRITE_REGISTERS, { 0, 0x1000 }, A } }, SKERRY_BUSY },
		{ { { TCB_WRITE_REGISTERS, { 1, 0x1000 }, A } }, SKERRY_BUSY },
		{ { { TCB_CONFIGURE, { 0, 0 }, A } }, SKERRY_BUSY },
		{ { { TCB_SCHEDULE, { 120, HOME }, A } }, 0 },
		{ { { TCB_SCHEDULE, { 99, 0 }, A } }, 0 },
		{ { { TCB_SUSPEND, { 0 }, A }, { TCB_RESUME, { 0 }, A } }, 0 },
		{ { { TCB_SET_TLS, { 0x7000 }, A } }, 0 },
		{ { { CNODE_LOCALITY, { NOTE, MASK_ALL }, 0 } }, 0 },
		{ { { CNODE_LOCALITY, { NOTE, 0 }, 0 }, { CNODE_LOCALITY, { NOTE, 1 }, 0 } }, 0 },
	};
	static const struct travel_call call_made = { SYS_SIGNAL, 0, FIRST_SLOT, 0 };
	if (!objects_have_homes())
		return;
	set_up();
	for (unsigned i = 0; i < sizeof(tried) / sizeof(tried[0]); i++) {
		begin_again(0);
		go_home(NOTE);
		EXPECT(call(CNODE, CNODE_MINT, W(FIRST_SLOT, NOTE, RIGHT_ALL, 1ull << 9), W(CNODE)), 0);
		for (order.steps = 0; order.steps < 2 && tried[i].step[order.steps].label; order.steps++) {
			struct travel_step *step = &order.step[order.steps];
			*step = tried[i].step[order.steps];
			if (step->label == CNODE_LOCALITY && step->word[1] != MASK_ALL)
				/* to another core, and home to the thread's */
				step->word[1] = mask_of((uint32_t)step->word[1]);
		}
		travel_post(AT, &call_made);
		EXPECT(travel_run(&order), true);
		for (unsigned k = 0; k < order.steps; k++)
			EXPECT(order.result[k], tried[i].result);
		EXPECT(a->state, THREAD_READY);
		EXPECT(result(a), 0);
		EXPECT(a->context.registers.rip, 0x1000 * A + SYSCALL_SIZE);
		EXPECT(simple(0, SYS_POLL, NOTE), 0);
		EXPECT(badge(machine->root), 1ull << 9);
		EXPECT(call(A, TCB_SCHEDULE, W(120, AT), W(ROOT_SLOT_TCB)), 0);
		settle();
	}
}

/*
 * Many travel, and are served one in an entry, while their slots become frames and the kernel becomes coarse: those who
 * are served after that have made their calls on their own core.
 */
static void becomes_coarse(void)
{
	if (!objects_have_homes())
		return;
	set_up();
	machine->kernel.work_budget = 1;
	const unsigned frame = 4; /* of things[] */
	EXPECT(things[frame].mapped && things[frame].domain == DOMAIN, true);
	order = (struct travel){ .traveller = { a } };
	for (unsigned i = 0; i < TRAVELLERS; i++) {
		if (i)
			order.traveller[i] = make_thread(MANY + 10 * i, 100 - i, AT);
		order.call[i] = (struct travel_call){ SYS_CALL, FRAME_PROTECT, FIRST_SLOT + i, 0 };
		copy(FIRST_SLOT + i, ENDPOINT, RIGHT_ALL, 0);
		make(OBJECT_FRAME_4K, 0, MANY_FRAMES + i, 1);
		EXPECT(call(MANY_FRAMES + i, FRAME_SPLIT, NONE, W(DOMAIN)), 0);
		EXPECT(call(MANY_FRAMES + i, FRAME_MAP, W(VADDR + 4096ull * (100 + i), RIGHT_ALL, 0), W(VSPACE)), 0);
		order.step[2 * i] = (struct travel_step){ CNODE_DELETE, { FIRST_SLOT + i }, 0 };
		order.step[2 * i + 1] = (struct travel_step){ CNODE_MOVE, { FIRST_SLOT + i, MANY_FRAMES + i }, 0 };
	}
	order.step[2 * TRAVELLERS] = (struct travel_step){ CONTROL_GRANULARITY, { GRANULARITY_COARSE },
	                                                   ROOT_SLOT_CONTROL };
	order.steps = 2 * TRAVELLERS + 1;
	EXPECT(call(B, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(running(AT), a);
	EXPECT(travel_run(&order), true);
	for (unsigned i = 0; i < TRAVELLERS; i++) {
		const struct thread *thread = order.traveller[i];
		EXPECT(running(AT), thread); /* in the order of their priorities */
		EXPECT(result(thread), 0);
		EXPECT(arch_pte_rights(hosted_touch(machine, 0, VADDR + 4096ull * (100 + i))), RIGHT_READ);
		EXPECT(call(i ? MANY + 10 * i : A, TCB_SUSPEND, NONE, NONE), 0);
	}
}

TESTS(travel) = {
	{ "many travel, and the kernel becomes coarse", becomes_coarse, CORES },
	{ "visitors ring doorbells", both_ring, CORES },
	{ "threads change while they travel", threads_change, CORES },
	{ "slots change under calls that travel", slots_change, CORES | TEST_ONCE },
	{ 0 },
};
