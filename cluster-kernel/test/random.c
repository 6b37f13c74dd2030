/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"
#include <stdio.h>
#include <string.h>
#include <skerry/root_info.h>
#include "check.h"
#include "message.h"
#include "vspace.h"

/* All play in these slots of the root CNode; the first threads, their buffers and a few objects are there at the start. */
enum { FIRST = 400, SLOTS = 48, THREADS = 4, SMALL_UNTYPED = FIRST };

bool random_verbose;
static _Thread_local struct hosted *machine;
static _Thread_local struct source *source;

unsigned draw(struct source *s, unsigned count)
{
	if (s->data) {
		unsigned value = s->used < s->size ? s->data[s->used++] : 0;
		if (count > 256)
			value |= (s->used < s->size ? s->data[s->used++] : 0u) << 8;
		return value % count;
	}
	s->state ^= s->state << 13;
	s->state ^= s->state >> 7;
	s->state ^= s->state << 17;
	return (s->state >> 33) % count;
}

bool source_ended(const struct source *s) { return s->data && s->used >= s->size; }

static unsigned pick(unsigned count) { return draw(source, count); }
static bool one_in(unsigned n) { return pick(n) == 0; }

static uint64_t any_slot(void)
{
	if (one_in(40))
		return pick(1u << ROOT_CNODE_BITS);
	if (one_in(8))
		return pick(ROOT_SLOT_STAT + 2);
	return FIRST + pick(SLOTS);
}

/* A slot that holds this type, if a few tries find one. */
static uint64_t slot_of_type(unsigned type)
{
	unsigned start = pick(SLOTS);
	for (unsigned i = 0; i < SLOTS && !one_in(60); i++) {
		uint64_t slot = FIRST + (start + i) % SLOTS;
		if (machine->root_cnode[slot].cap.type == type)
			return slot;
	}
	return any_slot();
}

static uint64_t any_word(void)
{
	static const uint64_t odd[] = { 0, 1, 2, 4096, 1ull << 21, 1ull << 30, 1ull << 39, 1ull << 47, USER_TOP - 4096, ~0ull,
		                        1ull << 63, 0xffff800000000000ull };
	return one_in(3) ? odd[pick(sizeof(odd) / sizeof(odd[0]))] : pick(2) ? pick(64) : any_slot();
}

struct step {
	struct hosted_call call;
	uint64_t label;
	unsigned words, caps;
	uint64_t word[24], cap[3];
};

static void set_words(struct step *s, unsigned count, const uint64_t *words)
{
	s->words = count;
	memcpy(s->word, words, count * sizeof(*words));
}
#define WORDS(s, ...) set_words(s, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ })

static void set_caps(struct step *s, unsigned count, uint64_t a, uint64_t b, uint64_t c)
{
	s->caps = count;
	s->cap[0] = a, s->cap[1] = b, s->cap[2] = c;
}

static uint64_t any_vaddr(void)
{
	uint64_t vaddr = (uint64_t)pick(3) << 39 | (uint64_t)pick(2) << 30 | (uint64_t)pick(3) << 21 | (uint64_t)pick(4) << 12;
	return one_in(20) ? any_word() : vaddr;
}

static void retype(struct step *s)
{
	unsigned object = 1 + pick(one_in(20) ? 16 : OBJECT_FRAME_2M);
	uint64_t bits = object == OBJECT_CNODE ? 1 + pick(5) : object == OBJECT_UNTYPED ? 10 + pick(10) : 0;
	s->call.cptr = one_in(10) ? ROOT_SLOT_UNTYPED + pick(24) : slot_of_type(OBJECT_UNTYPED);
	s->label = UNTYPED_RETYPE;
	WORDS(s, object, one_in(30) ? any_word() : bits, FIRST + pick(SLOTS), one_in(30) ? any_word() : 1 + pick(3));
	set_caps(s, 1, one_in(20) ? any_slot() : ROOT_SLOT_CNODE, 0, 0);
}

static void cnode(struct step *s)
{
	s->call.cptr = one_in(10) ? slot_of_type(OBJECT_CNODE) : ROOT_SLOT_CNODE;
	s->label = one_in(3) ? CNODE_MINT : CNODE_COPY + pick(5);
	if ((s->label == CNODE_REVOKE || s->label == CNODE_DELETE) && !one_in(4))
		s->label = CNODE_COPY;
	uint64_t to = s->label >= CNODE_DELETE ? any_slot() : FIRST + pick(SLOTS);
	if (s->call.cptr != ROOT_SLOT_CNODE)
		to = pick(16);
	WORDS(s, to, any_slot(), one_in(3) ? pick(16) : RIGHT_ALL, one_in(3) ? any_word() : pick(8));
	set_caps(s, 1, one_in(10) ? slot_of_type(OBJECT_CNODE) : ROOT_SLOT_CNODE, 0, 0);
}

static void tcb(struct step *s)
{
	s->call.cptr = one_in(12) ? ROOT_SLOT_TCB : slot_of_type(OBJECT_TCB);
	s->label = TCB_CONFIGURE + pick(TCB_SET_MCP - TCB_CONFIGURE + 1);
	switch (s->label) {
	case TCB_CONFIGURE:
		WORDS(s, pick(2) ? (uint64_t)pick(5) << 10 : 0, pick(2) ? slot_of_type(OBJECT_ENDPOINT) : 0);
		set_caps(s, 2 + pick(2), one_in(10) ? slot_of_type(OBJECT_CNODE) : ROOT_SLOT_CNODE,
		         pick(2) ? ROOT_SLOT_VSPACE : slot_of_type(OBJECT_VSPACE), slot_of_type(OBJECT_FRAME_4K));
		break;
	case TCB_SCHEDULE:
	case TCB_SET_MCP:
		WORDS(s, pick(4) + 100, pick(machine->config.cores + one_in(20)));
		set_caps(s, 1, one_in(10) ? slot_of_type(OBJECT_TCB) : ROOT_SLOT_TCB, 0, 0);
		break;
	case TCB_WRITE_REGISTERS:
		WORDS(s, pick(2), pick(1 << 16), one_in(20) ? any_word() : 0);
		s->words = one_in(20) ? pick(21) : 21;
		break;
	case TCB_BIND: set_caps(s, 1, slot_of_type(OBJECT_NOTIFICATION), 0, 0); break;
	default: WORDS(s, any_word()); break;
	}
}

static void memory(struct step *s)
{
	bool table = pick(2);
	s->call.cptr = slot_of_type(table ? OBJECT_PAGE_TABLE : OBJECT_FRAME_4K + (pick(6) == 0));
	s->label = table ? PAGE_TABLE_MAP + pick(4) / 3 : FRAME_MAP + pick(4) / 3 * (1 + pick(2));
	WORDS(s, any_vaddr(), one_in(4) ? pick(16) : RIGHT_ALL, one_in(20) ? any_word() : pick(3));
	set_caps(s, 1, pick(3) ? ROOT_SLOT_VSPACE : slot_of_type(OBJECT_VSPACE), 0, 0);
}

static void device(struct step *s)
{
	switch (pick(4)) {
	case 0:
		s->call.cptr = ROOT_SLOT_IRQ_CONTROL;
		s->label = IRQ_GET_IOAPIC + pick(2);
		WORDS(s, FIRST + pick(SLOTS), pick(machine->config.cores), pick(4), pick(4));
		set_caps(s, 1, ROOT_SLOT_CNODE, 0, 0);
		break;
	case 1:
		s->call.cptr = slot_of_type(OBJECT_IRQ_HANDLER);
		s->label = IRQ_SET_NOTIFICATION + one_in(3);
		set_caps(s, 1, slot_of_type(OBJECT_NOTIFICATION), 0, 0);
		break;
	case 2:
		s->call.cptr = ROOT_SLOT_IO_PORT;
		s->label = IO_PORT_IN + pick(2);
		WORDS(s, one_in(4) ? any_word() : pick(1 << 16), 1u << pick(4), any_word());
		break;
	case 3:
		s->call.cptr = one_in(4) ? any_slot() : ROOT_SLOT_CHANNEL;
		s->label = CHANNEL_LISTEN;
		WORDS(s, one_in(10) ? any_word() : pick(4), pick(machine->config.cores));
		set_caps(s, 1, slot_of_type(OBJECT_NOTIFICATION), 0, 0);
		break;
	}
}

static void message(struct step *s)
{
	static const uint8_t numbers[] = { SYS_CALL, SYS_CALL, SYS_SEND, SYS_NB_SEND, SYS_RECV, SYS_RECV, SYS_NB_RECV,
		                           SYS_REPLY, SYS_REPLY_RECV, SYS_REPLY_RECV };
	s->call.number = numbers[pick(sizeof(numbers))];
	s->call.cptr = slot_of_type(OBJECT_ENDPOINT);
	s->call.reply = one_in(5) ? 0 : slot_of_type(OBJECT_REPLY);
	s->label = pick(3);
	s->words = pick(24);
	s->caps = pick(4);
}

static void signal_or_wait(struct step *s)
{
	s->call.number = SYS_SIGNAL + pick(4);
	s->call.cptr = one_in(8) ? slot_of_type(OBJECT_DOORBELL) : slot_of_type(OBJECT_NOTIFICATION);
	s->words = 1;
	s->word[0] = pick(2) ? 0 : machine->time + pick(20000);
}

static void nonsense(struct step *s)
{
	s->call.number = one_in(4) ? any_word() : pick(16);
	s->call.cptr = one_in(4) ? any_word() : any_slot();
	s->call.reply = any_slot();
	s->label = one_in(2) ? any_word() : pick(96);
	s->words = pick(128) % 24;
	for (unsigned i = 0; i < 6; i++)
		s->word[i] = any_word();
	set_caps(s, pick(4), any_slot(), any_slot(), any_slot());
}

static void post(unsigned core)
{
	static void (*const kinds[])(struct step *) = { retype, cnode, cnode, tcb, tcb, memory, device, message, message, message,
		                                        signal_or_wait, signal_or_wait, nonsense };
	struct step s = { .call.number = SYS_CALL };
	const struct thread *thread = current(machine->kernel.cpu[core]);
	struct ipc_buffer *buffer = thread_ipc_buffer(thread);
	unsigned kind = pick(sizeof(kinds) / sizeof(kinds[0]));
	/* the root task seldom does what it may not return from: the others need somebody to wake them */
	bool careful = thread == machine->root && !one_in(50);
	kinds[careful ? kind % 7 : kind](&s);
	if (careful && s.call.cptr <= ROOT_SLOT_IPC_BUFFER && s.label != UNTYPED_RETYPE)
		s.label = s.call.cptr == ROOT_SLOT_CNODE && s.word[0] >= FIRST ? s.label : (uint64_t)CNODE_COPY;
	memcpy(s.call.word, s.word, sizeof(s.call.word));
	s.call.info = message_info(s.label, s.caps, s.words);
	if (buffer) {
		memcpy(buffer->words + MESSAGE_REGISTERS, s.word + MESSAGE_REGISTERS, sizeof(s.word) - sizeof(s.call.word));
		memcpy(buffer->caps, s.cap, sizeof(s.cap));
	}
	if (random_verbose)
		fprintf(stderr,
		        "core %u thread %p: system call %llu on %llu, label %llu, words %#llx %#llx %#llx %#llx, "
		        "caps %llu %llu %llu, reply %llu\n",
		        core, (const void *)thread, (unsigned long long)s.call.number, (unsigned long long)s.call.cptr,
		        (unsigned long long)s.label, (unsigned long long)s.word[0], (unsigned long long)s.word[1],
		        (unsigned long long)s.word[2], (unsigned long long)s.word[3], (unsigned long long)s.cap[0],
		        (unsigned long long)s.cap[1], (unsigned long long)s.cap[2], (unsigned long long)s.call.reply);
	hosted_post_call(machine, core, &s.call);
}

static bool runs(unsigned core) { return machine->kernel.cpu[core]->shared.current->state != THREAD_IDLE; }

/* Something for each of some cores at once, so that they meet inside the kernel. */
static void step(void)
{
	for (unsigned core = 0; core < machine->config.cores; core++) {
		if (runs(core) && !one_in(4))
			hosted_touch(machine, core, any_vaddr());
		if (runs(core) && current(machine->kernel.cpu[core]) != machine->root && one_in(30)) {
			uint64_t words[5] = { 1, 2, 3, 4, 5 };
			hosted_post_fault(machine, core, FAULT_EXCEPTION + pick(2), 5, words);
		} else if (runs(core) && !one_in(4)) {
			post(core);
		}
	}
	if (one_in(8))
		hosted_raise_pin(machine, pick(4));
	if (one_in(8))
		hosted_advance(machine, one_in(4) ? machine->kernel.slice : pick(20000));
	hosted_run(machine);
	kernel_check(machine);
}

/* By the root task, so that there is something to play with. */
static void call(uint64_t cptr, uint64_t label, unsigned words, const uint64_t *word, uint64_t cap0, uint64_t cap1,
                 uint64_t cap2)
{
	struct hosted_call c = { .number = SYS_CALL, .cptr = cptr, .info = message_info(label, 3, words) };
	struct ipc_buffer *buffer = thread_ipc_buffer(machine->root);
	for (unsigned i = 0; i < words; i++)
		*(i < MESSAGE_REGISTERS ? &c.word[i] : &buffer->words[i]) = word[i];
	buffer->caps[0] = cap0, buffer->caps[1] = cap1, buffer->caps[2] = cap2;
	hosted_post_call(machine, 0, &c);
	hosted_run(machine);
	CHECK(machine->root->context.registers.rax == 0, "a call of the preparation failed", machine->root->context.registers.rax, word[0]);
}
#define PREPARE(cptr, label, cap0, cap1, cap2, ...) \
	call(cptr, label, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, (uint64_t[]){ __VA_ARGS__ }, cap0, cap1, cap2)

static void prepare(void)
{
	uint64_t untyped = ROOT_SLOT_UNTYPED, slot = SMALL_UNTYPED;
	while (machine->root_cnode[untyped].cap.size_bits < 22)
		untyped++;
	PREPARE(untyped, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_UNTYPED, 18, slot++, 1);
	for (unsigned i = 0; i < THREADS; i++, slot += 2) {
		PREPARE(SMALL_UNTYPED, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_TCB, 0, slot, 1);
		PREPARE(SMALL_UNTYPED, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_FRAME_4K, 0, slot + 1, 1);
		PREPARE(slot, TCB_CONFIGURE, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, slot + 1, 1024, 0);
		PREPARE(slot, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100 + i % 2, i % machine->config.cores);
		PREPARE(slot, TCB_RESUME, 0, 0, 0, 0);
	}
	static const uint8_t objects[] = { OBJECT_ENDPOINT, OBJECT_NOTIFICATION, OBJECT_REPLY, OBJECT_REPLY, OBJECT_CNODE,
		                           OBJECT_VSPACE, OBJECT_PAGE_TABLE, OBJECT_PAGE_TABLE, OBJECT_PAGE_TABLE };
	for (unsigned i = 0; i < sizeof(objects); i++)
		PREPARE(SMALL_UNTYPED, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, objects[i],
		        objects[i] == OBJECT_CNODE ? 4 : 0, slot++, 1);
	PREPARE(ROOT_SLOT_TCB, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100, 0);
}

/* Each core in turn once the bytes have ended: always the first would be for ever where it waits for another. */
static unsigned choose(void *argument, unsigned count)
{
	static _Thread_local unsigned turn;
	return source_ended(argument) ? turn++ % count : draw(argument, count);
}

unsigned random_run(struct source *s, unsigned cores, unsigned steps, uint64_t seed)
{
	/* both ends of the channel are here: what is rung is heard */
	const struct hosted_link link = { .id = 0, .side = 0, .peer = 0, .peer_cores = cores };
	struct hosted_config config = { .cores = cores, .gsis = 4, .seed = seed, .channel_count = 1, .channel = &link };
	unsigned done = 0;
	source = s;
	machine = hosted_create(&config);
	prepare();
	machine->config.choose = choose;
	machine->config.choose_argument = s;
	kernel_check(machine);
	for (bool alive = true; alive && done < steps && !source_ended(s); done++) {
		step();
		alive = false;
		for (unsigned c = 0; c < cores; c++)
			alive |= runs(c) || machine->kernel.cpu[c]->shared.timers;
	}
	hosted_destroy(machine);
	return done;
}
