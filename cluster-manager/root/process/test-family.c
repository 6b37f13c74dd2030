/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Families of processes: whatever a fork lacks, nothing of it stays; those that have ended take nobody's place; what a
 * program makes its manager print has an end. The memory of processes is a note of each owner that has any.
 */
#include <string.h>
#include <skerry/process.h>
#include <skerry/stubs.h>
#include "promise.h"
#include "root.h"
#include "slots.h"
#include "test-check.h"

enum { APPLICATION = 0, PROCESSES = 3, STEPS = 2, PROBES = 100, CNODE_BITS = 12, CWD = 0x7effffff };
#define TSC_HZ (1ull << 50) /* the test takes no second */

static const struct promise heap_of_steps = { .address = PROCESS_HEAP_VADDR, .frame_size = SIZE_2M, .count = STEPS,
                                              .first = 1 };
static bool has[OWNERS]; /* something was taken for this owner */
static unsigned calls, fails_at, printed, written, suspended;
static uint64_t touched, rip, noted;
static unsigned paused, continued; /* threads that were stopped, and go on */
static uint32_t slots, taken;
static uint32_t ends; /* places that have ends of rings */

/* Each thing that a fork asks for is missing once. */
static int next_error(void)
{
	has[owner_now()] = true;
	return ++calls == fails_at ? -SKERRY_NO_MEMORY : 0;
}

static int next_slot(void) { return next_error() ? -SKERRY_NO_MEMORY : 1; }

#define cnode_copy_range(ipc, cnode, to, from, count, rights) ((void)(from), next_error())
#define cnode_delete(...) 0
#define cnode_revoke(...) 0
#define frame_protect_range(ipc, frame, vspace, rights, count) ((void)(frame), next_error())
#define frame_unmap(...) ((void)0)
#define page_table_map(...) next_error()
#define tcb_write_registers(ipc, tcb, resume, registers) (rip = (registers)->rip, written++, next_error())
#define tcb_suspend(...) (paused++)
#define tcb_resume(...) (paused--, continued++)
#define tcb_read_registers(ipc, tcb, registers) ((registers)->rip = rip, next_error())
#include "inbox.c"
#include "share.c"
#include "split.c"
#include "fork-heap.c"
#include "family.c"
#include "family-stops.c"

static struct cluster_map own_map;
const struct cluster_map *map = &own_map;

static uint32_t owner;
uint32_t owner_set(uint32_t next)
{
	const uint32_t before = owner;
	owner = next;
	return before;
}
uint32_t owner_now(void) { return owner; }
int slots_take(uint32_t count) { return (void)count, next_slot(); }
int slots_take_for_objects(uint32_t count) { return taken += count, next_slot(); }
void slots_give(int first, uint32_t count) { (void)first, taken -= count; }
uint32_t slots_free(void) { return slots; }

void memory_return(uint32_t of) { has[of] = false; }
uint64_t memory_free(void) { return 0; }
int memory_object(enum skerry_object type, unsigned bits) { return (void)type, (void)bits, next_slot(); }
int memory_frames(enum skerry_object type, uint32_t count) { return (void)type, (void)count, next_slot(); }
int memory_retype(int untyped, enum skerry_object type, int first, uint32_t count, int from)
{
	return (void)untyped, (void)type, (void)first, (void)count, (void)from, next_error();
}
int memory_reserve(struct memory_reserve *reserve, enum skerry_object type, unsigned bits, uint32_t count)
{
	return (void)reserve, (void)type, (void)bits, (void)count, next_slot();
}
int memory_commit(struct memory_reserve *r, int first, uint32_t count, int from)
{
	return (void)r, (void)first, (void)count, (void)from, 0;
}

void *own_memory(uint64_t size)
{
	static _Alignas(64) char memory[1 << 16];
	CHECK(size <= sizeof(memory));
	return memory;
}
void *window_open(int first, uint32_t count) { return (void)first, (void)count, NULL; }
void window_close(void) {}
void *window_large(int frame, unsigned place) { return (void)frame, (void)place, NULL; }
int vspace_map(int vspace, int frame, uint64_t address, unsigned rights, unsigned attributes)
{
	return (void)vspace, (void)frame, (void)address, (void)rights, (void)attributes, next_error();
}
int vspace_map_range(int vspace, int first, uint32_t count, uint64_t size, uint64_t address, unsigned rights,
                     unsigned attributes)
{
	return (void)count, (void)size, vspace_map(vspace, first, address, rights, attributes);
}
void sign_pass(void) {}
void console_print(const char *format, ...) { (void)format, printed++; }
int home_set(uint64_t cnode, uint64_t slot, uint32_t core) { return (void)cnode, (void)slot, (void)core, next_error(); }

int promise_commit_copy(struct promise *p, uint32_t group, int from)
{
	return (void)p, (void)group, (void)from, next_error();
}
int promise_note(const struct promise_table *t, uint64_t bit) { return (void)t, (void)bit, 0; }
int promise_note_word(const struct promise_table *t, uint64_t word, uint64_t value)
{
	CHECK(word == PROCESS_TOUCHED_RESUME / 64);
	return (void)t, noted = value, 0;
}
int promise_word(const struct promise_table *t, uint64_t word, uint64_t *value)
{
	(void)t, (void)word;
	*value = touched;
	return next_error();
}

int inherit_image(struct process *p, const struct process *parent, uint32_t image_owner)
{
	has[image_owner] = true;
	return (void)p, (void)parent, next_error();
}
int inherit_touched(struct process *p, const struct process *parent, uint64_t heap)
{
	return (void)p, (void)parent, (void)heap, next_error();
}
int inherit_stack(struct process *p, const struct process *parent) { return (void)p, (void)parent, next_error(); }
int inherit_heap(struct process *p, uint64_t heap)
{
	p->heap = heap_of_steps;
	return (void)heap, next_error();
}
int inherit_rights(struct process *p, const struct process *parent, struct shield *page)
{
	return (void)p, (void)parent, (void)page, next_error();
}
int inherit_step(struct process *p, const struct process *parent, uint32_t step, unsigned rights)
{
	return (void)p, (void)parent, (void)step, (void)rights, next_error();
}

static int lacks;
int exec_check(const struct map_application *a, const struct exec_process *e, const struct exec_order *o,
               struct exec_plan *plan, struct error_message *err)
{
	(void)a, (void)e, (void)plan;
	err->text[0] = o->file ? 'x' : 0;
	return o->file ? -SKERRY_BAD_ARGUMENT : 0;
}
int exec_run(const struct exec_process *e, const struct exec_order *o, const struct exec_plan *plan)
{
	(void)o, (void)plan;
	has[e->image_owner] = true;
	return lacks;
}
uint32_t fault_signal(uint64_t fault, uint64_t vector) { return (void)vector, fault == FAULT_PAGE ? 11 : 0; }

static struct process first;
struct process *process_of(uint32_t application) { return (void)application, &first; }
bool process_started(uint32_t application) { return (void)application, first.started; }
int process_start(uint32_t application)
{
	first.heap = heap_of_steps;
	first.cwd = CWD;
	first.started = true;
	return (void)application, 0;
}
void process_kill(uint32_t application) { (void)application, first.started = false; }
void process_stop(struct process *p) { p->started = false, suspended++; }
int process_objects(struct process *p) { return (void)p, next_error(); }
int process_give(const struct process *p, unsigned slot, int root)
{
	return (void)p, (void)slot, (void)root, next_error();
}
int process_give_first(struct process *p, uint32_t number, uint32_t core)
{
	return (void)p, (void)number, (void)core, next_error();
}
void process_describe(uint32_t application, struct gained_core core, struct process_info *info)
{
	(void)application, (void)core;
	memset(info, 0, sizeof(*info));
}
int files_attach(const struct map_application *a, const struct process *p, struct process_info *info)
{
	return (void)a, (void)p, (void)info, next_error();
}
int process_map_info(const struct process_info *info, int vspace)
{
	CHECK(info->cwd == CWD);
	return (void)vspace, next_error();
}
int process_thread(struct process *p, uint32_t application, struct gained_core core, const char **step)
{
	return (void)p, (void)application, (void)core, (void)step, next_error();
}
int area_give(uint32_t application, uint32_t place, struct process *p, struct process_info *info)
{
	return (void)application, (void)place, (void)p, (void)info, next_error();
}
int volumes_attach(uint32_t application, struct process *p, struct process_info *info)
{
	return (void)application, (void)p, (void)info, next_error();
}
void area_inherit(uint32_t application, uint32_t from, uint32_t to) { (void)application, (void)from, ends |= 1u << to; }
void area_left(uint32_t application, uint32_t place) { (void)application, ends &= ~(1u << place); }
struct shield *process_shield(uint32_t of) { return (void)of, NULL; }
void process_reserve_records(const struct map_application *a) { (void)a; }
uint64_t process_memory(uint32_t application) { return (void)application, 0; }
uint64_t process_committed(const struct process *p) { return (void)p, 0; }
bool process_touches(struct process *p, uint32_t of, uint64_t address, unsigned needed, int *error)
{
	return (void)p, (void)of, (void)address, (void)needed, *error = 0, true;
}
int64_t process_protect(struct process *p, uint32_t of, uint64_t address, uint64_t size, uint64_t rights)
{
	return (void)p, (void)of, (void)address, (void)rights, (int64_t)size;
}
struct gained_core core_now(uint32_t application) { return (void)application, (struct gained_core){ 0 }; }

/* --- the cases --- */

static unsigned owners(void)
{
	unsigned count = 0;
	for (uint32_t i = OWNER_CHILDREN; i < OWNER_IMAGES; i++)
		count += has[i];
	return count;
}

static unsigned images(void)
{
	unsigned count = 0;
	for (uint32_t i = OWNER_IMAGES; i < OWNERS; i++)
		count += has[i];
	return count;
}

static int fork_from(uint32_t place, uint32_t *pid)
{
	static const struct fork_start start;
	const int to = family_fork(APPLICATION, place, &start, pid);
	if (to < 0)
		return to;
	const unsigned before = continued;
	family_begin(APPLICATION, (uint32_t)to);
	CHECK(family_runs(APPLICATION, (uint32_t)to) && continued == before + 1);
	paused++; /* it was not stopped before */
	return 0;
}

/* Whatever is missing, the place is free again, and the next fork has all. */
static void misses(void)
{
	uint32_t pid;
	unsigned missed = 0;
	for (fails_at = 1;; fails_at++) {
		calls = 0;
		if (!fork_from(0, &pid))
			break;
		missed++;
		CHECK(owners() == 0 && images() == 0 && family_find(APPLICATION, 2) < 0);
		CHECK(!family[APPLICATION]->shares.at[0].lent);
		CHECK(!ends);
	}
	CHECK(missed > 15 && written == 2 && owners() == 1 && pid && ends);
	fails_at = 0;
	CHECK(family_ended(APPLICATION, (uint32_t)family_find(APPLICATION, pid), 0) == 0 && owners() == 0 && !ends);
	struct ended ended;
	CHECK(family_has_ended(APPLICATION, 0, pid) && !family_has_ended(APPLICATION, 0, pid + 1));
	CHECK(!family_reap(APPLICATION, 0, pid, 0, 0, &ended) && ended.pid == pid);
	CHECK(!family_has_ended(APPLICATION, 0, pid));
}

/* Each process of a row writes a step, of which the next one borrows, forks that one and ends, without end. */
static void row(void)
{
	struct ended ended;
	uint32_t pid, more;
	CHECK(!fork_from(0, &pid));
	for (unsigned i = 0; i < PROBES; i++) {
		const int place = family_find(APPLICATION, pid);
		CHECK(place > 0);
		if (place <= 0)
			return;
		const uint64_t address = PROCESS_HEAP_VADDR + i % STEPS * SIZE_2M;
		CHECK(family_touches(APPLICATION, (uint32_t)place, address, RIGHT_WRITE, true));
		CHECK(!fork_from((uint32_t)place, &pid));
		CHECK(family_ended(APPLICATION, (uint32_t)place, 0) == (i ? -1 : 0));
		CHECK(i || !family_reap(APPLICATION, 0, 0, 0, 0, &ended));
	}
	CHECK(!fork_from(0, &more));
	family_kill(APPLICATION);
	CHECK(owners() == 0 && suspended > PROBES && family_start(APPLICATION) == 0);
}

/* A program that faults, or forks in vain, for ever. */
static void prints(void)
{
	struct ended ended;
	uint32_t pid;
	for (unsigned i = 0; i < PROBES; i++) {
		CHECK(!fork_from(0, &pid));
		family_faulted(APPLICATION, (uint32_t)family_find(APPLICATION, pid), FAULT_PAGE, 0, 0);
		CHECK(!family_reap(APPLICATION, 0, 0, 0, 0, &ended) && ended.pid == pid && ended.status == 11);
		calls = 0;
		fails_at = 1;
		CHECK(fork_from(0, &pid) == -SKERRY_NO_MEMORY);
		fails_at = 0;
	}
	CHECK(printed >= 20 && printed < 30); /* with those of misses() */
}

/* A child's split steps leave slots for other programs, as the parent's do. */
static void splits(void)
{
	static struct shield shield;
	const struct split from = { .step = 1 };
	struct process p = { .shield = &shield, .table_count = PROCESS_SPLITS };
	taken = 0;
	slots = (1 << CNODE_BITS) / 4 + STEP_PAGES - 1;
	CHECK(split_inherit(&p, &from) == -SKERRY_NO_RESOURCE && !taken && !shield.split_count);
	slots++;
	CHECK(split_inherit(&p, &from) == 0 && taken == STEP_PAGES && shield.split_count == 1);
}

/* --- signals --- */

enum { ENTRY = 0x400100, ENTRY_SIZE = 32, ELSEWHERE = 0x7000 };

static uint32_t next_number(uint32_t place)
{
	struct sent_signal s;
	return inbox_take(family_inbox(APPLICATION, place), &s) ? s.number : 0;
}

/* A thread is interrupted once until it has taken all, and goes on where it was; at the entry it is left alone. */
static void interrupts(void)
{
	struct inbox *b = family_inbox(APPLICATION, 0);
	*b = (struct inbox){ 0 };
	CHECK(!family_send(APPLICATION, 0, 0, (struct sent_signal){ .number = 10 }) && !inbox_is_due(b));
	b->entry = ENTRY;
	b->size = ENTRY_SIZE;
	first.tcb = 1;
	rip = ELSEWHERE;
	noted = continued = 0;
	CHECK(inbox_is_due(b));
	family_interrupt(APPLICATION, 0);
	CHECK(rip == ENTRY && noted == ELSEWHERE && continued == 1 && !paused && !inbox_is_due(b));
	CHECK(!family_send(APPLICATION, 0, 0, (struct sent_signal){ .number = 12 }) && !inbox_is_due(b));
	CHECK(next_number(0) == 10 && next_number(0) == 12 && !inbox_is_due(b) && next_number(0) == 0);
	for (rip = ENTRY; rip <= ENTRY + ENTRY_SIZE; rip += ENTRY_SIZE) {
		noted = 0;
		CHECK(!family_send(APPLICATION, 0, 0, (struct sent_signal){ .number = 10 }) && inbox_is_due(b));
		const uint64_t before = rip;
		family_interrupt(APPLICATION, 0);
		CHECK(rip == ENTRY && !paused);
		CHECK(noted == (before == ENTRY ? 0 : before) && next_number(0) == 10 && !next_number(0));
		rip = before;
	}
	/* what cannot be written is tried again with the next signal */
	CHECK(!family_send(APPLICATION, 0, 0, (struct sent_signal){ .number = 10 }));
	const unsigned before = printed;
	for (unsigned i = 0; i < PROBES; i++) {
		calls = 0;
		fails_at = 1;
		family_interrupt(APPLICATION, 0);
		CHECK(inbox_is_due(b) && !paused);
	}
	fails_at = 0;
	CHECK(printed - before < PROBES / 2); /* an entry that is no address is the program's own */
	CHECK(next_number(0) == 10 && !next_number(0));
}

/* Signals below 32 come once and always have room; others are queued in their order, as many as have room. */
static void fills(void)
{
	unsigned put = 0;
	for (uint32_t number = 64; number >= 1; number--)
		for (unsigned i = 0; i < 3; i++)
			put += !family_send(APPLICATION, 0, 0, (struct sent_signal){ .number = number });
	CHECK(put == PROCESS_SIGNALS - 31 + 31 * 3 && family_inbox(APPLICATION, 0)->count == PROCESS_SIGNALS);
	CHECK(next_number(0) == 64 && next_number(0) == 64 && next_number(0) == 64 && next_number(0) == 63);
	while (next_number(0))
		;
}

/* Ends are told to parents; groups name those that are in them. */
static void names(void)
{
	struct member_group in;
	struct sent_signal s;
	struct ended ended;
	uint32_t a, b;
	CHECK(!fork_from(0, &a) && !fork_from(0, &b));
	const uint32_t first_bit = 1, at = (uint32_t)family_find(APPLICATION, a),
	               bt = (uint32_t)family_find(APPLICATION, b);
	const uint32_t a_bit = 1u << at, b_bit = 1u << bt;
	CHECK(family_named(APPLICATION, 0, a) == a_bit && family_named(APPLICATION, 0, a + b) == 0);
	CHECK(family_named(APPLICATION, at, 0) == (first_bit | a_bit | b_bit));
	CHECK(family_named(APPLICATION, at, -1) == b_bit && family_named(APPLICATION, 0, -(int64_t)a) == 0);
	CHECK(family_group(APPLICATION, 0, GROUP_SET, a, b, &in) == -SKERRY_NO_RIGHTS);
	CHECK(family_group(APPLICATION, at, GROUP_SET, b, 0, &in) == -SKERRY_NOT_FOUND);
	CHECK(family_group(APPLICATION, 0, GROUP_SET, a + b, 0, &in) == -SKERRY_NOT_FOUND);
	CHECK(!family_group(APPLICATION, 0, GROUP_SET, a, 0, &in) && in.group == a && in.session == 1);
	CHECK(!family_group(APPLICATION, 0, GROUP_SET, b, a, &in) && in.group == a);
	CHECK(family_named(APPLICATION, 0, -(int64_t)a) == (a_bit | b_bit));
	CHECK(family_named(APPLICATION, 0, 0) == first_bit);
	CHECK(family_group(APPLICATION, at, GROUP_SESSION, 0, 0, &in) == -SKERRY_NO_RIGHTS);
	CHECK(!family_group(APPLICATION, bt, GROUP_SESSION, 0, 0, &in) && in.group == b && in.session == b);
	CHECK(family_group(APPLICATION, bt, GROUP_SET, 0, 0, &in) == -SKERRY_NO_RIGHTS);
	CHECK(family_group(APPLICATION, 0, GROUP_SET, b, a, &in) == -SKERRY_NO_RIGHTS);
	CHECK(family_group(APPLICATION, 0, (enum manager_group)9, 0, 0, &in) == -SKERRY_BAD_ARGUMENT);
	CHECK(family_ended(APPLICATION, at, 7 << 8) == 0 && inbox_take(family_inbox(APPLICATION, 0), &s));
	CHECK(s.number == 17 && s.sender == a && s.code == 1 && s.value == 7);
	CHECK(!family_reap(APPLICATION, 0, 0, b, 0, &ended) && !ended.pid);
	CHECK(family_reap(APPLICATION, 0, 0, a + b, 0, &ended) == -SKERRY_NOT_FOUND);
	CHECK(!family_reap(APPLICATION, 0, 0, a, 0, &ended) && ended.pid == a);
	family_inbox(APPLICATION, 0)->drops_children = true;
	CHECK(family_ended(APPLICATION, bt, 15) == 0 && inbox_take(family_inbox(APPLICATION, 0), &s));
	CHECK(s.sender == b && s.code == 2 && s.value == 15);
	CHECK(family_reap(APPLICATION, 0, 0, 0, 0, &ended) == -SKERRY_NOT_FOUND);
	family_inbox(APPLICATION, 0)->drops_children = false;
}

/* What a process has executed goes with it; its signals stay, but nobody interrupts it before it has said where. */
static void executes(void)
{
	struct exec_order order = { .file = 1 };
	struct ended ended;
	uint32_t pid;
	CHECK(!fork_from(0, &pid));
	const uint32_t place = (uint32_t)family_find(APPLICATION, pid);
	struct inbox *b = family_inbox(APPLICATION, place);
	b->entry = ENTRY;
	b->told = true;
	CHECK(family_exec(APPLICATION, place, &order) == -SKERRY_BAD_ARGUMENT && b->entry == ENTRY);
	order.file = 0;
	CHECK(!family_send(APPLICATION, 0, place, (struct sent_signal){ .number = 10 }));
	CHECK(!family_exec(APPLICATION, place, &order) && images() == 1);
	CHECK(!b->entry && !b->told && !inbox_is_due(b) && b->count == 1 && owners() == 1);
	lacks = -SKERRY_NO_MEMORY;
	CHECK(family_exec(APPLICATION, place, &order) == EXEC_ENDS);
	lacks = 0;
	CHECK(family_ended(APPLICATION, place, 9) == 0 && !images() && owners() == 0);
	CHECK(!family_reap(APPLICATION, 0, 0, 0, 0, &ended) && ended.status == 9);
	CHECK(!family_exec(APPLICATION, 0, &order) && images() == 1);
	family_kill(APPLICATION);
	CHECK(!images() && owners() == 0 && family_start(APPLICATION) == 0);
}

/* Those that stop are sent nothing and told of; SIGCONT lets them go on, and whoever comes later wins. */
static void stop_and_go_on(void)
{
	enum { ALL = ASK_STOPPED | ASK_CONTINUED };
	struct inbox *parent = family_inbox(APPLICATION, 0);
	struct member_group in;
	struct sent_signal s;
	struct ended ended;
	uint32_t pid;
	CHECK(!fork_from(0, &pid));
	const uint32_t at = (uint32_t)family_find(APPLICATION, pid);
	struct inbox *b = family_inbox(APPLICATION, at);
	b->entry = ENTRY;
	CHECK(family_may_stop(APPLICATION, at, 9) == -SKERRY_BAD_ARGUMENT);
	CHECK(family_may_stop(APPLICATION, at, 20) == -SKERRY_NO_RIGHTS); /* nobody in another group is its parent */
	CHECK(!family_may_stop(APPLICATION, at, 19));
	CHECK(!family_group(APPLICATION, 0, GROUP_SET, pid, 0, &in) && !family_may_stop(APPLICATION, at, 20));
	family_stop(APPLICATION, at, 20);
	CHECK(family_tell(APPLICATION, at) == 0 && inbox_take(parent, &s));
	CHECK(s.number == 17 && s.sender == pid && s.code == 5 && s.value == 20);
	CHECK(!inbox_put(b, &(struct sent_signal){ .number = 10 }) && !inbox_is_due(b));
	CHECK(!family_reap(APPLICATION, 0, 0, 0, ASK_CONTINUED, &ended) && !ended.pid);
	CHECK(!family_reap(APPLICATION, 0, 0, 0, ALL, &ended) && ended.pid == pid && ended.status == (20 << 8 | 0x7f));
	CHECK(!family_reap(APPLICATION, 0, 0, 0, ALL, &ended) && !ended.pid);
	CHECK(!family_clears(APPLICATION, at, 19) && !inbox_put(b, &(struct sent_signal){ .number = 19 }));
	CHECK(family_clears(APPLICATION, at, 18) && inbox_is_due(b) && b->count == 1); /* without the stop */
	parent->drops_stops = true;
	CHECK(family_tell(APPLICATION, at) == 0 && !inbox_take(parent, &s));
	parent->drops_stops = false;
	CHECK(!family_clears(APPLICATION, at, 18) && !inbox_put(b, &(struct sent_signal){ .number = 18 }));
	CHECK(family_may_stop(APPLICATION, at, 19) == -SKERRY_NO_RIGHTS); /* SIGCONT came later */
	CHECK(!family_clears(APPLICATION, at, 21) && !family_may_stop(APPLICATION, at, 19) && b->count == 1);
	CHECK(!family_reap(APPLICATION, 0, 0, 0, ASK_STOPPED, &ended) && !ended.pid);
	CHECK(!family_reap(APPLICATION, 0, 0, 0, ASK_CONTINUED, &ended) && ended.status == 0xffff);
	family_stop(APPLICATION, at, 19);
	CHECK(family_ended(APPLICATION, at, 9) == 0 && inbox_take(parent, &s));
	CHECK(!family_reap(APPLICATION, 0, 0, 0, ALL | ASK_NOT_ENDED, &ended) && !ended.pid);
	CHECK(!family_reap(APPLICATION, 0, 0, 0, ALL, &ended) && ended.status == 9);
}

/* Alarms are of processes, not of places, come at their time, and as one where several were missed. */
static void alarms(void)
{
	struct alarm before;
	struct sent_signal s;
	uint32_t pid;
	const uint64_t hour = 3600ull * TSC_HZ / 1000, now = read_tsc();
	CHECK(!family_next_alarm() && !fork_from(0, &pid));
	const uint32_t at = (uint32_t)family_find(APPLICATION, pid);
	CHECK(!family_alarm(APPLICATION, 0, (struct alarm){ now + 2 * hour, 0 }, &before) && !before.at);
	CHECK(!family_alarm(APPLICATION, at, (struct alarm){ now + hour, hour / 4 }, &before) && !before.at);
	CHECK(family_next_alarm() == now + hour && !family_alarms(APPLICATION, now + hour - 1));
	CHECK(family_alarms(APPLICATION, now + hour + hour / 2 + 1) == 1u << at);
	CHECK(inbox_take(family_inbox(APPLICATION, at), &s) && s.number == 14 && s.code == 0x80);
	CHECK(!inbox_take(family_inbox(APPLICATION, at), &s));
	CHECK(family_next_alarm() == now + hour + hour / 4 * 3);
	CHECK(!family_alarm(APPLICATION, 0, (struct alarm){ 0 }, &before) && before.at > hour && !before.each);
	family_ended(APPLICATION, at, 0);
	CHECK(!family_next_alarm() && inbox_take(family_inbox(APPLICATION, 0), &s));
}

int main(void)
{
	struct root_info *root = test_place(ROOT_INFO_VADDR, sizeof(*root));
	if (!root)
		return SKIPPED;
	*root = (struct root_info){ .tsc_hz = TSC_HZ, .cnode_bits = CNODE_BITS };
	own_map.application_count = 1;
	own_map.application[0] = (struct map_application){ .processes = PROCESSES, .heap = STEPS * SIZE_2M };
	touched = (1 << STEPS) - 1;
	CHECK(family_start(APPLICATION) == 0);
	misses();
	row();
	prints();
	splits();
	interrupts();
	fills();
	names();
	executes();
	stop_and_go_on();
	alarms();
	return failures != 0;
}
