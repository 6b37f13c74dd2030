/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of mapping domains that cores map, unmap and protect side by side, as readers (core/guard.h). */
#include "check.h"
#include "machine.h"
#include "message.h"
#include "vspace.h"

enum { A = 1000, B = 1010, SPACE = 1050, TABLES = 1060, FRAME = 1070, COPY, SECOND, THIRD, NOTE = 1080, DOMAIN = 1090,
       OTHER, POOL, BUFFER_THREAD = 1100 };
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE };
#define AT 0x8000000000ull

static struct thread *root, *a, *b;

/* A on core 1, in a space of its own with tables for AT; FRAME is in DOMAIN, of this granularity. */
static void make_space(unsigned cores, enum granularity granularity)
{
	machine_make(cores);
	root = running(0);
	a = make_thread(A, 100, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_VSPACE, 0, SPACE, 1);
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	make(OBJECT_UNTYPED, DOMAIN_BITS, POOL, 1);
	EXPECT(call(POOL, UNTYPED_RETYPE, W(OBJECT_DOMAIN, 0, DOMAIN, 1), W(CNODE)), 0);
	make(OBJECT_DOMAIN, 0, OTHER, 1);
	EXPECT(call(DOMAIN, DOMAIN_GRANULARITY, W(granularity), NONE), 0);
	EXPECT(call(OTHER, DOMAIN_GRANULARITY, W(GRANULARITY_FINE), NONE), 0);
	EXPECT(call(FRAME, FRAME_SPLIT, NONE, W(DOMAIN)), 0);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(SPACE)), 0);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(A, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE, A + 1)), 0);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
	EXPECT(running(1) == a, true);
	struct vspace *space = (struct vspace *)slot_of(SPACE)->cap.object;
	explore_name(&space->active_mask, sizeof(space->active_mask), "the space's active mask");
}

static void map(uint64_t frame, unsigned page)
{
	EXPECT(call(frame, FRAME_MAP, W(AT + page * 4096ull, READ_WRITE, 0), W(SPACE)), 0);
}
static unsigned rights_of(uint64_t slot) { return slot_of(slot)->cap.rights; }
static bool is_mapped(uint64_t slot) { return slot_of(slot)->cap.flags & CAP_MAPPED; }
static void programs_map(struct thread *thread, uint64_t frame, unsigned page)
{
	machine_program(thread, (struct hosted_call){ .number = SYS_CALL, .cptr = frame,
	                                              .word = { AT + page * 4096ull, READ_WRITE, 0 },
	                                              .info = message_info(FRAME_MAP, 1, 3) }, SPACE);
}

/* The call that the thread makes takes all but `rights` of page 0: it is so when it returns. */
static void promises(const struct thread *thread, unsigned rights)
{
	machine_promise(thread, 1, (const struct vspace *)slot_of(SPACE)->cap.object, AT, rights);
}

/* A copy is mapped, which A's core may have in its TLB. */
static void map_a_copy(unsigned cores, enum granularity granularity)
{
	make_space(cores, granularity);
	copy(COPY, FRAME, READ_WRITE, 0);
	map(COPY, 0);
	EXPECT(hosted_store(machine, 1, AT, 1), true);
	machine_touch(AT);
}

/* The same, twice at once: neither returns while a TLB lets it be written. */
static void protect_twice_of(enum granularity granularity)
{
	map_a_copy(2, granularity);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	promises(root, RIGHT_READ);
	promises(a, RIGHT_READ);
}
static void protect_twice(void) { protect_twice_of(GRANULARITY_FINE); }
static void protect_twice_coarse(void) { protect_twice_of(GRANULARITY_COARSE); }

static void it_reads(void)
{
	machine_check();
	EXPLORE_CHECK(rights_of(COPY) == RIGHT_READ && is_mapped(COPY),
	              "a copy of the frame has kept a right, or lost its mapping");
	EXPLORE_CHECK(hosted_touch(machine, 1, AT) && !hosted_store(machine, 1, AT, 2),
	              "a frame can be written, or not be read");
}

static void protect_and_unmap_of(enum granularity granularity)
{
	map_a_copy(2, granularity);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, COPY, FRAME_UNMAP, 0, 0, 0);
	promises(root, RIGHT_READ);
	promises(a, 0);
}
static void protect_and_unmap(void) { protect_and_unmap_of(GRANULARITY_FINE); }
static void protect_and_unmap_coarse(void) { protect_and_unmap_of(GRANULARITY_COARSE); }

static void it_is_gone(void)
{
	machine_check();
	EXPLORE_CHECK(rights_of(COPY) == RIGHT_READ, "a copy of the frame has kept a right");
	EXPLORE_CHECK(!is_mapped(COPY) && !hosted_touch(machine, 1, AT), "a frame can be used that is not mapped");
}

/* ... beside a copy that becomes mapped: nothing is writable in the end. */
static void protect_and_map_of(enum granularity granularity)
{
	make_space(2, granularity);
	copy(COPY, FRAME, READ_WRITE, 0);
	machine_touch(AT);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	programs_map(a, COPY, 0);
	promises(root, RIGHT_READ);
}
static void protect_and_map(void) { protect_and_map_of(GRANULARITY_FINE); }
static void protect_and_map_coarse(void) { protect_and_map_of(GRANULARITY_COARSE); }

/* The copy may be in a domain of its own. */
static void protect_and_map_across_to(enum granularity other)
{
	make_space(2, GRANULARITY_COARSE);
	EXPECT(call(OTHER, DOMAIN_GRANULARITY, W(other), NONE), 0);
	copy(SECOND, FRAME, READ_WRITE, 0);
	copy(COPY, FRAME, READ_WRITE, 0);
	EXPECT(call(COPY, FRAME_SPLIT, NONE, W(OTHER)), 0);
	machine_touch(AT);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	programs_map(a, COPY, 0);
}
static void protect_and_map_across(void) { protect_and_map_across_to(GRANULARITY_FINE); }
static void protect_and_map_across_coarse(void) { protect_and_map_across_to(GRANULARITY_COARSE); }

/* Two capabilities and one address: one maps there, and the other finds that. */
static void map_at_one_address(void)
{
	make_space(2, GRANULARITY_FINE);
	copy(COPY, FRAME, READ_WRITE, 0);
	copy(SECOND, FRAME, READ_WRITE, 0);
	EXPECT(call(SECOND, FRAME_SPLIT, NONE, W(OTHER)), 0);
	programs_map(root, COPY, 0);
	programs_map(a, SECOND, 0);
}

static void one_is_mapped(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(is_mapped(COPY) != is_mapped(SECOND), "two capabilities map one address, or none does");
	EXPLORE_CHECK((result(root) == 0) == is_mapped(COPY) && (result(a) == 0) == is_mapped(SECOND),
	              "a call has another result than effect");
}

/* COPY and SECOND both name AT, where their page is mapped. */
static void map_two_at_one_address(void)
{
	map_a_copy(2, GRANULARITY_FINE);
	copy(SECOND, FRAME, READ_WRITE, 0);
	EXPECT(call(TABLES + 2, PAGE_TABLE_UNMAP, NONE, NONE), 0);
	EXPECT(call(TABLES + 2, PAGE_TABLE_MAP, W(AT), W(SPACE)), 0);
	map(SECOND, 0);
	EXPECT(hosted_store(machine, 1, AT, 1), true);
}

/* A page is protected by two, each by a capability that names its address. */
static void protect_at_one_address(void)
{
	map_two_at_one_address();
	machine_invokes(root, COPY, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, SECOND, FRAME_PROTECT, RIGHT_READ, 0, 0);
	promises(root, RIGHT_READ);
	promises(a, RIGHT_READ);
}

static void both_may_write(void)
{
	machine_check();
	EXPLORE_CHECK(rights_of(COPY) == READ_WRITE && !hosted_store(machine, 1, AT, 2), "a frame can be written");
}

/* Another frame comes to the address, while A still protects what was there. */
static void protect_what_is_replaced(void)
{
	map_two_at_one_address();
	make(OBJECT_FRAME_4K, 0, THIRD, 1);
	EXPECT(call(THIRD, FRAME_SPLIT, NONE, W(OTHER)), 0);
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	programs_map(root, THIRD, 0);
	machine_invokes(a, SECOND, FRAME_PROTECT, RIGHT_READ, 0, 0);
}

static void the_new_one_stays(void)
{
	machine_check();
	uint64_t entry = hosted_touch(machine, 1, AT);
	EXPLORE_CHECK(arch_pte_address(entry, LEVEL_4K) == slot_of(THIRD)->cap.object,
	              "what was mapped last is not mapped");
	EXPLORE_CHECK(arch_pte_rights(entry) == READ_WRITE, "what was mapped last has lost a right");
}

/* A page is unmapped by two. */
static void unmap_at_one_address(void)
{
	map_two_at_one_address();
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	machine_invokes(a, SECOND, FRAME_UNMAP, 0, 0, 0);
	promises(root, 0);
	promises(a, 0);
}

static void none_is_mapped(void)
{
	machine_check();
	EXPLORE_CHECK(!is_mapped(COPY) && !is_mapped(SECOND) && !hosted_touch(machine, 1, AT),
	              "a frame can be used that is not mapped");
}

/* The page goes under one that maps another there, as soon as it can: that one never sees what was there before. */
static void unmap_and_use_again(void)
{
	map_a_copy(3, GRANULARITY_FINE);
	make(OBJECT_FRAME_4K, 0, SECOND, 1);
	EXPECT(call(SECOND, FRAME_SPLIT, NONE, W(OTHER)), 0);
	b = make_thread(B, 100, 2);
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	programs_map(b, SECOND, 0);
}

static void the_other_or_none(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(!is_mapped(COPY) && (result(b) == 0) == is_mapped(SECOND),
	              "a call has another result than effect");
	EXPLORE_CHECK(is_mapped(SECOND) == !!hosted_touch(machine, 1, AT), "a frame can be used that is not mapped");
}

/* A uses COPY, and core 0 SECOND at the same address in the root task's space. */
static void map_in_two_spaces(unsigned cores)
{
	map_a_copy(cores, GRANULARITY_FINE);
	copy(SECOND, FRAME, READ_WRITE, 0);
	EXPECT(call(SECOND, FRAME_MAP, W(AT, READ_WRITE, 0), W(VSPACE)), SKERRY_MISSING_TABLE);
	make(OBJECT_PAGE_TABLE, 0, TABLES + 5, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + 5 + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
	EXPECT(call(SECOND, FRAME_MAP, W(AT, READ_WRITE, 0), W(VSPACE)), 0);
	EXPECT(hosted_touch(machine, 0, AT) && hosted_touch(machine, 1, AT), true);
}

/* Two cores unmap, each what the other uses: each waits for the other to flush. */
static void unmap_each_others(void)
{
	map_in_two_spaces(2);
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	machine_invokes(a, SECOND, FRAME_UNMAP, 0, 0, 0);
	promises(root, 0);
	machine_promise(a, 1, (const struct vspace *)slot_of(VSPACE)->cap.object, AT, 0);
}

static void both_are_gone(void)
{
	machine_check();
	EXPLORE_CHECK(!hosted_touch(machine, 0, AT) && !hosted_touch(machine, 1, AT),
	              "a frame can be used that is not mapped");
}

/* ... and their bits are in different words of sets of cores (CORE_SHIFT); a third core uses SECOND, too. */
static void unmap_in_two_words(void)
{
	_Static_assert(CORE_SHIFT == 1, "core 2 is in the second word");
	map_in_two_spaces(3);
	b = make_thread(B, 100, 2);
	EXPECT(hosted_touch(machine, 2, AT) != 0, true);
	machine_invokes(b, COPY, FRAME_UNMAP, 0, 0, 0);
	machine_invokes(a, SECOND, FRAME_UNMAP, 0, 0, 0);
}

static void all_are_gone(void)
{
	both_are_gone();
	EXPLORE_CHECK(!hosted_touch(machine, 2, AT), "a frame can be used that is not mapped");
}

/* Two cores unmap what a third one has in its TLB: both ask it to flush, by bits of one word. */
static void unmap_what_one_uses(void)
{
	_Static_assert(CORE_SHIFT == 1, "cores 0 and 1 are in one word");
	map_a_copy(3, GRANULARITY_FINE);
	copy(SECOND, FRAME, READ_WRITE, 0);
	map(SECOND, 1);
	b = make_thread(B, 100, 2);
	EXPECT(call(B, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(B, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE, B + 1)), 0);
	EXPECT(call(B, TCB_RESUME, NONE, NONE), 0);
	EXPECT(hosted_touch(machine, 2, AT) && hosted_touch(machine, 2, AT + 4096), true);
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	machine_invokes(a, SECOND, FRAME_UNMAP, 0, 0, 0);
}

static void one_has_neither(void)
{
	machine_check();
	EXPLORE_CHECK(!hosted_touch(machine, 2, AT) && !hosted_touch(machine, 2, AT + 4096),
	              "a frame can be used that is not mapped");
}

/* The domain dies while A unmaps: as a reader before, as a writer after. */
static void domain_dies(void)
{
	map_a_copy(2, GRANULARITY_FINE);
	machine_invokes(root, CNODE, CNODE_REVOKE, POOL, 0, 0);
	machine_invokes(a, COPY, FRAME_UNMAP, 0, 0, 0);
	promises(a, 0);
}

static void unmapped(void)
{
	machine_check();
	EXPLORE_CHECK(slot_empty(slot_of(DOMAIN)) && !is_mapped(COPY) && !hosted_touch(machine, 1, AT),
	              "a frame can be used that is not mapped");
}

/* ... or becomes coarse, or fine. */
static void made_coarse(void)
{
	map_a_copy(2, GRANULARITY_FINE);
	machine_invokes(root, DOMAIN, DOMAIN_GRANULARITY, GRANULARITY_COARSE, 0, 0);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, COPY, FRAME_UNMAP, 0, 0, 0);
}

/* A frame goes with its memory while A unmaps it. */
static void frame_goes(void)
{
	map_a_copy(2, GRANULARITY_FINE);
	copy(SECOND, FRAME, READ_WRITE, 0);
	machine_invokes(root, CNODE, CNODE_REVOKE, FRAME, 0, 0);
	machine_invokes(a, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
}

static void copies_are_gone(void)
{
	machine_check();
	EXPLORE_CHECK(slot_empty(slot_of(COPY)) && slot_empty(slot_of(SECOND)) && !hosted_touch(machine, 1, AT),
	              "a frame can be used that is gone");
}

/* An IPC buffer goes: a reader that meets it goes on as the writer. */
static void buffer_goes(void)
{
	map_a_copy(2, GRANULARITY_FINE);
	b = make_thread(BUFFER_THREAD, 50, 1);
	EXPECT(call(BUFFER_THREAD, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(BUFFER_THREAD, TCB_CONFIGURE, W(1024, 0), W(CNODE, VSPACE, FRAME)), 0);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, COPY, FRAME_UNMAP, 0, 0, 0);
}

static void buffer_is_gone(void)
{
	it_is_gone();
	EXPLORE_CHECK(!thread_ipc_buffer(b), "a thread has kept an IPC buffer that may not be written");
}

/* The space is loaded, or is about to be, on a core that is not asked yet. */
static void unmap_and_load(void)
{
	map_a_copy(2, GRANULARITY_FINE);
	const struct hosted_call wait = { .number = SYS_WAIT, .cptr = NOTE };
	hosted_post_call(machine, 1, &wait);
	settle();
	b = make_thread(B, 50, 1); /* in another space */
	EXPECT(running(1) == b, true);
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	machine_does(b, SYS_SIGNAL, NOTE);
	promises(root, 0);
}

static void a_woke(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && !hosted_touch(machine, 1, AT), "a frame can be used that is not mapped");
}

/* A server's frame is unmapped while the fast path switches to the server and waits for a lock. A third core uses the
 * same reply object. */
static void server_loses_a_frame(void)
{
	enum { ENDPOINT = 1110, REPLY, CALLER = 1120 };
	const struct hosted_call receive = { .number = SYS_RECV, .cptr = ENDPOINT, .reply = REPLY };
	map_a_copy(3, GRANULARITY_FINE);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	hosted_post_call(machine, 1, &receive);
	settle();
	b = make_thread(B, 50, 1);
	struct thread *c = make_thread(CALLER, 100, 2);
	EXPECT(running(1) == b && running(2) == c, true);
	machine_touch(AT);
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	machine_does(b, SYS_CALL, ENDPOINT);
	machine_program(c, (struct hosted_call){ .number = SYS_REPLY, .reply = REPLY }, 0);
	promises(root, 0);
}

static void the_server_runs(void)
{
	kernel_check(machine);
	EXPLORE_CHECK(running(1) == a || running(1) == b, "the server does not run");
	EXPLORE_CHECK(running(1) != a || !hosted_touch(machine, 1, AT), "a frame can be used that is not mapped");
}

/* Deep trees: two calls for a frame and for one that derives from it, with a budget for one capability. */
static void protect_and_protect_below(void)
{
	map_a_copy(2, GRANULARITY_FINE);
	copy(SECOND, COPY, READ_WRITE, 0);
	machine->kernel.work_budget = 1;
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, COPY, FRAME_PROTECT, 0, 0, 0);
	promises(root, RIGHT_READ);
	promises(a, 0);
}

static void the_lower_lost_all(void)
{
	machine_check();
	EXPLORE_CHECK(rights_of(COPY) == RIGHT_READ && rights_of(SECOND) == 0, "a copy of the frame has kept a right");
	EXPLORE_CHECK(!hosted_touch(machine, 1, AT), "a frame can be used that is not mapped");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("a frame is protected twice", 2, protect_twice, it_reads),
	MACHINE_CASE("a frame is protected twice, coarse", 2, protect_twice_coarse, it_reads),
	MACHINE_CASE("a frame is protected and unmapped", 2, protect_and_unmap, it_is_gone),
	MACHINE_CASE("a frame is protected and unmapped, coarse", 2, protect_and_unmap_coarse, it_is_gone),
	MACHINE_CASE("a frame is protected and mapped", 2, protect_and_map, it_reads),
	MACHINE_CASE("a frame is protected and mapped, coarse", 2, protect_and_map_coarse, it_reads),
	MACHINE_CASE("a frame is protected and mapped, two domains", 2, protect_and_map_across, it_reads),
	MACHINE_CASE("a frame is protected and mapped, two coarse domains", 2, protect_and_map_across_coarse, it_reads),
	MACHINE_CASE("two map at one address", 2, map_at_one_address, one_is_mapped),
	MACHINE_CASE("two protect at one address", 2, protect_at_one_address, both_may_write),
	MACHINE_CASE("one protects what another replaces", 2, protect_what_is_replaced, the_new_one_stays),
	MACHINE_CASE("two unmap at one address", 2, unmap_at_one_address, none_is_mapped),
	MACHINE_CASE("another frame takes an address", 3, unmap_and_use_again, the_other_or_none),
	MACHINE_CASE("each unmaps what the other uses", 2, unmap_each_others, both_are_gone),
	MACHINE_CASE("each unmaps, in two words of cores", 3, unmap_in_two_words, all_are_gone),
	MACHINE_CASE("two unmap what a third core uses", 3, unmap_what_one_uses, one_has_neither),
	MACHINE_CASE("a domain goes", 2, domain_dies, unmapped),
	MACHINE_CASE("a domain's granularity changes", 2, made_coarse, it_is_gone),
	MACHINE_CASE("frames go", 2, frame_goes, copies_are_gone),
	MACHINE_CASE("an IPC buffer goes", 2, buffer_goes, buffer_is_gone),
	MACHINE_CASE("a space is loaded while a frame goes", 2, unmap_and_load, a_woke),
	MACHINE_CASE("a server loses a frame", 3, server_loses_a_frame, the_server_runs),
	MACHINE_CASE("two frames are protected, one of the other", 2, protect_and_protect_below, the_lower_lost_all),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
