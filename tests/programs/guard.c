/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protects pages and touches them, in the way that its argument names. Most ways end in a fault, which a test reads;
 * the others end with exit status 0 when all was as it should be.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <skerry/bell.h>
#include <skerry/errors.h>
#include <skerry/page_rights.h>
#include <skerry/process.h>
#include <skerry/stubs.h>

#define INFO ((const struct process_info *)PROCESS_INFO_VADDR)

enum { PAGE = 4096, STEP = PROCESS_HEAP_STEP, RW = PROT_READ | PROT_WRITE, THREADS = 60, CALLS = 20 };

static char *map(size_t size, int prot) { return mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static void write_to(volatile char *at) { *at = 1; }
static char read_from(const volatile char *at) { return *at; }

/* Where the next fault is expected: the test compares. */
static void expect(const void *at)
{
	printf("expected at 0x%lx\n", (unsigned long)at);
	fflush(stdout);
}

static __attribute__((noinline)) uint64_t stack_from(uint64_t depth)
{
	volatile char frame[1000];
	frame[0] = (char)depth;
	return stack_from(depth + 1) + (uint64_t)frame[0];
}

static void *overflow(void *unused)
{
	(void)unused;
	return (void *)stack_from(0);
}

static void *rest(void *unused)
{
	volatile char frame[PAGE] = { 0 };
	(void)unused;
	sleep(1000);
	return (void *)(uintptr_t)frame[0];
}

/* Between two other threads' stacks. */
static int thread(void)
{
	pthread_t t[3];
	pthread_attr_t attr;
	if (pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 256 * 1024))
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], &attr, i == 1 ? overflow : rest, NULL))
			return 1;
	sleep(1000);
	return 1;
}

static int first(void) { return (int)stack_from(0); }

static int read_only(void)
{
	char *p = map(4 * PAGE, RW);
	memset(p, 'x', 4 * PAGE);
	if (mprotect(p + PAGE, PAGE, PROT_READ) || read_from(p + PAGE) != 'x')
		return 1;
	write_to(p + 2 * PAGE);
	write_to(p);
	expect(p + PAGE);
	write_to(p + PAGE);
	return 1;
}

static int none(void)
{
	char *p = map(4 * PAGE, RW);
	memset(p, 'x', 4 * PAGE);
	if (mprotect(p + PAGE, PAGE, PROT_NONE) || read_from(p) != 'x' || read_from(p + 2 * PAGE) != 'x')
		return 1;
	if (mprotect(p + PAGE, PAGE, RW) || read_from(p + PAGE) != 'x' || mprotect(p + PAGE, PAGE, PROT_NONE))
		return 1;
	expect(p + PAGE + 5);
	return read_from(p + PAGE + 5) + 1;
}

static int reserved(void)
{
	char *p = map(3 * STEP, PROT_NONE);
	expect(p + STEP);
	write_to(p + STEP);
	return 1;
}

/* A write to what nobody has touched yet and may only be read. */
static int untouched(void)
{
	char *p = map(3 * STEP, PROT_READ);
	if (read_from(p + 2 * STEP) != 0)
		return 1;
	expect(p + STEP);
	write_to(p + STEP);
	return 1;
}

/* Of the first thread's stack a page that is not in use yet, and one that was. */
static int in_stack(void)
{
	char *low = (char *)(PROCESS_STACK_TOP - PROCESS_STACK_SIZE) + 5 * PAGE;
	write_to(low);
	if (mprotect(low, PAGE, PROT_READ) || read_from(low) != 1 || mprotect(low - PAGE, PAGE, PROT_NONE))
		return 1;
	write_to(low + PAGE);
	write_to(low - 2 * PAGE);
	expect(low);
	write_to(low);
	return 1;
}

/* Code that is written, then executed, never both. */
static int code(void)
{
	static const unsigned char answer[] = { 0xb8, 42, 0, 0, 0, 0xc3 }; /* mov $42, %eax; ret */
	char *p = map(2 * PAGE, RW);
	int (*call)(void);
	memcpy(p, answer, sizeof(answer));
	memcpy(&call, &p, sizeof(call));
	if (mprotect(p, PAGE, PROT_READ | PROT_EXEC) || call() != 42 || mprotect(p, PAGE, RW))
		return 1;
	expect(p);
	return call();
}

/* The bell words (skerry/bell.h) are its own, which it may write, and the switch's. */
static int bell(void)
{
	struct bell *own = bell_at(PROCESS_BELL_OWN), *of_switch = bell_at(PROCESS_BELL_PORT);
	bell_arm(own);
	bell_awake(own);
	if (own->sleeps % 2 || !own->sleeps)
		return 1;
	printf("number %lu of the switch\n", of_switch->sleeps);
	expect((char *)of_switch);
	bell_arm(of_switch);
	return 1;
}

static uint64_t ask(uint64_t address, uint64_t size, uint64_t rights, uint64_t *done)
{
	struct message m = { .info = message_info(MANAGER_PROTECT, 0, 3), .word = { address, size, rights } };
	int error = ipc_call(PROCESS_SLOT_MANAGER, &m);
	*done = m.word[0];
	return error ? (uint64_t)-error : message_label(m.info);
}

static uint64_t refusal(uint64_t address, uint64_t size, uint64_t rights)
{
	uint64_t done;
	return ask(address, size, rights, &done);
}

/* What the layer below libc keeps there goes, too: the program ends, and nothing else. */
static int layer(void)
{
	uint64_t done;
	for (uint64_t at = 0; at < INFO->heap_size; at += done)
		if (ask(PROCESS_HEAP_VADDR + at, INFO->heap_size - at, 0, &done) || !done || done % PAGE)
			return 1;
	printf("not reached\n");
	return 1;
}

static int arguments(void)
{
	const uint64_t heap = PROCESS_HEAP_VADDR, end = heap + INFO->heap_size, all = RIGHT_READ | RIGHT_WRITE;
	const uint64_t stack = PROCESS_STACK_TOP - PROCESS_STACK_SIZE;
	struct message cut = { .info = message_info(MANAGER_PROTECT, 0, 2), .word = { end - PAGE, PAGE } };
	const uint64_t bad[][2] = {
		{ heap + 1, PAGE }, { heap, PAGE + 1 }, { heap, 0 }, { heap - PAGE, PAGE }, { heap - PAGE, 2 * PAGE },
		{ end, PAGE },
		{ end - PAGE, 2 * PAGE }, { heap, -heap }, { heap, ~0ull & -(uint64_t)PAGE }, { -(uint64_t)PAGE, PAGE },
		{ -(uint64_t)PAGE, 2 * PAGE },
		{ 0, PAGE }, { 0, -(uint64_t)PAGE }, { heap, 1ull << 63 }, { heap, (1ull << 44) + PAGE },
		{ PROCESS_INFO_VADDR, PAGE }, { PROCESS_TOUCHED_VADDR, PAGE }, { PROCESS_IPC_VADDR, PAGE },
		{ stack - PAGE, PAGE }, { stack - PAGE, 2 * PAGE }, { PROCESS_STACK_TOP, PAGE },
		{ PROCESS_STACK_TOP - PAGE, 2 * PAGE }, { (uint64_t)(uintptr_t)arguments & -(uint64_t)PAGE, PAGE },
		{ end, stack - end },
	};
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (refusal(bad[i][0], bad[i][1], all) != SKERRY_BAD_ARGUMENT) {
			printf("range %u was not refused\n", i);
			return 1;
		}
	for (uint64_t rights = 0; rights < 64; rights++)
		if (rights != 0 && rights != RIGHT_READ && rights != all && rights != (RIGHT_READ | RIGHT_EXECUTE) &&
		    (refusal(end - PAGE, PAGE, rights) != SKERRY_NO_RIGHTS ||
		     refusal(end - PAGE, PAGE, rights << 32 | RIGHT_READ) != SKERRY_NO_RIGHTS))
			return 1;
	return ipc_call(PROCESS_SLOT_MANAGER, &cut) || message_label(cut.info) != SKERRY_TRUNCATED;
}

static char *field;
enum { FIELD = 8 * STEP };

/* Each has pages of its own, and all ask at once; what is refused for want of ranges changes nothing. */
static void *hammer(void *number)
{
	const size_t me = (size_t)number;
	uint32_t random = (uint32_t)me * 2654435761u + 1;
	uintptr_t wrong = 0;
	for (unsigned i = 0; i < CALLS; i++) {
		random = random * 1664525 + 1013904223;
		char *p = field + ((random >> 8) % (FIELD / PAGE / 64) * 64 + me) * PAGE;
		const bool fresh = read_from(p) == 0;
		write_to(p);
		if (mprotect(p, PAGE, random & 0x80 ? PROT_NONE : PROT_READ)) {
			wrong |= errno != ENOMEM;
			write_to(p);
			continue;
		}
		if (!(random & 0x80))
			wrong |= read_from(p) != 1;
		while (mprotect(p, PAGE, RW)) /* in the middle of a range, it takes one more */
			usleep(1000);
		wrong |= read_from(p) != 1 || (!fresh && read_from(p + 1));
		write_to(p);
	}
	return (void *)wrong;
}

static int storm(void)
{
	pthread_t t[THREADS];
	void *wrong;
	int made = 0, status = 0;
	pthread_attr_t attr;
	field = map(FIELD, RW);
	if (field == MAP_FAILED || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 16 * 1024))
		return 1;
	for (; made < THREADS && !pthread_create(&t[made], &attr, hammer, (void *)(size_t)made); made++) {}
	for (int i = 0; i < made; i++)
		status |= pthread_join(t[i], &wrong) || wrong;
	return status || made < THREADS;
}

/* More split steps than there may be: refused, and what is split stays of use. */
static int splits(void)
{
	const size_t steps = PROCESS_SPLITS + 6;
	char *p = map(steps * STEP, RW);
	size_t made = 0;
	while (made < steps && !mprotect(p + made * STEP + PAGE, PAGE, PROT_READ))
		made++;
	if (p == MAP_FAILED || made >= steps || made < PROCESS_SPLITS - 4 || errno != ENOMEM)
		return 1;
	for (size_t i = 0; i < steps; i++)
		write_to(p + i * STEP);
	if (mprotect(p, steps * STEP, RW))
		return 1;
	for (size_t i = 0; i < steps; i++) {
		if (read_from(p + i * STEP) != 1 || read_from(p + i * STEP + PAGE))
			return 1;
		write_to(p + i * STEP + PAGE);
	}
	return munmap(p, steps * STEP);
}

static const struct {
	const char *name;
	int (*run)(void);
} ways[] = {
	{ "thread", thread }, { "first", first }, { "read-only", read_only }, { "none", none },
	{ "reserved", reserved },
	{ "untouched", untouched }, { "in-stack", in_stack }, { "code", code }, { "layer", layer }, { "bell", bell },
	{ "arguments", arguments },
	{ "storm", storm }, { "splits", splits },
};

int main(int argc, char **argv)
{
	int status = 2;
	for (unsigned i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			status = ways[i].run();
	printf("ended with %d\n", status);
	return status;
}
