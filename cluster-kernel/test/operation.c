/* SPDX-License-Identifier: BSD-2-Clause */
#include "operation.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <skerry/cluster_control.h>
#include <skerry/cluster_mask.h>
#include <skerry/memory_control.h>
#include <skerry/root_info.h>
#include "arena.h"
#include "check.h"
#include "message.h"
#include "neighbour.h"
#include "vspace.h"

/* The one that this thread of the host is drawing for. */
static _Thread_local struct {
	struct hosted *machine;
	const uint8_t *operand;
	unsigned left;
	uint64_t state;
} draw;

static void begin(struct hosted *machine, const uint8_t record[RECORD_SIZE])
{
	draw.machine = machine;
	draw.operand = record + RECORD_OPERANDS;
	draw.left = RECORD_SIZE - RECORD_OPERANDS;
	draw.state = 0x9e3779b97f4a7c15ull;
	for (unsigned i = 0; i < RECORD_SIZE; i++)
		draw.state = (draw.state ^ record[i]) * 0x100000001b3ull;
}

/* Below `count`. */
static unsigned pick(unsigned count)
{
	if (draw.left) {
		unsigned value = *draw.operand++;
		draw.left--;
		return count > 256 ? (value * 0x101u + (unsigned)(draw.state >> 40)) % count : value % count;
	}
	draw.state ^= draw.state << 13;
	draw.state ^= draw.state >> 7;
	draw.state ^= draw.state << 17;
	return (draw.state >> 33) % count;
}
static bool one_in(unsigned n) { return pick(n) == n - 1; } /* no operand at all is the usual case */

static uint64_t any_slot(void)
{
	unsigned which = pick(64);
	if (which >= 62)
		return pick(1u << ROOT_CNODE_BITS);
	if (which >= 56)
		return pick(ROOT_SLOT_CHANNEL + 2);
	return PLAY_FIRST + which % PLAY_SLOTS;
}

/* Returns what a slot of the root CNode seems to hold. Another core may be changing it, unknown to the sanitizer. */
__attribute__((no_sanitize("thread"))) static unsigned peek_type(uint64_t slot)
{
	return ((const volatile struct slot *)draw.machine->root_cnode)[slot].cap.type;
}

/* A slot that holds this type, if there is one. */
static uint64_t slot_of_type(unsigned type)
{
	unsigned start = pick(PLAY_SLOTS + 1);
	for (unsigned i = 0; i < PLAY_SLOTS && start < PLAY_SLOTS; i++) {
		uint64_t slot = PLAY_FIRST + (start + i) % PLAY_SLOTS;
		if (peek_type(slot) == type)
			return slot;
	}
	return any_slot();
}

static uint64_t any_word(void)
{
	static const uint64_t odd[] = { 0, 1, 2, 4096, 1 << 21, 1 << 30, 1ull << 39, 1ull << 47, USER_TOP - 4096, ~0ull,
	                                1ull << 63, -1ull << 47 };
	unsigned which = pick(96);
	if (which < sizeof(odd) / sizeof(odd[0]))
		return odd[which];
	return which < 64 ? which : PLAY_FIRST + which % PLAY_SLOTS;
}

static uint64_t any_vaddr(void)
{
	unsigned which = pick(128);
	uint64_t vaddr = (which & 3ull) << 39 | (which >> 2 & 1ull) << 30 | (which >> 3 & 3ull) << 21 |
	                 (which >> 5) * 4096ull;
	return which == 127 ? any_word() : which >= 80 ? PLAY_BUFFERS + which % 16 * 4096 : vaddr;
}

bool operation_verbose;

/* A program uses memory all the time; which, no operand says. */
static void use_some_memory(struct hosted *machine, unsigned core)
{
	unsigned which = draw.state >> 32;
	hosted_touch(machine, core, PLAY_BUFFERS + which % 16 * 4096);
	hosted_touch(machine, core, (uint64_t)(which >> 4 & 1) << 39 | (uint64_t)(which >> 5 & 3) << 12);
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

static uint64_t root_cnode(void) { return one_in(16) ? slot_of_type(OBJECT_CNODE) : ROOT_SLOT_CNODE; }
static uint64_t any_core(void) { return pick(draw.machine->config.cores * 8 + 1) % (draw.machine->config.cores + 1); }
/* In half of the runs the last core has no thread most of the time, so that it may leave. */
static uint64_t core_of_thread(void)
{
	const uint64_t core = any_core(), last = draw.machine->config.cores - 1;
	return draw.machine->config.seed % 2 && core == last && !one_in(8) ? 0 : core;
}

static void retype(struct step *s)
{
	unsigned object = 1 + pick(one_in(20) ? 16 : OBJECT_FRAME_2M);
	uint64_t bits = object == OBJECT_CNODE ? 1 + pick(5) : object == OBJECT_UNTYPED ? 10 + pick(10) : 0;
	s->call.cptr = one_in(10) ? ROOT_SLOT_UNTYPED + pick(24) : slot_of_type(OBJECT_UNTYPED);
	s->label = UNTYPED_RETYPE;
	WORDS(s, object, one_in(30) ? any_word() : bits, PLAY_FIRST + pick(PLAY_SLOTS),
	      one_in(20) ? any_word() : 1 + pick(3));
	set_caps(s, 1, root_cnode(), 0, 0);
	if (object == OBJECT_FRAME_4K && pick(2)) {
		s->label = UNTYPED_COPY;
		s->word[1] = one_in(8) ? any_word() : slot_of_type(OBJECT_FRAME_4K);
		set_caps(s, 2, s->cap[0], root_cnode(), 0);
	}
}

/* Revocation and deletion are rarer than what makes capabilities. */
static void cnode(struct step *s)
{
	static const uint8_t labels[] = { CNODE_COPY, CNODE_COPY, CNODE_COPY, CNODE_MINT, CNODE_MINT, CNODE_MINT,
	                                  CNODE_MOVE,
		                          CNODE_MUTATE, CNODE_DELETE, CNODE_REVOKE };
	s->label = labels[pick(sizeof(labels))];
	s->call.cptr = root_cnode();
	uint64_t to = s->label == CNODE_DELETE || s->label == CNODE_REVOKE ? any_slot() : PLAY_FIRST + pick(PLAY_SLOTS);
	uint64_t from = any_slot();
	if (s->call.cptr != ROOT_SLOT_CNODE)
		to = pick(16);
	uint64_t rights = one_in(3) ? pick(16) : RIGHT_ALL, badge = one_in(3) ? any_word() : pick(8);
	WORDS(s, to, from, rights, badge, one_in(8) ? any_word() : 64 - pick(8));
	set_caps(s, 1, root_cnode(), 0, 0);
}

static void tcb(struct step *s)
{
	s->label = TCB_CONFIGURE + pick(TCB_SET_CORES - TCB_CONFIGURE + 2);
	s->call.cptr = one_in(50) ? ROOT_SLOT_TCB : slot_of_type(OBJECT_TCB);
	switch (s->label) {
	case TCB_CONFIGURE:
		WORDS(s, pick(2) ? PLAY_BUFFERS + ((uint64_t)pick(9) << 10) : 0,
		      pick(2) ? slot_of_type(OBJECT_ENDPOINT) : 0);
		set_caps(s, 2 + pick(2), root_cnode(), pick(2) ? ROOT_SLOT_VSPACE : slot_of_type(OBJECT_VSPACE),
		         slot_of_type(OBJECT_FRAME_4K));
		break;
	case TCB_SCHEDULE:
	case TCB_SET_MCP:
		WORDS(s, 100 + pick(4), core_of_thread());
		set_caps(s, 1, one_in(10) ? slot_of_type(OBJECT_TCB) : ROOT_SLOT_TCB, 0, 0);
		break;
	case TCB_SET_CORES: /* root keeps all, or nobody would move threads after a while */
		WORDS(s, s->call.cptr == ROOT_SLOT_TCB || one_in(4) ? (1ull << draw.machine->config.cores) - 1
		      : one_in(16) ? any_word() : 1ull << any_core(),
		      one_in(16));
		s->words = 1 + one_in(8);
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
	unsigned table = pick(2), what = pick(4);
	s->call.cptr = slot_of_type(table ? OBJECT_PAGE_TABLE : OBJECT_FRAME_4K + one_in(6));
	s->label = table ? PAGE_TABLE_MAP + what / 3 : what == 3 ? FRAME_UNMAP + pick(2) : FRAME_MAP;
	WORDS(s, any_vaddr(), one_in(4) ? pick(16) : RIGHT_ALL, one_in(20) ? any_word() : pick(3), 1);
	set_caps(s, 1, pick(3) ? ROOT_SLOT_VSPACE : slot_of_type(OBJECT_VSPACE), 0, 0);
	s->word[3] = one_in(3) ? one_in(8) ? any_word() : 1 + pick(3) : 1;
}

static void protect(struct step *s)
{
	s->call.cptr = slot_of_type(OBJECT_FRAME_4K + one_in(6));
	s->label = FRAME_PROTECT;
	WORDS(s, pick(2) ? RIGHT_READ : pick(16), 1);
	set_caps(s, one_in(4), ROOT_SLOT_VSPACE, 0, 0);
	s->word[1] = one_in(3) ? one_in(8) ? any_word() : 1 + pick(3) : 1;
}

/* A frame goes into a domain, a domain becomes coarse or fine, or a new one is made. */
static void domain(struct step *s)
{
	unsigned what = pick(4);
	if (what == 3) {
		retype(s);
		s->word[0] = OBJECT_DOMAIN, s->word[1] = 0;
		return;
	}
	s->label = what ? FRAME_SPLIT : DOMAIN_GRANULARITY;
	s->call.cptr = slot_of_type(what ? OBJECT_FRAME_4K + one_in(6) : OBJECT_DOMAIN);
	WORDS(s, pick(2 + one_in(16)));
	set_caps(s, !one_in(4), slot_of_type(OBJECT_DOMAIN), 0, 0);
}

/* Any cluster, in any order of steps; the word is the one that is so, or any. */
static void control_cluster(struct step *s)
{
	unsigned cluster = 5 + pick(2);
	s->call.cptr = one_in(8) ? any_slot() : ROOT_SLOT_CLUSTER_CONTROL;
	s->label = CLUSTER_READ + pick(5);
	WORDS(s, one_in(8) ? any_word() : cluster, one_in(4) ? any_word() : control_read(hosted_control(cluster)));
}

/* Cores of this cluster, and one of another; any memory of the machine's, what this cluster had at boot above all. */
static void control_move(struct step *s)
{
	uint64_t piece = arena_part(draw.machine->config.cluster) + ((uint64_t)pick(12) << MEMORY_PIECE_BITS);
	s->call.cptr = one_in(16) ? any_slot() : ROOT_SLOT_CLUSTER_CONTROL;
	s->label = pick(2) ? MEMORY_GIVE + pick(2) : CORE_READ + pick(3);
	if (s->label <= CORE_TAKE) {
		WORDS(s, one_in(16) ? any_word() : any_core() % draw.machine->config.cores, 5 + pick(2));
	} else if (s->label == MEMORY_GIVE) {
		WORDS(s, one_in(16) ? any_word() : 5 + pick(2));
		set_caps(s, 1, one_in(4) ? any_slot() : one_in(2) ? slot_of_type(OBJECT_UNTYPED)
		         : ROOT_SLOT_UNTYPED + pick(8), 0, 0);
	} else {
		WORDS(s, one_in(16) ? any_word() : piece, one_in(16) ? any_word() : MEMORY_PIECE_BITS + pick(3),
		      PLAY_FIRST + pick(PLAY_SLOTS));
		set_caps(s, 1, root_cnode(), 0, 0);
	}
}

static void device(struct step *s)
{
	switch (pick(6)) {
	case 0:
		s->call.cptr = ROOT_SLOT_IRQ_CONTROL;
		s->label = IRQ_GET_IOAPIC + pick(2);
		WORDS(s, PLAY_FIRST + pick(PLAY_SLOTS), any_core(), pick(4), pick(4));
		set_caps(s, 1, root_cnode(), 0, 0);
		break;
	case 1:
		s->call.cptr = slot_of_type(OBJECT_IRQ_HANDLER);
		s->label = IRQ_SET_NOTIFICATION + one_in(3);
		set_caps(s, 1, slot_of_type(OBJECT_NOTIFICATION), 0, 0);
		break;
	case 2:
		s->call.cptr = one_in(4) ? slot_of_type(OBJECT_IO_PORT) : ROOT_SLOT_IO_PORT;
		s->label = IO_PORT_IN + pick(2);
		WORDS(s, one_in(4) ? any_word() : pick(1 << 16), 1u << pick(4), any_word());
		break;
	case 3:
		s->call.cptr = one_in(4) ? any_slot() : ROOT_SLOT_CHANNEL;
		s->label = CHANNEL_LISTEN;
		WORDS(s, one_in(10) ? any_word() : pick(4), any_core());
		set_caps(s, 1, slot_of_type(OBJECT_NOTIFICATION), 0, 0);
		break;
	case 4: control_cluster(s); break;
	case 5: control_move(s); break;
	}
}

static void message(struct step *s)
{
	static const uint8_t numbers[] = { SYS_CALL, SYS_CALL, SYS_SEND, SYS_NB_SEND, SYS_RECV, SYS_RECV, SYS_NB_RECV,
		                           SYS_REPLY, SYS_REPLY_RECV, SYS_REPLY_RECV };
	s->call.number = numbers[pick(sizeof(numbers))];
	s->call.cptr = slot_of_type(OBJECT_ENDPOINT);
	s->call.reply = one_in(5) ? 0 : slot_of_type(OBJECT_REPLY);
	s->words = one_in(3) ? pick(24) : pick(MESSAGE_REGISTERS + 1); /* few: the fast path */
	set_caps(s, one_in(3) ? pick(4) : 0, any_slot(), any_slot(), any_slot());
	s->label = pick(3);
}

static void signal_or_wait(struct step *s)
{
	s->call.number = SYS_SIGNAL + pick(4);
	s->call.cptr = one_in(8) ? slot_of_type(OBJECT_DOORBELL) : slot_of_type(OBJECT_NOTIFICATION);
	WORDS(s, pick(2) ? 0 : hosted_now(draw.machine) + pick(20000));
}

/* What wakes others and never waits. */
static void nudge(struct step *s)
{
	static const uint8_t numbers[] = { SYS_SIGNAL, SYS_SIGNAL, SYS_NB_SEND, SYS_NB_SEND, SYS_NB_RECV, SYS_REPLY,
	                                   SYS_POLL };
	s->call.number = numbers[pick(sizeof(numbers))];
	s->call.cptr = slot_of_type(s->call.number >= SYS_SIGNAL ? OBJECT_NOTIFICATION : OBJECT_ENDPOINT);
	s->call.reply = slot_of_type(OBJECT_REPLY);
	s->words = pick(MESSAGE_REGISTERS + 2);
	set_caps(s, one_in(4) ? pick(4) : 0, any_slot(), any_slot(), any_slot());
}

static void nonsense(struct step *s)
{
	s->call.number = one_in(4) ? any_word() : pick(16);
	s->call.cptr = one_in(4) ? any_word() : any_slot();
	s->call.reply = any_slot();
	s->label = one_in(4) ? any_word() : pick(96);
	s->words = pick(24);
	for (unsigned i = 0; i < 6; i++)
		s->word[i] = any_word();
	set_caps(s, pick(4), any_slot(), any_slot(), any_slot());
}

/* Where received capabilities are to go. */
static void wish(uint64_t *cnode, uint64_t *slot)
{
	*cnode = one_in(3) ? 0 : ROOT_SLOT_CNODE;
	*slot = PLAY_FIRST + pick(PLAY_SLOTS);
}

/* A core that is a thread writes as its program would; else all cores are at rest, and it is sure to get there. */
static void write_buffer(struct hosted *machine, unsigned core, const struct thread *thread, const struct step *s)
{
	struct ipc_buffer full = { 0 };
	memcpy(full.words, s->word, sizeof(s->word));
	memcpy(full.caps, s->cap, sizeof(s->cap));
	wish(&full.receive_cnode, &full.receive_slot);
	if (!machine->config.threads) {
		struct ipc_buffer *buffer = thread_ipc_buffer(thread);
		if (buffer)
			*buffer = full;
		return;
	}
	uint64_t vaddr = players_buffer(machine, thread);
	const uint64_t *word = (const uint64_t *)&full;
	for (unsigned i = MESSAGE_REGISTERS; i < sizeof(full) / 8; i++)
		if ((i < s->words || i >= MESSAGE_WORDS_MAX) && !hosted_store(machine, core, vaddr + 8 * i, word[i]))
			return;
}

static void tell_step(unsigned core, const struct thread *thread, const struct step *s)
{
	const uint64_t *word = s->word, *cap = s->cap;
	fprintf(stderr, "core %u thread %p: system call %" PRIu64 " on %" PRIu64 ", label %" PRIu64 ", words %#"
	        PRIx64 " %#" PRIx64 " %#"
	        PRIx64 " %#" PRIx64 ", caps %" PRIu64 " %" PRIu64 " %" PRIu64 ", reply %" PRIu64 "\n", core,
	        (const void *)thread, s->call.number, s->call.cptr, s->label, word[0], word[1], word[2], word[3],
	        cap[0], cap[1], cap[2], s->call.reply);
}

/* The root task seldom does what it may not return from, or what nobody could do after it: the others need it to wake
 * them. */
static void be_careful(struct step *s)
{
	bool playing = s->call.cptr >= PLAY_FIRST && s->call.cptr < PLAY_FIRST + PLAY_SLOTS;
	if (s->call.number == SYS_CALL && playing && peek_type(s->call.cptr) == OBJECT_ENDPOINT)
		s->call.number = SYS_NB_SEND;
	if (s->call.cptr == ROOT_SLOT_CNODE && s->word[0] >= PLAY_FIRST)
		return;
	if (s->call.cptr <= ROOT_SLOT_IPC_BUFFER && s->label != UNTYPED_RETYPE)
		s->label = CNODE_COPY;
}

enum { CAREFUL_KINDS = 9 };
static void (*const calls[])(struct step *s) = { retype, cnode, cnode, tcb, tcb, memory, device, nudge, nudge, message,
	                                         message, message, message, signal_or_wait, signal_or_wait, nonsense,
	                                         signal_or_wait, protect, domain };
/* the last are kinds of their own: signal and wait, protect, domain */
enum { CALL_KINDS = sizeof(calls) / sizeof(calls[0]) - 3 };

static bool system_call(struct hosted *machine, unsigned core, unsigned kind)
{
	const struct thread *thread = current(machine->kernel.cpu[core]);
	struct step s = { .call.number = SYS_CALL };
	bool careful = thread == machine->root && !one_in(250);
	use_some_memory(machine, core);
	calls[careful && kind <= CALL_KINDS ? kind % CAREFUL_KINDS : kind](&s);
	if (kind == CALL_KINDS && !careful) {
		s.call.number = SYS_SIGNAL_WAIT;
		s.call.reply = one_in(16) ? any_slot()
		               : slot_of_type(one_in(8) ? OBJECT_DOORBELL : OBJECT_NOTIFICATION);
		if (one_in(3)) {
			s.call.number = SYS_SIGNAL_SET;
			s.word[0] = 1 | any_word();
		}
	}
	if (careful)
		be_careful(&s);
	memcpy(s.call.word, s.word, sizeof(s.call.word));
	s.call.info = message_info(s.label, s.caps, s.words);
	write_buffer(machine, core, thread, &s);
	if (operation_verbose)
		tell_step(core, thread, &s);
	hosted_post_call(machine, core, &s.call);
	return true;
}

static bool fault(struct hosted *machine, unsigned core)
{
	const uint64_t words[5] = { 1, 2, 3, 4, 5 };
	if (current(machine->kernel.cpu[core]) == machine->root)
		return false;
	unsigned kind = FAULT_EXCEPTION + pick(2), trap = one_in(4);
	if (operation_verbose)
		fprintf(stderr, "core %u: a %s\n", core, trap ? "trap" : "fault");
	if (trap)
		hosted_post_trap(machine, core);
	else
		hosted_post_fault(machine, core, kind, 5, words);
	return true;
}

static void invoke_on(struct hosted *machine, unsigned core, uint64_t cptr, uint64_t label, uint64_t m0, uint64_t m1)
{
	hosted_post_call(machine, core, &(struct hosted_call){ .number = SYS_CALL, .cptr = cptr,
	                                                       .info = message_info(label, 0, 2), .word = { m0, m1 } });
}

static void order_locality(struct hosted *machine, unsigned core)
{
	uint64_t slot = one_in(16) ? any_slot() : slot_of_type(OBJECT_ENDPOINT + pick(3)),
	         home = mask_of((uint32_t)any_core());
	invoke_on(machine, core, root_cnode(), CNODE_LOCALITY + one_in(8), slot,
	          one_in(3) ? mask_make(0, 0, pick(8)) : one_in(16) ? any_word() : home);
}

/* The neighbours give back what they were given: a core, and memory of the first pieces. */
static void return_some(struct hosted *machine)
{
	const unsigned own = machine->config.cluster, neighbour = 5 + pick(2);
	neighbour_returns_core(own * HOSTED_CORES + machine->config.cores - 1, neighbour, own);
	for (unsigned i = 0; i < 12; i++)
		neighbour_returns_memory(arena_part(own) + ((uint64_t)i << MEMORY_PIECE_BITS), neighbour, own);
}

static void use_memory(struct hosted *machine, unsigned core)
{
	uint64_t vaddr = any_vaddr(), value;
	unsigned how = pick(3);
	(void)(!how ? hosted_touch(machine, core, vaddr) : how == 1 ? hosted_load(machine, core, vaddr, &value)
	                                                              : hosted_store(machine, core, vaddr, any_word()));
}

bool operation_do(struct hosted *machine, unsigned core, const uint8_t record[RECORD_SIZE])
{
	enum { YIELD = 2 * CALL_KINDS, FAULT, MEMORY, MEMORY_TOO, PIN, MSI, TIME, TIME_TOO, GRANULARITY, SIGNAL_WAIT,
	       PROTECT, LOCALITY, DOMAIN, KINDS };
	unsigned kind = record[0] % KINDS;
	begin(machine, record);
	switch (kind) {
	case PIN: hosted_raise_pin(machine, pick(4)); return false;
	case MSI: hosted_write_msi(machine, (uint64_t)core << 12, HOSTED_VECTOR_IRQ + pick(4)); return false;
	case TIME: hosted_advance(machine, pick(256) * 80); return_some(machine); return false;
	case TIME_TOO: hosted_advance(machine, machine->kernel.slice); return false;
	}
	if (current(machine->kernel.cpu[core]) == &machine->kernel.cpu[core]->shared.idle)
		return false;
	switch (kind) {
	case FAULT: return fault(machine, core);
	case MEMORY: case MEMORY_TOO: use_memory(machine, core); return false;
	case YIELD: hosted_post_call(machine, core, &(struct hosted_call){ .number = SYS_YIELD }); return true;
	case GRANULARITY: invoke_on(machine, core, ROOT_SLOT_CONTROL, CONTROL_GRANULARITY, pick(2 + one_in(16)), 0);
		return true;
	case LOCALITY: order_locality(machine, core); return true;
	case DOMAIN: return system_call(machine, core, CALL_KINDS + 2);
	case SIGNAL_WAIT: case PROTECT: return system_call(machine, core, CALL_KINDS + kind - SIGNAL_WAIT);
	default: return system_call(machine, core, kind % CALL_KINDS);
	}
}

/* --- the objects at the start of a random run --- */

/* The root task invokes an object. */
#define PREPARE(cptr, label, cap0, cap1, cap2, ...) \
	do { \
		uint64_t result = hosted_root_invokes(machine, cptr, label, (uint64_t[]){ cap0, cap1, cap2 }, \
		                                      sizeof((uint64_t[]){ __VA_ARGS__ }) / 8, \
		                                      (uint64_t[]){ __VA_ARGS__ }); \
		CHECK(result == 0, "a call of the preparation failed", result, label); \
	} while (0)

static uint64_t buffer_of(unsigned player) { return PLAY_BUFFERS + player * 4096ull; }

static void make_thread(struct hosted *machine, unsigned player, uint64_t slot)
{
	PREPARE(PLAY_FIRST, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_TCB, 0, slot, 1);
	PREPARE(PLAY_FIRST, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_FRAME_4K, 0, slot + 1, 1);
	PREPARE(slot + 1, FRAME_MAP, ROOT_SLOT_VSPACE, 0, 0, buffer_of(player), RIGHT_ALL, 0);
	PREPARE(slot, TCB_CONFIGURE, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, slot + 1, buffer_of(player), 0);
	/* a core without threads */
	const unsigned cores = machine->config.cores, spare = machine->config.seed % 2 && cores > 1;
	PREPARE(slot, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100 + player % 2, player % (cores - spare));
	PREPARE(slot, TCB_RESUME, 0, 0, 0, 0);
}

void players_make(struct hosted *machine)
{
	static const uint8_t objects[] = { OBJECT_ENDPOINT, OBJECT_NOTIFICATION, OBJECT_REPLY, OBJECT_REPLY,
	                                   OBJECT_CNODE,
		                           OBJECT_VSPACE, OBJECT_PAGE_TABLE, OBJECT_PAGE_TABLE, OBJECT_PAGE_TABLE,
		                           OBJECT_DOMAIN };
	uint64_t untyped = ROOT_SLOT_UNTYPED, slot = PLAY_FIRST;
	while (machine->root_cnode[untyped].cap.size_bits < 22)
		untyped++;
	PREPARE(untyped, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, OBJECT_UNTYPED, 18, slot++, 1);
	for (unsigned i = 0; i < PLAY_THREADS; i++, slot += 2)
		make_thread(machine, i, slot);
	for (unsigned i = 0; i < sizeof(objects); i++)
		PREPARE(PLAY_FIRST, UNTYPED_RETYPE, ROOT_SLOT_CNODE, 0, 0, objects[i],
		        objects[i] == OBJECT_CNODE ? 4 : 0, slot++, 1);
	PREPARE(ROOT_SLOT_TCB, TCB_SCHEDULE, ROOT_SLOT_TCB, 0, 0, 100, 0);
}

uint64_t players_buffer(const struct hosted *machine, const struct thread *thread)
{
	if (thread == machine->root)
		return ROOT_IPC_BUFFER_VADDR;
	return buffer_of((uint64_t)thread >> (TCB_BITS + 2) & (PLAY_THREADS - 1)); /* each with its page, 8 KiB apart */
}
