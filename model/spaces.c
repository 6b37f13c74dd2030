/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces and registers that one core holds while another changes, moves or destroys what they belong to. */
#include "machine.h"
#include "message.h"
#include "vspace.h"

enum { A = 1000, B = 1010, SPACE_POOL = 1050, SPACE = SPACE_POOL + MACHINE_SPACE,
       FRAME = SPACE_POOL + MACHINE_SPACE_FRAME, NOTE = 1080,
       THREAD_POOL, C };
#define AT 0x8000000000ull

static struct thread *root, *a, *b;
static uint64_t round_before;

/* A on core 1 in a space of its own, where a frame is mapped at AT. */
static void make_space(unsigned cores)
{
	machine_make(cores);
	root = running(0);
	a = make_thread(A, 100, 1);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	machine_give_space(A, SPACE_POOL, AT);
	struct vspace *space = (struct vspace *)slot_of(SPACE)->cap.object;
	explore_name(&space->active_mask, sizeof(space->active_mask), "the space's active mask");
	explore_name(&a->loaded, sizeof(a->loaded), "A's loaded");
}

/* The frame goes while A uses it: no TLB holds it afterwards (kernel_check). */
static void unmap(void)
{
	make_space(2);
	machine_invokes(root, FRAME, FRAME_UNMAP, 0, 0, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
}

static void a_runs(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && machine_progress(a) == 1, "a thread does not go on");
}

/* ... while A's core has left the space, or comes back to it with what its TLB remembers. */
static void unmap_elsewhere(void)
{
	make_space(2);
	const struct hosted_call wait = { .number = SYS_WAIT, .cptr = NOTE };
	EXPECT(hosted_touch(machine, 1, AT) != 0, true);
	hosted_post_call(machine, 1, &wait);
	settle();
	b = make_thread(B, 50, 1); /* in another space */
	EXPECT(running(1) == b, true);
	machine_invokes(root, FRAME, FRAME_UNMAP, 0, 0, 0);
	machine_does(b, SYS_SIGNAL, NOTE);
}

static void a_woke(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a, "the waiter sleeps though it was signalled");
}

/* A page goes from two spaces in one entry, and so in one round; each is used on a core of its own. */
static void revoke_from_two(void)
{
	enum { SECOND = 1100, SECOND_TABLES };
	make_space(3);
	make(OBJECT_VSPACE, 0, SECOND, 1);
	make(OBJECT_PAGE_TABLE, 0, SECOND_TABLES, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(SECOND_TABLES + i, PAGE_TABLE_MAP, W(AT), W(SECOND)), 0);
	EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), 0);
	for (unsigned i = 0; i < 2; i++) {
		copy(FRAME + 1 + i, FRAME, RIGHT_ALL, 0);
		EXPECT(call(FRAME + 1 + i, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(i ? SECOND : SPACE)), 0);
	}
	b = make_thread(B, 100, 2);
	EXPECT(call(B, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(B, TCB_CONFIGURE, W(1024, 0), W(CNODE, SECOND, B + 1)), 0);
	EXPECT(call(B, TCB_RESUME, NONE, NONE), 0);
	EXPECT(hosted_touch(machine, 1, AT) && hosted_touch(machine, 2, AT), true);
	machine_touch(AT);
	round_before = machine->kernel.tlb_round;
	machine_invokes(root, CNODE, CNODE_REVOKE, FRAME, 0, 0);
}

static void gone_in_one_round(void)
{
	machine_check();
	EXPLORE_CHECK(slot_empty(slot_of(FRAME + 1)) && slot_empty(slot_of(FRAME + 2)), "a capability is still there");
	EXPLORE_CHECK(machine->kernel.tlb_round == round_before + 1, "two spaces took more than a round");
}

enum { COPY = FRAME + 1, SECOND_COPY = FRAME + 2 };

/* A copy of the frame is mapped at AT in its place. */
static void map_a_copy(unsigned cores)
{
	make_space(cores);
	EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), 0);
	copy(COPY, FRAME, RIGHT_ALL, 0);
	EXPECT(call(COPY, FRAME_MAP, W(AT, RIGHT_ALL, 0), W(SPACE)), 0);
	EXPECT(hosted_store(machine, 1, AT, 1), true);
	machine_touch(AT);
}

static unsigned rights_of(uint64_t slot) { return slot_of(slot)->cap.rights; }

/* A frame can be written no more while A uses it: no TLB lets it afterwards (kernel_check). */
static void protect(void)
{
	map_a_copy(2);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
}

static void a_reads(void)
{
	a_runs();
	EXPLORE_CHECK(rights_of(COPY) == RIGHT_READ, "a copy of the frame has kept a right");
	EXPLORE_CHECK(hosted_touch(machine, 1, AT) && !hosted_store(machine, 1, AT, 2),
	              "a frame can be written, or not be read");
}

/* ... while A unmaps it. */
static void protect_and_unmap(void)
{
	map_a_copy(2);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, COPY, FRAME_UNMAP, 0, 0, 0);
}

static void unmapped_and_protected(void)
{
	machine_check();
	EXPLORE_CHECK(rights_of(COPY) == RIGHT_READ, "a copy of the frame has kept a right");
	EXPLORE_CHECK(!hosted_touch(machine, 1, AT), "a frame can be used that is not mapped");
}

/* ... while A maps another copy, which the call finds with or without its mapping. */
static void protect_and_map(void)
{
	map_a_copy(2);
	copy(SECOND_COPY, COPY, RIGHT_ALL, 0);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_program(a, (struct hosted_call){ .number = SYS_CALL, .cptr = SECOND_COPY,
	                                         .word = { AT + 4096, RIGHT_ALL, 0 },
	                                         .info = message_info(FRAME_MAP, 1, 3) }, SPACE);
}

static void both_read(void)
{
	machine_check();
	EXPLORE_CHECK(rights_of(COPY) == RIGHT_READ && rights_of(SECOND_COPY) == RIGHT_READ,
	              "a copy of the frame has kept a right");
	EXPLORE_CHECK(hosted_touch(machine, 1, AT) && !hosted_store(machine, 1, AT, 2),
	              "a frame can be written, or not be read");
	EXPLORE_CHECK(hosted_touch(machine, 1, AT + 4096) && !hosted_store(machine, 1, AT + 4096, 2),
	              "the second can be written, or not be read");
}

/* ... while A makes another copy, of one that the call has done or not. */
static void protect_and_copy(void)
{
	map_a_copy(2);
	copy(SECOND_COPY, COPY, RIGHT_ALL, 0);
	machine->kernel.work_budget = 1;
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_program(a, (struct hosted_call){ .number = SYS_CALL, .cptr = CNODE,
	                                         .word = { FRAME + 3, COPY, RIGHT_ALL },
	                                         .info = message_info(CNODE_COPY, 1, 3) }, CNODE);
}

static void none_writes(void)
{
	machine_check();
	for (uint64_t slot = COPY; slot <= FRAME + 3; slot++)
		EXPLORE_CHECK(rights_of(slot) == RIGHT_READ, "a copy of the frame has kept a right");
}

/* ... while A deletes the copy at which the call may have stopped. */
static void protect_and_delete(void)
{
	map_a_copy(2);
	copy(SECOND_COPY, COPY, RIGHT_ALL, 0);
	machine->kernel.work_budget = 1;
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, CNODE, CNODE_DELETE, SECOND_COPY, 0, 0);
}

static void the_other_reads(void)
{
	machine_check();
	EXPLORE_CHECK(rights_of(COPY) == RIGHT_READ && slot_empty(slot_of(SECOND_COPY)),
	              "a copy of the frame has kept a right");
	EXPLORE_CHECK(!hosted_store(machine, 1, AT, 2), "a frame can be written");
}

/* The space goes under a running thread, which then faults at its first instruction. */
static void delete_space(void)
{
	make_space(2);
	machine_invokes(root, CNODE, CNODE_REVOKE, SPACE_POOL, 0, 0);
	machine_does(a, SYS_SIGNAL, NOTE);
}

/*
 * The space goes under a thread that calls a server of its core by the fast path: while it waits for the lock, its core
 * is told to leave the space. The server must run in its own.
 */
static void delete_space_of_caller(void)
{
	enum { ENDPOINT = 1090, REPLY };
	const struct hosted_call receive = { .number = SYS_RECV, .cptr = ENDPOINT, .reply = REPLY };
	make_space(2);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	b = make_thread(B, 150, 1);
	EXPECT(running(1) == b, true);
	hosted_post_call(machine, 1, &receive);
	settle();
	EXPECT(running(1) == a, true);
	machine_invokes(root, CNODE, CNODE_REVOKE, SPACE_POOL, 0, 0);
	machine_does(a, SYS_CALL, ENDPOINT);
	machine_does(b, SYS_SIGNAL, NOTE); /* a slow entry, which would do what the fast one left pending */
}

static void the_server_runs(void)
{
	machine_check();
	EXPLORE_CHECK(slot_empty(slot_of(SPACE)), "the space is still there");
	EXPLORE_CHECK(running(1) == a || machine_progress(b) == 1, "the server was called and did not go on");
	EXPLORE_CHECK(machine->kernel.cpu[1]->own.loaded_vspace == (running(1) ? thread_vspace(running(1)) : 0),
	              "a core runs a thread without its space");
}

/* Two cores hold the space. */
static void delete_space_of_two(void)
{
	make_space(3);
	b = make_thread(B, 100, 2);
	EXPECT(call(B, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(B, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE, B + 1)), 0);
	EXPECT(call(B, TCB_RESUME, NONE, NONE), 0);
	machine_invokes(root, CNODE, CNODE_REVOKE, SPACE_POOL, 0, 0);
	machine_does(b, SYS_SIGNAL, NOTE);
}

/* A frame is unmapped that two cores use. They are of one group, so they answer in one word; another one asks them. */
static void unmap_in_group(void)
{
	_Static_assert(GROUP_SHIFT == 1, "cores 0 and 1 are a group");
	make_space(3);
	const struct hosted_call wait = { .number = SYS_WAIT, .cptr = NOTE };
	b = make_thread(B, 100, 0);
	EXPECT(call(B, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(B, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE, B + 1)), 0);
	EXPECT(call(B, TCB_RESUME, NONE, NONE), 0);
	struct thread *c = make_thread(THREAD_POOL, 100, 2);
	hosted_post_call(machine, 0, &wait);
	settle();
	EXPECT(running(0) == b && running(1) == a && running(2) == c, true);
	EXPECT(hosted_touch(machine, 0, AT) && hosted_touch(machine, 1, AT), true);
	machine_promise(c, 1, (struct vspace *)slot_of(SPACE)->cap.object, AT, 0);
	machine_invokes(c, FRAME, FRAME_UNMAP, 0, 0, 0);
}

static void it_is_unmapped(void)
{
	machine_check();
	EXPLORE_CHECK(running(0) == b && running(1) == a, "a thread does not go on");
	EXPLORE_CHECK(!hosted_touch(machine, 0, AT) && !hosted_touch(machine, 1, AT), "an unmapped frame can be used");
}

/* A core idles with the space still loaded. */
static void delete_space_of_idle(void)
{
	make_space(3);
	const struct hosted_call wait = { .number = SYS_WAIT, .cptr = NOTE };
	b = make_thread(B, 100, 2);
	hosted_post_call(machine, 1, &wait);
	settle();
	EXPECT(running(1), 0);
	machine_invokes(root, CNODE, CNODE_REVOKE, SPACE_POOL, 0, 0);
}

/* ... and its thread is woken. */
static void delete_space_and_wake(void)
{
	delete_space_of_idle();
	machine_does(b, SYS_SIGNAL, NOTE);
}

static void the_space_is_gone(void)
{
	machine_check();
	EXPLORE_CHECK(slot_empty(slot_of(SPACE)), "the space is still there");
}

/* Its registers are still in the core it leaves while the core it comes to loads them. */
static void hand_over(void)
{
	make_space(3);
	b = make_thread(B, 50, 1);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 2, ROOT_SLOT_TCB);
	machine_does(b, SYS_YIELD, 0);
}

static void both_run(void)
{
	machine_check();
	EXPLORE_CHECK(running(2) == a && running(1) == b, "a thread is not where it was told to go");
}

/* Told to move, and stopped before it has: by the core that is neither. */
static void stop_in_flight(void)
{
	make_space(3);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 2, ROOT_SLOT_TCB);
	machine_invokes(root, A, TCB_SUSPEND, 0, 0, 0);
}

static void nobody_runs(void)
{
	machine_check();
	EXPLORE_CHECK(!running(1) && !running(2) && a->state == THREAD_INACTIVE, "a suspended thread runs");
}

static void destroy_in_flight(void)
{
	make_space(3);
	machine_invokes(root, A, TCB_SCHEDULE, 100, 2, ROOT_SLOT_TCB);
	machine_invokes(root, CNODE, CNODE_DELETE, A, 0, 0);
}

static void a_is_gone(void)
{
	machine_check();
	EXPLORE_CHECK(!running(1) && !running(2), "a destroyed thread runs");
}

/* A thread's memory becomes another object's, while the core that it left still saves its registers there. */
static void reuse(void)
{
	const uint64_t start[21] = { 1, 0x1000, 0x2000 }; /* resume, RIP, RSP */
	make_space(3);
	make(OBJECT_UNTYPED, TCB_BITS, THREAD_POOL, 1);
	EXPECT(call(THREAD_POOL, UNTYPED_RETYPE, W(OBJECT_TCB, 0, C, 1), W(CNODE)), 0);
	EXPECT(call(C, TCB_CONFIGURE, W(1024, 0), W(CNODE, VSPACE, A + 1)), 0);
	EXPECT(call(C, TCB_SCHEDULE, W(200, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(C, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
	EXPECT(running(1) != a, true);
	machine_invokes(root, C, TCB_SCHEDULE, 50, 2, ROOT_SLOT_TCB);
	machine_invokes(root, CNODE, CNODE_REVOKE, THREAD_POOL, 0, 0);
	machine_program(root, (struct hosted_call){ .number = SYS_CALL, .cptr = THREAD_POOL,
	                                            .word = { OBJECT_TCB, 0, C, 1 },
	                                            .info = message_info(UNTYPED_RETYPE, 1, 4) }, CNODE);
}

static void a_new_one(void)
{
	machine_check();
	EXPLORE_CHECK(running(1) == a && !running(2) && !slot_empty(slot_of(C)), "what is in its place is not new");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("a frame is unmapped under a running thread", 2, unmap, a_runs),
	MACHINE_CASE("a frame is unmapped that a group of cores uses", 3, unmap_in_group, it_is_unmapped),
	MACHINE_CASE("a frame is unmapped in a space that was left", 2, unmap_elsewhere, a_woke),
	MACHINE_CASE("a page goes from two spaces", 3, revoke_from_two, gone_in_one_round),
	MACHINE_CASE("a frame is protected under a running thread", 2, protect, a_reads),
	MACHINE_CASE("a frame is protected and unmapped", 2, protect_and_unmap, unmapped_and_protected),
	MACHINE_CASE("a frame is protected and mapped", 2, protect_and_map, both_read),
	MACHINE_CASE("a frame is protected and copied", 2, protect_and_copy, none_writes),
	MACHINE_CASE("a frame is protected and deleted", 2, protect_and_delete, the_other_reads),
	MACHINE_CASE("a space goes under a running thread", 2, delete_space, the_space_is_gone),
	MACHINE_CASE("a space goes under a caller", 2, delete_space_of_caller, the_server_runs),
	MACHINE_CASE("a space goes that two cores hold", 3, delete_space_of_two, the_space_is_gone),
	MACHINE_CASE("a space goes that an idle core has loaded", 3, delete_space_of_idle, the_space_is_gone),
	MACHINE_CASE("a space goes and its thread is woken", 3, delete_space_and_wake, the_space_is_gone),
	MACHINE_CASE("registers go from core to core", 3, hand_over, both_run),
	MACHINE_CASE("a thread is suspended while it moves", 3, stop_in_flight, nobody_runs),
	MACHINE_CASE("a thread is destroyed while it moves", 3, destroy_in_flight, a_is_gone),
	MACHINE_CASE("a thread's memory is used again while it moves", 3, reuse, a_new_one),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
