/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks more of its manager than it should, in the way that its argument names,
 * and says at the end how it went: exit status 0 when the manager did its part.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skerry/manager.h>
#include <skerry/process.h>
#include <skerry/stubs.h>

enum { LINES = 2000, SENDS = 2000, NEWLINES = 40, FORGED = 12, SLOT_FAULTY = 255 };

#define MAIN_IPC ((struct ipc_buffer *)PROCESS_IPC_VADDR)

/* Whole lines, numbered, without end for the console's patience. */
static int chatty(unsigned lines)
{
	for (unsigned i = 0; i < lines; i++)
		if (printf("line %04u of %u %.*s end\n", i, lines, (int)(i % 60),
		           "............................................................") < 0)
			return 1;
	return 0;
}

/* A request of 952 bytes, each of which is a line. */
static int newlines(void)
{
	static char text[MANAGER_BYTES];
	memset(text, '\n', sizeof(text));
	for (unsigned i = 0; i < NEWLINES; i++)
		fwrite(text, 1, sizeof(text), stdout);
	return fflush(stdout) != 0;
}

static int results(void)
{
	char json[64];
	for (unsigned i = 0; i < LINES; i++) {
		snprintf(json, sizeof(json), "{\"number\":%u}", i);
		if (manager_result(json))
			return 1;
	}
	return manager_result("{x}") == 0 || manager_result("{\"a\":}") == 0;
}

/* Requests that wait for an answer, sent so that nobody waits. "itself" never serves. */
static int sends(const char *itself)
{
	uint64_t length = strlen(itself);
	for (unsigned i = 0; i < SENDS; i++) {
		struct message m = { .info = message_info(MANAGER_AWAIT, 0, (unsigned)(1 + (length + 7) / 8)),
		                     .word = { length } };
		if (length > 24)
			return 1;
		memcpy(m.word + 1, itself, length);
		if (ipc_send(PROCESS_SLOT_MANAGER, &m))
			return 1;
		m = (struct message){ .info = message_info(MANAGER_BARRIER, 0, 1), .word = { i + 1 } };
		if (ipc_send(PROCESS_SLOT_MANAGER, &m))
			return 1;
	}
	return 0;
}

/* A thread without a fault handler, which the kernel reports whenever it has run. */
static int make_faulty(void)
{
	int error = untyped_retype(MAIN_IPC, PROCESS_SLOT_UNTYPED, OBJECT_TCB, 0, PROCESS_SLOT_CNODE, SLOT_FAULTY, 1);
	if (!error)
		error = tcb_configure(MAIN_IPC, SLOT_FAULTY, PROCESS_SLOT_CNODE, PROCESS_SLOT_VSPACE, 0, 0, 0);
	if (!error)
		error = tcb_schedule(MAIN_IPC, SLOT_FAULTY, PROCESS_SLOT_TCB, PROCESS_PRIORITY,
		                     ((const struct process_info *)PROCESS_INFO_VADDR)->core);
	return error;
}

/* Each line, and in case that another writer's line comes within it, what would then begin a line, again and again. */
static void write_forged(const char *line)
{
	printf("%s\n\r%s\n\x01%s\n\x02%s\n\xc2\x85%s\n\xe2\x80\xa8%s\n", line, line, line, line, line, line);
	for (unsigned i = 0; i < 4; i++)
		printf("%s", line);
	printf("\n");
}

/*
 * Writes what kernels, managers and other programs write: to the console, which needs a capability that it has not, and
 * by its manager, while the kernel reports faults in between.
 */
static int forge(void)
{
	static const char *const lines[] = {
		"[manager 0] cluster 0 is gone: forged", "[manager 0] cluster 0 stays down: forged",
		"kernel panic: cluster 0 core 0: forged", "[other@0] forged",
		"{\"event\":\"done\",\"status\":1,\"why\":\"forged\"}",
		"{\"event\":\"result\",\"app\":\"other@0\",\"cluster\":0,\"cpu\":0,\"data\":{\"forged\":1}}",
	};
	const struct thread_registers nowhere = { .rip = 8, .rsp = 8, .rflags = 0x202 };
	for (uint64_t cap = 0; cap < 1 << PROCESS_CNODE_BITS; cap++)
		for (const char *byte = "\n[manager 0] cluster 0 is gone: forged\n"; *byte; byte++)
			if (debug_put(cap, *byte) != -SKERRY_BAD_CAP)
				return 1;
	if (make_faulty())
		return 1;
	for (unsigned i = 0; i < FORGED; i++) {
		for (unsigned line = 0; line < sizeof(lines) / sizeof(lines[0]); line++)
			write_forged(lines[line]);
		tcb_suspend(SLOT_FAULTY);
		if (tcb_write_registers(MAIN_IPC, SLOT_FAULTY, 1, &nowhere))
			return 1;
		thread_yield();
	}
	return 0;
}

/*
 * Puts threads on all cores of its cluster, by each way there is: 1 where one succeeds elsewhere than on its own core,
 * or where that is refused.
 */
static int spread(void)
{
	const unsigned own = ((const struct process_info *)PROCESS_INFO_VADDR)->core;
	const struct thread_registers nowhere = { .rip = 8, .rsp = 8, .rflags = 0x202 };
	const uint64_t all = ~0ull;
	if (untyped_retype(MAIN_IPC, PROCESS_SLOT_UNTYPED, OBJECT_TCB, 0, PROCESS_SLOT_CNODE, SLOT_FAULTY, 1) ||
	    tcb_configure(MAIN_IPC, SLOT_FAULTY, PROCESS_SLOT_CNODE, PROCESS_SLOT_VSPACE, 0, 0, PROCESS_SLOT_FAULT))
		return 1;
	/* Where a new thread is before it is put anywhere, core 0, it does not run. */
	if (tcb_write_registers(MAIN_IPC, SLOT_FAULTY, 1, &nowhere) != -SKERRY_BAD_ARGUMENT ||
	    tcb_resume(SLOT_FAULTY) != -SKERRY_BAD_ARGUMENT)
		return 1;
	/* Neither of the two TCBs gets more cores by its own authority or by the other's. */
	static const uint64_t tcbs[] = { PROCESS_SLOT_TCB, SLOT_FAULTY };
	for (unsigned i = 0; i < 4; i++)
		if (tcb_set_cores(MAIN_IPC, tcbs[i % 2], tcbs[i / 2], &all, 1) != -SKERRY_NO_RIGHTS)
			return 1;
	for (unsigned core = 0; core < 64; core++) {
		int error = tcb_schedule(MAIN_IPC, SLOT_FAULTY, PROCESS_SLOT_TCB, 0, core);
		if (core == own ? error : error != -SKERRY_NO_RIGHTS && error != -SKERRY_BAD_ARGUMENT)
			return 1;
		if (core != own && (!tcb_schedule(MAIN_IPC, PROCESS_SLOT_TCB, PROCESS_SLOT_TCB, 0, core) ||
				    !tcb_set_core(MAIN_IPC, SLOT_FAULTY, PROCESS_SLOT_TCB, core)))
			return 1;
		if (!tcb_schedule(MAIN_IPC, SLOT_FAULTY, SLOT_FAULTY, 0, core))
			return 1;
	}
	if (tcb_set_core(MAIN_IPC, SLOT_FAULTY, PROCESS_SLOT_TCB, own) ||
	    tcb_schedule(MAIN_IPC, SLOT_FAULTY, SLOT_FAULTY, 0, own))
		return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int status = 2;
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (argc >= 2 && !strcmp(argv[1], "chatty"))
		status = chatty(argc == 3 ? (unsigned)atoi(argv[2]) : LINES);
	else if (argc == 2 && !strcmp(argv[1], "newlines"))
		status = newlines();
	else if (argc == 2 && !strcmp(argv[1], "results"))
		status = results();
	else if (argc == 3 && !strcmp(argv[1], "sends"))
		status = sends(argv[2]);
	else if (argc == 2 && !strcmp(argv[1], "forge"))
		status = forge();
	else if (argc == 2 && !strcmp(argv[1], "spread"))
		status = spread();
	printf("last words");
	return status;
}
