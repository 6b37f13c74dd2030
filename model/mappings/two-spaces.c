/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers that rely on what another has changed in an address space that they change nothing in: their own round of
 * flushes does not reach its TLBs, so only the wait for the other's debts does (core/tlb.h).
 */
#include "check.h"
#include "machine.h"
#include "message.h"
#include "vspace.h"

enum { A = 1000, B = 1010, SPACE = 1050, IDLE_SPACE, TABLES = 1060, FRAME = 1070, COPY, SECOND, DOMAIN = 1090, OTHER };
enum { READ_WRITE = RIGHT_READ | RIGHT_WRITE };
#define AT 0x8000000000ull

static struct thread *root, *a, *b;

static void make_tables(uint64_t slot, uint64_t space)
{
	make(OBJECT_PAGE_TABLE, 0, slot, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(slot + i, PAGE_TABLE_MAP, W(AT), W(space)), 0);
}

static void make_frame(uint64_t slot, uint64_t domain)
{
	make(OBJECT_FRAME_4K, 0, slot, 1);
	EXPECT(call(slot, FRAME_SPLIT, NONE, W(domain)), 0);
}

static const struct vspace *space_of(uint64_t slot) { return (const struct vspace *)slot_of(slot)->cap.object; }

/* A on core 1, in a space of its own, where COPY of FRAME is mapped at AT, which its core has in its TLB. */
static void make_spaces(unsigned cores, enum granularity granularity)
{
	machine_make(cores);
	root = running(0);
	a = make_thread(A, 100, 1);
	make(OBJECT_VSPACE, 0, SPACE, 1);
	make_tables(TABLES, SPACE);
	make(OBJECT_DOMAIN, 0, DOMAIN, 2);
	EXPECT(call(DOMAIN, DOMAIN_GRANULARITY, W(granularity), NONE), 0);
	EXPECT(call(OTHER, DOMAIN_GRANULARITY, W(GRANULARITY_FINE), NONE), 0);
	make_frame(FRAME, DOMAIN);
	copy(COPY, FRAME, READ_WRITE, 0);
	EXPECT(call(COPY, FRAME_MAP, W(AT, READ_WRITE, 0), W(SPACE)), 0);
	EXPECT(call(A, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(A, TCB_CONFIGURE, W(1024, 0), W(CNODE, SPACE, A + 1)), 0);
	EXPECT(call(A, TCB_RESUME, NONE, NONE), 0);
	EXPECT(running(1) == a, true);
	EXPECT(hosted_store(machine, 1, AT, 1), true);
}

/*
 * Two protect FRAME, which is mapped in a space that no core has loaded. One finds that the copy in A's space has lost
 * the right already, and that FRAME's own mapping has not.
 */
static void protect_of(enum granularity granularity)
{
	make_spaces(2, granularity);
	make(OBJECT_VSPACE, 0, IDLE_SPACE, 1);
	make_tables(TABLES + 3, IDLE_SPACE);
	EXPECT(call(FRAME, FRAME_MAP, W(AT, READ_WRITE, 0), W(IDLE_SPACE)), 0);
	machine_invokes(root, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_invokes(a, FRAME, FRAME_PROTECT, RIGHT_READ, 0, 0);
	machine_promise(root, 1, space_of(SPACE), AT, RIGHT_READ);
	machine_promise(a, 1, space_of(SPACE), AT, RIGHT_READ);
}
static void protect(void) { protect_of(GRANULARITY_FINE); }
static void protect_coarse(void) { protect_of(GRANULARITY_COARSE); }

static void both_read(void)
{
	machine_check();
	EXPLORE_CHECK(slot_of(COPY)->cap.rights == RIGHT_READ, "a copy of the frame has kept a right");
	EXPLORE_CHECK(!hosted_store(machine, 1, AT, 2), "a frame can be written");
}

/* COPY goes, and B maps another frame there, to be read only: once it is, no core writes there any more. */
static void replace_of(enum granularity granularity)
{
	make_spaces(3, granularity);
	make_frame(SECOND, OTHER);
	b = make_thread(B, 100, 2);
	machine_invokes(root, COPY, FRAME_UNMAP, 0, 0, 0);
	machine_program(b, (struct hosted_call){ .number = SYS_CALL, .cptr = SECOND, .word = { AT, RIGHT_READ, 0 },
	                                         .info = message_info(FRAME_MAP, 1, 3) }, SPACE);
	machine_promise(root, 1, space_of(SPACE), AT, RIGHT_READ);
	machine_promise(b, 1, space_of(SPACE), AT, RIGHT_READ);
}
static void replace(void) { replace_of(GRANULARITY_FINE); }
static void replace_coarse(void) { replace_of(GRANULARITY_COARSE); }

static void the_other_or_none(void)
{
	kernel_check(machine);
	const struct slot *second = slot_of(SECOND);
	EXPLORE_CHECK(!(slot_of(COPY)->cap.flags & CAP_MAPPED), "a frame is mapped that was unmapped");
	EXPLORE_CHECK((result(b) == 0) == !!(second->cap.flags & CAP_MAPPED), "a call has another result than effect");
	EXPLORE_CHECK(!hosted_store(machine, 1, AT, 2), "a frame can be written");
}

static const struct explore_case cases[] = {
	MACHINE_CASE("a frame is protected in two spaces", 2, protect, both_read),
	MACHINE_CASE("a frame is protected in two spaces, coarse", 2, protect_coarse, both_read),
	MACHINE_CASE("a frame takes the place of another", 3, replace, the_other_or_none),
	MACHINE_CASE("a frame takes the place of another, coarse", 3, replace_coarse, the_other_or_none),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
