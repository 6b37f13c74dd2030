/* SPDX-License-Identifier: BSD-2-Clause */
#include "harness.h"
#include "message.h"

enum { EP = 1000, REPLY = 1001, READ_ONLY = 1002, WRITE_ONLY = 1003, BADGED = 1004, SERVER = 1010, CLIENT = 1020 };

static void objects(void)
{
	make(OBJECT_ENDPOINT, 0, EP, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	copy(READ_ONLY, EP, RIGHT_READ, 0);
	copy(WRITE_ONLY, EP, RIGHT_WRITE, 0);
	copy(BADGED, EP, RIGHT_ALL, 42);
}

static uint64_t send_on(unsigned core, unsigned number, uint64_t cptr)
{
	return syscall_on(core, number, cptr, 9, W(1, 2, 3, 4, 5, 6), NONE, 0);
}
static uint64_t receive_on(unsigned core, unsigned number, uint64_t cptr)
{
	return syscall_on(core, number, cptr, 0, NONE, NONE, REPLY);
}

static void expect_message(const struct thread *thread)
{
	EXPECT(result(thread), 0);
	EXPECT(badge(thread), 42);
	EXPECT(context_info(&thread->context), message_info(9, 0, 6));
	for (unsigned i = 0; i < 6; i++)
		EXPECT(word(thread, i), i + 1);
}

static void rights(void)
{
	objects();
	EXPECT(send_on(0, SYS_CALL, READ_ONLY), SKERRY_NO_RIGHTS);
	EXPECT(send_on(0, SYS_SEND, READ_ONLY), SKERRY_NO_RIGHTS);
	EXPECT(send_on(0, SYS_NB_SEND, READ_ONLY), SKERRY_NO_RIGHTS);
	EXPECT(receive_on(0, SYS_RECV, WRITE_ONLY), SKERRY_NO_RIGHTS);
	EXPECT(receive_on(0, SYS_NB_RECV, WRITE_ONLY), SKERRY_NO_RIGHTS);
	EXPECT(receive_on(0, SYS_REPLY_RECV, WRITE_ONLY), SKERRY_NO_RIGHTS);
	EXPECT(send_on(0, SYS_SEND, REPLY), SKERRY_BAD_CAP);
	EXPECT(send_on(0, SYS_CALL, 1999), SKERRY_BAD_CAP);
	EXPECT(receive_on(0, SYS_RECV, ~0ull), SKERRY_BAD_CAP);
	EXPECT(syscall_on(0, SYS_RECV, EP, 0, NONE, NONE, EP), SKERRY_BAD_CAP);
	EXPECT(receive_on(0, SYS_NB_RECV, EP), SKERRY_WOULD_BLOCK);
	EXPECT(send_on(0, SYS_NB_SEND, EP), 0); /* dropped */
	EXPECT(receive_on(0, SYS_NB_RECV, EP), SKERRY_WOULD_BLOCK);
}

static void the_receiver_waits(void)
{
	objects();
	struct thread *root = running(0), *server = make_thread(SERVER, 255, 0);
	simple(0, SYS_YIELD, 0);
	EXPECT(running(0), server);
	receive_on(0, SYS_RECV, EP);
	EXPECT(running(0), root);
	send_on(0, SYS_SEND, BADGED);
	expect_message(server);
	EXPECT(server->state, THREAD_READY);
}

static void the_sender_waits(void)
{
	objects();
	struct thread *root = running(0), *client = make_thread(CLIENT, 255, 0);
	simple(0, SYS_YIELD, 0);
	send_on(0, SYS_SEND, BADGED);
	EXPECT(client->state, THREAD_SENDING);
	EXPECT(receive_on(0, SYS_NB_RECV, EP), 0);
	expect_message(root);
	EXPECT(client->state, THREAD_READY);
}

static void first_come_first_served(void)
{
	objects();
	for (unsigned i = 0; i < 4; i++) {
		copy(1030 + i, EP, RIGHT_ALL, 50 + i);
		make_thread(1040 + 2 * i, 255, 0);
		simple(0, SYS_YIELD, 0);
		send_on(0, SYS_SEND, 1030 + i);
	}
	delete(1042); /* the second leaves the queue */
	for (unsigned i = 0; i < 4; i++)
		if (i != 1) {
			EXPECT(receive_on(0, SYS_NB_RECV, EP), 0);
			EXPECT(badge(running(0)), 50 + i);
		}
	EXPECT(receive_on(0, SYS_NB_RECV, EP), SKERRY_WOULD_BLOCK);
}

static void deletion_wakes_who_waits(void)
{
	objects();
	struct thread *a = make_thread(SERVER, 255, 0), *b = make_thread(CLIENT, 255, 0);
	simple(0, SYS_YIELD, 0);
	EXPECT(running(0), a);
	receive_on(0, SYS_RECV, EP);
	EXPECT(running(0), b);
	receive_on(0, SYS_RECV, EP);
	EXPECT(a->state, THREAD_RECEIVING);
	EXPECT(b->state, THREAD_READY); /* the reply object was taken: BUSY */
	EXPECT(result(b), SKERRY_BUSY);
	simple(0, SYS_YIELD, 0);
	revoke(EP);
	delete(EP);
	EXPECT(result(a), SKERRY_DELETED);
	EXPECT(a->state, THREAD_READY);
}

static void across_cores(void)
{
	objects();
	struct thread *server = make_thread(SERVER, 100, 1);
	EXPECT(running(1), server);
	receive_on(1, SYS_RECV, EP);
	EXPECT(running(1), 0);
	send_on(0, SYS_CALL, BADGED);
	EXPECT(running(0), 0);
	EXPECT(running(1), server);
	expect_message(server);
	syscall_on(1, SYS_REPLY_RECV, EP, 7, W(11), NONE, REPLY);
	EXPECT(word(running(0), 0), 11);
	EXPECT(message_label(context_info(&running(0)->context)), 7);
}

const struct test tests[] = {
	{ "rights of endpoints", rights, 1 },
	{ "the receiver waits", the_receiver_waits, 1 },
	{ "the sender waits", the_sender_waits, 1 },
	{ "first come, first served", first_come_first_served, 1 },
	{ "deleting an endpoint wakes who waits", deletion_wakes_who_waits, 1 },
	{ "a call across cores", across_cores, 2 },
	{ 0 },
};
