/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel prints, how often, and that no core waits in the kernel until it can be printed. */
#include <string.h>
#include <skerry/console.h>
#include "harness.h"
#include "message.h"
#include "print.h"

enum { CLIENT = 1010, COPY = 1040 };

/* Returns whether the line from here on ends with its seal. */
static bool is_sealed(const char *line)
{
	struct seal seal;
	char letters[SEAL_SIZE];
	const size_t length = strcspn(line, SEAL_LETTERS "\n");
	seal_begin(&seal, CONSOLE_KERNEL);
	for (size_t i = 0; i < length; i++)
		seal_add(&seal, line[i]);
	seal_end(&seal, letters);
	return !strncmp(line + length, letters, SEAL_SIZE) && line[length + SEAL_SIZE] == '\n';
}

/* Lines of the kernel's own on the console that begin like this. */
static unsigned lines(const char *start)
{
	char text[HOSTED_CONSOLE + 1] = { 0 };
	unsigned found = 0;
	EXPECT(machine->console_size < HOSTED_CONSOLE, true);
	for (unsigned i = 0; i < machine->console_size; i++)
		text[i] = machine->console[i];
	for (const char *at = text; (at = strstr(at, start)); at++)
		found += at > text && at[-1] == CONSOLE_KERNEL && (at - 1 == text || at[-2] == '\n') && is_sealed(at);
	return found;
}

static void fault_without_handler(struct thread *client, uint64_t times)
{
	static const uint64_t words[4] = { 0x1234, 2, 3, 4 };
	for (; times; times--) {
		EXPECT(call(CLIENT, TCB_RESUME, NONE, NONE), 0);
		simple(0, SYS_YIELD, 0);
		EXPECT(running(0), client);
		hosted_post_fault(machine, 0, FAULT_EXCEPTION, 4, words);
		settle();
		EXPECT(client->state, THREAD_INACTIVE);
	}
}

/* Of a thread that faults in a loop; each report takes a serial line some 10 ms, with the lock held. */
static void reports_of_faults_are_limited(void)
{
	enum { BURST = 8, MANY = 100 };
	struct thread *client = make_thread(CLIENT, 255, 0);
	EXPECT(call(CLIENT, TCB_SUSPEND, NONE, NONE), 0);
	hosted_advance(machine, 1000 * machine->kernel.tsc_hz); /* the boot is long ago */
	const char *line = "kernel: thread without fault handler stopped: fault", *more = "kernel: 92 more threads";
	fault_without_handler(client, 1);
	EXPECT(lines("kernel: thread without fault handler stopped: fault 1 rip 0x0000000000001234 sp "
	             "0x0000000000000002 "
	             "0x0000000000000003 0x0000000000000004"), 1);
	fault_without_handler(client, MANY - 1);
	EXPECT(lines(line), BURST);
	EXPECT(lines(more), 0);
	hosted_advance(machine, 2 * machine->kernel.slice); /* the timer may still be set for the end of a slice */
	settle();
	EXPECT(lines(more), 0);
	hosted_advance(machine, machine->kernel.tsc_hz);
	settle();
	EXPECT(lines(more), 1); /* though no other report comes */
	fault_without_handler(client, 10);
	EXPECT(lines(line), BURST + 1);
	EXPECT(lines("kernel: 9 more threads"), 0);
	hosted_advance(machine, machine->kernel.tsc_hz);
	fault_without_handler(client, 1);
	EXPECT(lines(line), BURST + 2);
	EXPECT(lines("kernel: 9 more threads"), 1);
	hosted_advance(machine, 1000 * machine->kernel.tsc_hz);
	fault_without_handler(client, 10);
	EXPECT(lines(line), BURST + 2 + BURST);
}

/* A byte that finds no room is put later: between two looks the kernel is left. */
static void nobody_waits_for_the_console_in_the_kernel(void)
{
	const uint32_t before = machine->console_size;
	struct hosted_call put = { .number = SYS_DEBUG_PUT, .cptr = ROOT_SLOT_CONTROL, .word = { 'x' } };
	machine->console_busy = 5;
	hosted_post_call(machine, 0, &put);
	for (unsigned i = 0; i < 5; i++) {
		enter_once();
		EXPECT(machine->console_size, before);
		EXPECT(running(0)->context.again, true);
	}
	enter_once();
	EXPECT(machine->console_size, before + 1);
	EXPECT(running(0)->context.again, false);
	EXPECT(result(running(0)), 0);
	EXPECT(machine->console[before], 'x');
}

/* Without the kernel's control object, whatever else a program has, no byte comes to the console. */
static void the_console_needs_the_control_object(void)
{
	const uint32_t before = machine->console_size;
	for (uint64_t cptr = 0; cptr < 256; cptr++)
		if (cptr != ROOT_SLOT_CONTROL) {
			struct hosted_call put = { .number = SYS_DEBUG_PUT, .cptr = cptr, .word = { 'x' } };
			hosted_post_call(machine, 0, &put);
			enter_once();
			EXPECT(result(running(0)), SKERRY_BAD_CAP);
			EXPECT(running(0)->context.again, false);
		}
	EXPECT(machine->console_size, before);
}

/* The byte is the low one of its word. */
static void a_copy_of_the_control_object_will_do(void)
{
	const uint32_t before = machine->console_size;
	EXPECT(call(ROOT_SLOT_CNODE, CNODE_COPY, W(COPY, ROOT_SLOT_CONTROL, 0), W(ROOT_SLOT_CNODE)), 0);
	hosted_post_call(machine, 0, &(struct hosted_call){ .number = SYS_DEBUG_PUT, .cptr = COPY,
	                                                    .word = { 0x100 | 'y' } });
	enter_once();
	EXPECT(result(running(0)), 0);
	EXPECT(machine->console_size, before + 1);
	EXPECT(machine->console[before], 'y');
}

TESTS(console) = {
	{ "reports of faults are limited", reports_of_faults_are_limited, 1 | TEST_ONCE },
	{ "nobody waits for the console in the kernel", nobody_waits_for_the_console_in_the_kernel, 1 },
	{ "the console needs the control object", the_console_needs_the_control_object, 1 },
	{ "a copy of the control object will do", a_copy_of_the_control_object_will_do, 1 },
	{ 0 },
};
