/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of fork() and of the writes behind it, for `skerry bench fork`: ticks of the TSC, which are instructions
 * where the emulator counts them. The same program runs on Skerry and on Linux.
 *
 *     forkcost MIB [restart]
 *
 * A process that has written MIB mebibytes of its heap forks; its child waits until the parent has written, and ends.
 * Each figure is the median of ROUNDS. The last fork stands between the marks 1 and 2 (skerry/mark.h). `restart`: the
 * program is Linux's first process, and ends the machine.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>
#include <skerry/mark.h>

enum { STEP = 2 << 20, PAGE = 4096, ROUNDS = 9, DATA_PAGES = 2 * ROUNDS, MOST_MIB = 1 << 20 };
enum figure { FORK, CHILD, COPY_2M, COPY_4K, REGAIN, FIGURES };

/* fork: until the parent goes on; child: until both have. A write of a byte: to a step of the heap that is shared, to
 * a page of the program's data; to each step, as a mean, when the child that shared them has ended. */
static const char *const names[FIGURES] = { "fork", "child", "copy-2m", "copy-4k", "regain" };
static uint64_t figures[FIGURES][ROUNDS];
static volatile char data[DATA_PAGES * PAGE];

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static inline uint64_t now(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t write_to(volatile char *at)
{
	const uint64_t start = now();

	*at = (char)(*at + 1);
	return now() - start;
}

/* Sends when it began, and ends when `go` is closed. */
static _Noreturn void be_child(uint64_t began, const int go[2], const int ready[2])
{
	char byte;

	close(go[1]);
	if (write(ready[1], &began, sizeof(began)) != sizeof(began))
		_exit(2);
	_exit(read(go[0], &byte, 1) != 0);
}

static void fork_once(int round, volatile char *heap, size_t size)
{
	int go[2], ready[2], status;
	uint64_t began;

	if (pipe(go) || pipe(ready))
		fail("pipe");
	if (round == ROUNDS - 1)
		MARK(1);
	const uint64_t start = now();
	const pid_t pid = fork();
	const uint64_t end = now();
	if (pid == 0)
		be_child(end, go, ready);
	if (round == ROUNDS - 1)
		MARK(2);
	if (pid < 0)
		fail("fork");
	figures[FORK][round] = end - start;
	if (read(ready[0], &began, sizeof(began)) != sizeof(began))
		fail("read");
	figures[CHILD][round] = (began > end ? began : end) - start;
	figures[COPY_2M][round] = write_to(heap + (size_t)(2 * round) * STEP);
	figures[COPY_4K][round] = write_to(data + (size_t)(2 * round) * PAGE);
	close(go[0]);
	close(go[1]);
	close(ready[0]);
	close(ready[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		fail("waitpid");
	const uint64_t again = now();
	for (size_t at = 0; at < size; at += STEP)
		heap[at]++;
	figures[REGAIN][round] = (now() - again) / (size / STEP);
}

int main(int count, char **arguments)
{
	const unsigned long mib = count > 1 ? strtoul(arguments[1], 0, 10) : 0;
	const size_t size = (size_t)mib << 20;

	if (mib > MOST_MIB || size < (size_t)(2 * ROUNDS + 1) * STEP) {
		fprintf(stderr, "forkcost: '%s' is no number of MiB from %d to %d\n", count > 1 ? arguments[1] : "",
		        (2 * ROUNDS + 1) * (STEP >> 20), MOST_MIB);
		return 1;
	}
	volatile char *heap = mmap(0, size + STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		fail("mmap");
	heap += -(uintptr_t)heap % STEP;
	for (size_t at = 0; at < size; at += PAGE)
		heap[at] = 1;
	for (size_t at = 0; at < sizeof(data); at += PAGE)
		data[at] = 1;
	for (int round = 0; round < ROUNDS; round++)
		fork_once(round, heap, size);
	for (int which = 0; which < FIGURES; which++) {
		qsort(figures[which], ROUNDS, sizeof(figures[which][0]), compare);
		printf("skerry-metric: %s %llu instructions better=lower\n", names[which],
		       (unsigned long long)figures[which][ROUNDS / 2]);
	}
	fflush(stdout);
	if (count > 2)
		reboot(RB_AUTOBOOT);
	return 0;
}
