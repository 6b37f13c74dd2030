/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Touches memory that it was promised, in the way that its argument names. Exit
 * status 0: all of it was there, zeroed, and held what was written.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <skerry/errors.h>
#include <skerry/process.h>
#include <skerry/stubs.h>

#define INFO ((const struct process_info *)PROCESS_INFO_VADDR)
#define END  (PROCESS_HEAP_VADDR + INFO->heap_size)

enum { PAGE = 4096, THREADS = 4, FORGED = 200 };

static uint64_t *pages;
static size_t count; /* pages */
static pthread_barrier_t barrier;

/* The largest mapping that there is: all but what the C library has. */
static int map_all(void)
{
	for (count = INFO->heap_size / PAGE; count; count -= 16) {
		pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages != MAP_FAILED)
			return 0;
		if (count <= 16)
			break;
	}
	return 1;
}

static uint64_t *page(size_t i) { return pages + i * (PAGE / sizeof(*pages)); }

/* From the top down, the last word first: all threads touch the same step at the same time. */
static void *touch(void *number)
{
	const size_t me = (size_t)number;
	uintptr_t wrong = 0;
	for (size_t i = count; i--;) {
		if (i % 512 == 511)
			pthread_barrier_wait(&barrier);
		if (i % THREADS != me)
			continue;
		uint64_t *words = page(i);
		wrong |= words[PAGE / 8 - 1] | words[0];
		words[PAGE / 8 - 1] = words[0] = i + 1;
	}
	return (void *)wrong;
}

static int touch_all(void)
{
	pthread_t thread[THREADS];
	void *wrong;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, touch, (void *)i))
			return 1;
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_join(thread[i], &wrong) || wrong)
			return 1;
	for (size_t i = 0; i < count; i++)
		if (page(i)[0] != i + 1 || page(i)[PAGE / 8 - 1] != i + 1 || page(i)[1])
			return 1;
	return 0;
}

static int all(void)
{
	if (map_all() || munmap(pages, count * PAGE))
		return 1;
	count -= 2048; /* room for the stacks of threads */
	pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages == MAP_FAILED || touch_all();
}

/* Maps all, and touches it so much later, when others have taken what they could. */
static int late(const char *seconds)
{
	if (map_all())
		return 1;
	sleep((unsigned)atoi(seconds));
	for (size_t i = 0; i < count; i++) {
		if (page(i)[7])
			return 1;
		page(i)[7] = i;
	}
	return 0;
}

static int beyond(void)
{
	*(volatile uint64_t *)END = 1;
	return 1;
}

static int execute(void)
{
	void (*call)(void);
	const uint64_t address = END - PAGE;
	memcpy(&call, &address, sizeof(call));
	call();
	return 1;
}

/* Messages that look like the kernel's: whatever they say, only this program's own memory is mapped. */
static int forge(void)
{
	const struct process_touched *touched = (const struct process_touched *)PROCESS_TOUCHED_VADDR;
	const uint64_t unit = INFO->heap_size / PROCESS_HEAP_STEP - 1;
	for (unsigned i = 0; i < FORGED; i++) {
		struct message m = { .info = message_info(FAULT_PAGE, 0, 4), .word = { 0, 0, END - 1 - i, 2 } };
		if (i % 2 ? ipc_send(PROCESS_SLOT_FAULT, &m) : ipc_call(PROCESS_SLOT_FAULT, &m))
			return 1;
		if (!(touched->heap[unit / 64] >> unit % 64 & 1))
			return 1;
	}
	for (uint64_t at = PROCESS_STACK_TOP - PROCESS_STACK_SIZE; at < PROCESS_STACK_TOP; at += PAGE) {
		struct message m = { .info = message_info(FAULT_PAGE, 0, 4), .word = { 0, 0, at, 0 } };
		if (ipc_call(PROCESS_SLOT_FAULT, &m) || *(volatile uint64_t *)at == 1)
			return 1;
	}
	return ~touched->stack << (64 - PROCESS_STACK_SIZE / PROCESS_STACK_STEP) ? 1 : 0;
}

static int ask_for(uint64_t at)
{
	struct message m = { .info = message_info(FAULT_PAGE, 0, 4), .word = { 0, 0, at, 0 } };
	return ipc_call(PROCESS_SLOT_FAULT, &m);
}

/* Messages about memory that is there already, of the heap and of the stack, when nothing of either is left to be
 * made. */
static int again(void)
{
	const uint64_t stack = PROCESS_STACK_TOP - PROCESS_STACK_SIZE;
	for (unsigned round = 0; round < 2; round++) {
		for (uint64_t at = PROCESS_HEAP_VADDR; at < END; at += PROCESS_HEAP_STEP)
			if (*(volatile char *)at == 1 || ask_for(at))
				return 1;
		for (uint64_t at = stack; at < PROCESS_STACK_TOP; at += PROCESS_STACK_STEP)
			if (*(volatile char *)at == 1 || ask_for(at))
				return 1;
	}
	return 0;
}

/* A message that is shorter than the kernel's ends the program. */
static int cut(void)
{
	struct message m = { .info = message_info(FAULT_PAGE, 0, 1),
	                     .word = { PROCESS_HEAP_VADDR, 0, PROCESS_HEAP_VADDR } };
	ipc_call(PROCESS_SLOT_FAULT, &m);
	return 1;
}

/* What was never touched is dropped and mapped anew without being touched. */
static int drop(void)
{
	const struct process_touched *touched = (const struct process_touched *)PROCESS_TOUCHED_VADDR;
	uint64_t before = 0, after = 0;
	const size_t words = (INFO->heap_size / PROCESS_HEAP_STEP + 63) / 64;
	if (map_all())
		return 1;
	for (size_t i = 0; i < words; i++)
		before += (uint64_t)__builtin_popcountll(touched->heap[i]);
	if (madvise(pages, count * PAGE, MADV_DONTNEED) || munmap(pages, count * PAGE) || map_all())
		return 1;
	for (size_t i = 0; i < words; i++)
		after += (uint64_t)__builtin_popcountll(touched->heap[i]);
	return before != after || after > 2;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int status = !strcmp(way, "all") ? all() : !strcmp(way, "late") &&
	    argc > 2 ? late(argv[2]) : !strcmp(way, "beyond") ? beyond() :
		     !strcmp(way, "execute") ? execute() : !strcmp(way, "forge") ? forge() : !strcmp(way, "cut") ? cut()
		     :
		     !strcmp(way, "drop") ? drop() : !strcmp(way, "again") ? again() : 2;
	printf("%s: %d\n", way, status);
	return status;
}
