/* SPDX-License-Identifier: BSD-2-Clause */
#include "arch.h"
#include "harness.h"
#include "kernel.h"
#include "message.h"
#include "vspace.h"

enum { SPACE = 1000, TABLES = 1010, FRAME = 1020, LARGE = 1030 };
#define AT 0x8000000000ull

static uint64_t map(uint64_t frame, uint64_t space, uint64_t vaddr, uint64_t rights, uint64_t attributes)
{
	return call(frame, FRAME_MAP, W(vaddr, rights, attributes), W(space));
}

static void tables(uint64_t space)
{
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(space)), 0);
}

static void rights_are_the_capabilitys(void)
{
	unsigned missing;
	make(OBJECT_VSPACE, 0, SPACE, 1);
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	copy(FRAME + 1, FRAME, RIGHT_READ, 0);
	tables(SPACE);
	EXPECT(map(FRAME + 1, SPACE, AT, RIGHT_ALL, CACHE_DISABLED), 0);
	uint64_t *entry = vspace_entry((struct vspace *)slot_of(SPACE)->cap.object, AT, LEVEL_4K, &missing);
	EXPECT(*entry, arch_pte_frame(slot_of(FRAME)->cap.object, LEVEL_4K, RIGHT_READ, CACHE_DISABLED));
}

static void a_large_frame_is_forgotten(void)
{
	make(OBJECT_FRAME_2M, 0, LARGE, 1);
	make(OBJECT_PAGE_TABLE, 0, TABLES, 2);
	for (unsigned i = 0; i < 2; i++)
		EXPECT(call(TABLES + i, PAGE_TABLE_MAP, W(AT), W(VSPACE)), 0);
	EXPECT(map(LARGE, VSPACE, AT, RIGHT_ALL, CACHE_WRITE_COMBINING), 0);
	EXPECT(hosted_touch(machine, 0, AT + 0x1ff000) != 0, true);
	delete(LARGE);
	EXPECT(hosted_touch(machine, 0, AT + 0x1ff000), 0);
}

/* A capability remembers every bit of the page: kernel_check() finds mappings that no capability stands for. */
static void mapped_at_any_page(void)
{
	static const uint64_t at[] = { 0, 0x5555aaaa5000ull, 0x2aaa55555000ull, USER_TOP - 4096 };
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	make(OBJECT_PAGE_TABLE, 0, TABLES, 3);
	for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		make(OBJECT_VSPACE, 0, SPACE, 1);
		for (unsigned table = 0; table < 3; table++)
			EXPECT(call(TABLES + table, PAGE_TABLE_MAP, W(at[i]), W(SPACE)), 0);
		EXPECT(map(FRAME, SPACE, at[i], RIGHT_ALL, 0), 0);
		EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), 0);
		EXPECT(map(FRAME, SPACE, at[i], RIGHT_ALL, 0), 0);
		EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), 0);
		for (unsigned table = 3; table--;)
			EXPECT(call(TABLES + table, PAGE_TABLE_UNMAP, NONE, NONE), 0);
		delete(SPACE);
	}
}

/* kernel_check() finds the stale entry if a core was not told. */
static void other_cores_forget(void)
{
	make(OBJECT_FRAME_4K, 0, FRAME, 1);
	tables(VSPACE);
	make_thread(1100, 100, 1);
	EXPECT(map(FRAME, VSPACE, AT, RIGHT_ALL, 0), 0);
	EXPECT(hosted_touch(machine, 0, AT) != 0, true);
	EXPECT(hosted_touch(machine, 1, AT) != 0, true);
	EXPECT(call(FRAME, FRAME_UNMAP, NONE, NONE), 0);
	EXPECT(hosted_touch(machine, 0, AT), 0);
	EXPECT(hosted_touch(machine, 1, AT), 0);
	EXPECT(map(FRAME, VSPACE, AT, RIGHT_ALL, 0), 0);
	EXPECT(hosted_touch(machine, 1, AT) != 0, true);
	delete(TABLES + 2);
	EXPECT(hosted_touch(machine, 1, AT), 0);
}

enum { CLIENT = 1100, SERVER = 1110, OWN_SPACES = 1120, ENDPOINT = 1130, REPLY };

/* Threads on core 1, each in a space that it loses when its slot of OWN_SPACES is revoked. The server waits. */
static void make_client_and_server(struct thread **client, struct thread **server)
{
	const uint64_t start[21] = { 1, 0x1000, 0x2000 }; /* resume, RIP, RSP */
	make(OBJECT_VSPACE, 0, SPACE, 2);
	make(OBJECT_ENDPOINT, 0, ENDPOINT, 1);
	make(OBJECT_REPLY, 0, REPLY, 1);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t slot = i ? CLIENT : SERVER;
		copy(OWN_SPACES + i, SPACE + i, RIGHT_ALL, 0);
		make(OBJECT_TCB, 0, slot, 1);
		make(OBJECT_FRAME_4K, 0, slot + 1, 1);
		EXPECT(call(slot, TCB_CONFIGURE, W(1024, 0), W(CNODE, OWN_SPACES + i, slot + 1)), 0);
		EXPECT(call(slot, TCB_SCHEDULE, W(100, 1), W(ROOT_SLOT_TCB)), 0);
		EXPECT(call(slot, TCB_WRITE_REGISTERS, start, 21, NONE), 0);
		if (slot == SERVER)
			syscall_on(1, SYS_RECV, ENDPOINT, 0, W(0), NONE, REPLY);
	}
	*server = (struct thread *)slot_of(SERVER)->cap.object;
	*client = (struct thread *)slot_of(CLIENT)->cap.object;
	EXPECT(running(1), *client);
}

static void post_revoke(uint64_t slot)
{
	const struct hosted_call revoke = { .number = SYS_CALL, .cptr = CNODE, .info = message_info(CNODE_REVOKE, 0, 1),
	                                    .word = { slot } };
	hosted_post_call(machine, 0, &revoke);
}

/* kernel_check() finds a core that runs a thread without its space. */
static void expect_space_loaded(struct thread *thread)
{
	EXPECT(running(1), thread);
	EXPECT(machine->kernel.cpu[1]->own.loaded_vspace == thread_vspace(thread), true);
}

static void a_caller_that_loses_its_space_leaves_the_servers_alone(void)
{
	const struct hosted_call order = { .number = SYS_CALL, .cptr = ENDPOINT, .info = message_info(0, 0, 0) };
	struct thread *client, *server;
	make_client_and_server(&client, &server);
	hosted_post_call(machine, 1, &order);
	post_revoke(OWN_SPACES + 1);
	settle();
	expect_space_loaded(server);
	simple(1, SYS_YIELD, 0);
	expect_space_loaded(server);
}

static void a_server_that_loses_its_space_leaves_the_callers_alone(void)
{
	const struct hosted_call answer = { .number = SYS_REPLY_RECV, .cptr = ENDPOINT, .info = message_info(0, 0, 0),
	                                    .reply = REPLY };
	struct thread *client, *server;
	make_client_and_server(&client, &server);
	syscall_on(1, SYS_CALL, ENDPOINT, 0, NONE, NONE, 0);
	EXPECT(running(1), server);
	hosted_post_call(machine, 1, &answer);
	post_revoke(OWN_SPACES);
	settle();
	expect_space_loaded(client);
	simple(1, SYS_YIELD, 0);
	expect_space_loaded(client);
}

/* kernel_check() sees to it that the core has left the space. */
static void a_thread_loses_its_space(void)
{
	make(OBJECT_VSPACE, 0, SPACE, 1);
	copy(SPACE + 1, SPACE, RIGHT_ALL, 0);
	make(OBJECT_TCB, 0, CLIENT, 1);
	EXPECT(call(CLIENT, TCB_CONFIGURE, W(0, 0), W(CNODE, SPACE + 1)), 0);
	EXPECT(call(CLIENT, TCB_SCHEDULE, W(100, 1), W(ROOT_SLOT_TCB)), 0);
	EXPECT(call(CLIENT, TCB_RESUME, NONE, NONE), 0);
	EXPECT(machine->kernel.cpu[1]->own.loaded_vspace == (struct vspace *)slot_of(SPACE)->cap.object, true);
	revoke(SPACE);
	EXPECT(running(1) != 0, true);
	EXPECT(machine->kernel.cpu[1]->own.loaded_vspace == 0, true);
	EXPECT(slot_of(SPACE)->cap.type, OBJECT_VSPACE);
}

TESTS(vspaces) = {
	{ "a mapping's rights are the capability's", rights_are_the_capabilitys, 1 },
	{ "a frame is mapped at any page", mapped_at_any_page, 1 },
	{ "a large frame is forgotten", a_large_frame_is_forgotten, 1 },
	{ "other cores forget", other_cores_forget, 2 },
	{ "a caller that loses its space leaves the server's alone",
	  a_caller_that_loses_its_space_leaves_the_servers_alone, 2 },
	{ "a server that loses its space leaves the caller's alone",
	  a_server_that_loses_its_space_leaves_the_callers_alone, 2 },
	{ "a thread loses its space", a_thread_loses_its_space, 2 },
	{ 0 },
};
