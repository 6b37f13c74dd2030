/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call and ReplyRecv by the fast path on core 1, while root on core 0 takes away or changes what they use. In each case
 * root's invocation meets both calls at every place: before, between and after them, and inside.
 */
#include "check.h"
#include "machine.h"
#include "message.h"
#include "notification.h"

enum { A = 1000, B = 1010, C = 1020, NOTE = 1050, ENDPOINT, REPLY };
/* The client's address space, and from SERVERS on the server's. */
enum { SPACE_POOL = 1060, SPACE, FRAME = SPACE_POOL + MACHINE_SPACE_FRAME, SERVERS = 10 };
#define AT 0x8000000000ull

static struct thread *root, *client, *server, *third;

static const struct hosted_call receive = { .number = SYS_RECV, .cptr = ENDPOINT, .reply = REPLY };
static const struct hosted_call reply_receive = { .number = SYS_REPLY_RECV, .cptr = ENDPOINT, .reply = REPLY };

static void give_space(uint64_t tcb, uint64_t slot)
{
	machine_give_space(tcb, slot, AT);
	EXPECT(hosted_touch(machine, 1, AT) != 0, true); /* the core's TLB has it */
}

/* The server waits; the client is about to run on core 1. */
static void begin(unsigned cores, bool spaces)
{
	machine_make(cores);
	root = running(0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	server = make_thread(B, 100, 1);
	if (spaces)
		give_space(B, SPACE_POOL + SERVERS);
	EXPECT(call(B, TCB_BIND, NONE, W(NOTE)), 0);
	hosted_post_call(machine, 1, &receive);
	settle();
	client = make_thread(A, 100, 1);
	if (spaces)
		give_space(A, SPACE_POOL);
	EXPECT(running(1) == client, true);
}

/* The client calls once, and the server answers. */
static void converse(unsigned cores, bool spaces)
{
	begin(cores, spaces);
	machine_does(client, SYS_CALL, ENDPOINT);
	machine_program(server, reply_receive, 0);
}

static void stop(uint64_t tcb)
{
	converse(2, false);
	machine_invokes(root, tcb, TCB_SUSPEND, 0, 0, 0);
}

static void stop_client(void) { stop(A); }
static void stop_server(void) { stop(B); }

static void resume_client(void)
{
	stop(A);
	machine_invokes(root, A, TCB_RESUME, 0, 0, 0);
}

static void resume_server(void)
{
	stop(B);
	machine_invokes(root, B, TCB_RESUME, 0, 0, 0);
}

static void delete_slot(uint64_t slot)
{
	converse(2, false);
	machine_invokes(root, CNODE, CNODE_DELETE, slot, 0, 0);
}

static void destroy_client(void) { delete_slot(A); }
static void destroy_server(void) { delete_slot(B); }
static void delete_endpoint(void) { delete_slot(ENDPOINT); }
static void delete_reply(void) { delete_slot(REPLY); }

static void schedule(unsigned cores, uint64_t tcb, uint64_t priority, uint64_t core)
{
	converse(cores, false);
	machine_invokes(root, tcb, TCB_SCHEDULE, priority, core, ROOT_SLOT_TCB);
}

static void move_client(void) { schedule(3, A, 100, 2); }
static void move_server(void) { schedule(3, B, 100, 2); }

/* It is called while it is told to leave for the core of root, which has a higher priority. */
static void stop_server_by_moving(void)
{
	begin(2, false);
	machine_does(client, SYS_CALL, ENDPOINT);
	machine_invokes(root, B, TCB_SCHEDULE, 100, 0, ROOT_SLOT_TCB);
}

/* Root moves one of the two to its own core, where that takes precedence once root has woken it. */
static void summon(uint64_t tcb, unsigned number, uint64_t cptr)
{
	machine_invokes(root, tcb, TCB_SCHEDULE, 100, 0, ROOT_SLOT_TCB);
	machine_program(root, (struct hosted_call){ .number = number, .cptr = cptr, .reply = REPLY }, 0);
}

/* The client runs on while the fast Call still saves its registers. */
static void summon_client(void)
{
	begin(2, false);
	root_priority(50);
	machine_does(client, SYS_CALL, ENDPOINT);
	summon(A, SYS_REPLY, 0);
}

/* ... and the server, which has been called already, after a fast ReplyRecv. */
static void summon_server(void)
{
	begin(2, false);
	root_priority(50);
	hosted_post_call(machine, 1, &(struct hosted_call){ .number = SYS_CALL, .cptr = ENDPOINT });
	settle();
	EXPECT(running(1) == server, true);
	machine_program(server, reply_receive, 0);
	summon(B, SYS_CALL, ENDPOINT);
}

/* The server has begun to wait on core 0, which still saves its registers when it is moved to core 1, and called
 * there. */
static void call_what_is_saved(void)
{
	machine_make(2);
	root = running(0);
	make(OBJECT_NOTIFICATION, 0, NOTE, 1);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	client = make_thread(A, 100, 1);
	server = make_thread(B, 100, 0);
	root_priority(50);
	EXPECT(running(0) == server && running(1) == client, true);
	machine_program(server, receive, 0);
	machine_invokes(client, B, TCB_SCHEDULE, 100, 1, ROOT_SLOT_TCB);
	machine_does(client, SYS_CALL, ENDPOINT);
}

static void raise_client(void) { schedule(2, A, 150, 1); }
static void raise_server(void) { schedule(2, B, 150, 1); }

/* A third thread is ready on core 1, of a lower priority than the two, and never waits. */
static void begin_with_third(void)
{
	begin(2, false);
	third = make_thread(C, 50, 1);
	machine_does(client, SYS_CALL, ENDPOINT);
}

static void lower_client(void)
{
	begin_with_third();
	machine_program(server, reply_receive, 0);
	machine_invokes(root, A, TCB_SCHEDULE, 20, 1, ROOT_SLOT_TCB);
}

/* Were it to answer, nothing would show that it has overtaken the third. */
static void lower_server(void)
{
	begin_with_third();
	machine_invokes(root, B, TCB_SCHEDULE, 20, 1, ROOT_SLOT_TCB);
}

static void raise_third(void)
{
	begin_with_third();
	machine_program(server, reply_receive, 0);
	machine_invokes(root, C, TCB_SCHEDULE, 150, 1, ROOT_SLOT_TCB);
}

static void signal_server(void)
{
	converse(2, false);
	machine_does(root, SYS_SIGNAL, NOTE);
}

/* A second caller, of another core. */
static void call_too(void)
{
	converse(2, false);
	machine_does(root, SYS_CALL, ENDPOINT);
}

/* Each of the two has an address space of its own. */
static void revoke_space(uint64_t offset)
{
	converse(2, true);
	machine_invokes(root, CNODE, CNODE_REVOKE, SPACE_POOL + offset, 0, 0);
}

static void revoke_space_of_client(void) { revoke_space(0); }
static void revoke_space_of_server(void) { revoke_space(SERVERS); }

static void unmap(uint64_t offset)
{
	converse(2, true);
	machine_invokes(root, FRAME + offset, FRAME_UNMAP, 0, 0, 0);
}

static void unmap_frame_of_client(void) { unmap(0); }
static void unmap_frame_of_server(void) { unmap(SERVERS); }

/* What the fast path did of the two calls: each case says which of these there are. */
enum { NEITHER = 1 << 0, ANSWERED = 1 << 1, CALLED = 1 << 2, BOTH = 1 << 3 };
enum { NOT_ONLY_ANSWERED = NEITHER | CALLED | BOTH, SOME = ANSWERED | CALLED | BOTH };

static void whole(void)
{
	kernel_check(machine);
	explore_outcome(machine_went_fast(server) * 2 + machine_went_fast(client));
}

static void server_was_told(void)
{
	whole();
	EXPLORE_CHECK(server->state != THREAD_RECEIVING || !server->bound->word,
	              "the server sleeps though it was signalled");
}

static bool answered(void)
{
	return machine_progress(client) == 1 && client->state == THREAD_READY && result(client) == SKERRY_OK &&
	       server->state == THREAD_RECEIVING;
}

static void client_was_answered(void)
{
	whole();
	EXPLORE_CHECK(answered(), "the client was not answered, or the server does not wait for the next");
}

static void client_moved(void)
{
	client_was_answered();
	EXPLORE_CHECK(running(2) == client && !running(1), "the client is not where it was told to go");
}

static void server_moved(void)
{
	client_was_answered();
	EXPLORE_CHECK(running(1) == client && server->next_core == 2,
	              "the client has left, or the server forgot where to go");
}

static void space_is_gone(void)
{
	whole();
	EXPLORE_CHECK(slot_empty(slot_of(SPACE)) || slot_empty(slot_of(SPACE + SERVERS)), "the space is still there");
}

static const struct explore_case cases[] = {
	MACHINE_CASE_OF("the client is suspended", 2, stop_client, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the server is suspended", 2, stop_server, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the client is resumed", 2, resume_client, whole, CALLED | BOTH),
	MACHINE_CASE_OF("the server is resumed", 2, resume_server, whole, ANSWERED | BOTH),
	MACHINE_CASE_OF("the client is destroyed", 2, destroy_client, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the server is destroyed", 2, destroy_server, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the endpoint is deleted", 2, delete_endpoint, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the reply object is deleted", 2, delete_reply, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the client moves", 3, move_client, client_moved, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the server moves", 3, move_server, server_moved, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the server has to leave", 2, stop_server_by_moving, whole, NEITHER | CALLED),
	MACHINE_CASE_OF("the client runs elsewhere", 2, summon_client, whole, NEITHER | CALLED),
	MACHINE_CASE_OF("the server runs elsewhere", 2, summon_server, whole, NEITHER | ANSWERED | CALLED | BOTH),
	MACHINE_CASE_OF("the server was elsewhere", 2, call_what_is_saved, whole, NEITHER | CALLED),
	MACHINE_CASE_OF("the client's priority is lowered", 2, lower_client, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the server's priority is lowered", 2, lower_server, whole, NEITHER | CALLED),
	MACHINE_CASE_OF("the client's priority is raised", 2, raise_client, client_was_answered, ANSWERED | BOTH),
	MACHINE_CASE_OF("the server's priority is raised", 2, raise_server, client_was_answered, CALLED | BOTH),
	MACHINE_CASE_OF("a third thread's priority is raised", 2, raise_third, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the server is signalled", 2, signal_server, server_was_told, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("another core calls, too", 2, call_too, whole, NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the client's address space is revoked", 2, revoke_space_of_client, space_is_gone,
	                NOT_ONLY_ANSWERED),
	MACHINE_CASE_OF("the server's address space is revoked", 2, revoke_space_of_server, space_is_gone, SOME),
	MACHINE_CASE_OF("a frame of the client's is unmapped", 2, unmap_frame_of_client, client_was_answered,
	                CALLED | BOTH),
	MACHINE_CASE_OF("a frame of the server's is unmapped", 2, unmap_frame_of_server, client_was_answered,
	                ANSWERED | BOTH),
	{ 0 },
};

int main(int argc, char **argv) { return machine_main(argc, argv, cases); }
