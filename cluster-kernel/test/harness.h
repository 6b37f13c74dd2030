/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests of kernel objects. Each test has a fresh machine whose root task
 * runs on core 0; kernel_check() runs after each step. All threads share the
 * root task's capability and address space, so a capability pointer is a slot.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/root_info.h>
#include "hosted.h"

extern struct hosted *machine;

enum { U = ROOT_SLOT_UNTYPED, CNODE = ROOT_SLOT_CNODE, VSPACE = ROOT_SLOT_VSPACE };

/* A list of words or capability pointers as two arguments: pointer and count. */
#define W(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8
#define NONE   0, 0

/*
 * The current thread of `core` makes a system call; what it finds in RAX, at
 * once or (for a call that waits) so far. words beyond the fourth and
 * capability pointers go through its IPC buffer.
 */
uint64_t syscall_on(unsigned core, unsigned number, uint64_t cptr, uint64_t label, const uint64_t *words,
                    unsigned word_count, const uint64_t *caps, unsigned cap_count, uint64_t reply);
/* Call on core 0, an invocation. */
uint64_t call(uint64_t cptr, uint64_t label, const uint64_t *words, unsigned word_count, const uint64_t *caps,
              unsigned cap_count);
/* A system call without message. */
uint64_t simple(unsigned core, unsigned number, uint64_t cptr);

/* Makes `count` objects in the root CNode, from slot `slot`. */
void make(uint64_t object, uint64_t size_bits, uint64_t slot, uint64_t count);
/* A copy in `to` with these rights; `badge` 0: copy, else mint. */
void copy(uint64_t to, uint64_t from, uint64_t rights, uint64_t badge);
void delete(uint64_t slot);
void revoke(uint64_t slot);
const struct slot *slot_of(uint64_t slot);

/* A thread in `slot` (its IPC buffer's frame in slot + 1), running. */
struct thread *make_thread(uint64_t slot, unsigned priority, unsigned core);
struct thread *running(unsigned core); /* null when the core idles */
/* Lets everything run, then checks. */
/* Returns whether the kernel's granularity changes between steps, which interrupts all cores. */
bool is_changing(void);
void settle(void);
/*
 * Orders it of the machine's kernel, which must have the choice, as core 0 and outside of the kernel, and interrupts
 * the cores. Returns whether the kernel still changes: that ends when the cores have run.
 */
bool order_granularity(enum granularity wanted);
/*
 * From now on settle() checks after each `number` of steps: for a test that makes thousands of like objects, where a
 * check of all of them after each takes most of its time. 1, as at the start of each test, checks at once, too.
 */
void check_every(unsigned number);
/* One kernel entry of a machine of one core, which has something to do: an interrupt, or what was posted. */
void enter_once(void);
void root_priority(unsigned priority);
uint64_t result(const struct thread *thread);
uint64_t badge(const struct thread *thread);
uint64_t word(const struct thread *thread, unsigned index);

_Noreturn void expect_failed(const char *file, int line, const char *expression, uint64_t got, uint64_t expected);
#define EXPECT(got, expected)                                                                  \
	do {                                                                                   \
		uint64_t got_ = (uint64_t)(got), expected_ = (uint64_t)(expected);             \
		if (got_ != expected_)                                                         \
			expect_failed(__FILE__, __LINE__, #got, got_, expected_);              \
	} while (0)

/* Not in many interleavings. */
enum { TEST_ONCE = 1 << 16 };

struct test {
	const char *name;
	void (*run)(void);
	unsigned cores; /* not run where the regime is for fewer; with TEST_ONCE where it is long */
};

struct test_file {
	const char *name; /* test-some-name.c is "some_name" */
	const struct test *tests;
};
/* A file's tests, ended by a null name; main() of harness.c runs those of the file that it is told. */
#define TESTS(file)                                                                            \
	extern const struct test tests_##file[];                                               \
	static const struct test_file file_##file __attribute__((section("test_files"), used)) = \
		{ #file, tests_##file };                                                       \
	const struct test tests_##file[]

/* Returns the standard error of a child process that does `mistake` as core 0 of the machine; abort() must end it. */
void last_words(void (*mistake)(void), char *text, size_t size);

/* A call that stops at a preemption point, since a thread of higher priority is woken meanwhile. On core 0. */

enum { STOPPED_WORKER = 1010, STOPPED_NOTE = 1030 }; /* slots; all below 1040 are taken */

extern struct thread *stopped_high, *stopped_worker;

/* From now on `stopped_high` runs; when it waits, the worker does. */
void stopped_begin(void);
/* `stopped_high` waits until then; 0: for a signal. */
void stopped_wait(uint64_t deadline);
/* The worker makes a call in which it is interrupted after `budgets`, roughly: `stopped_high` runs. */
void stopped_call(unsigned budgets, uint64_t cptr, uint64_t label, const uint64_t *words, unsigned word_count,
                  const uint64_t *caps, unsigned cap_count);
/* The call goes on and ends with this result; then `stopped_high` runs once more. */
void stopped_finish(uint64_t expected);
