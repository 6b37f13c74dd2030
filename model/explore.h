/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every execution of a small concurrent case, over source that is compiled as
 * it ships. The compiler's thread-sanitizer instrumentation (-fsanitize=thread,
 * without its library) calls us at each memory access (hooks.c):
 *
 *     atomics.c    atomic accesses behave as C11 allows (RC11)
 *     plain.c      other accesses must be ordered: a data race is a failure;
 *                  what was written is undone between executions
 *     explore.c    depth first over all schedules and all values a load may see
 *
 * A case's source is compiled with the instrumentation, too, and with
 * explore-libc.h in front of it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { EXPLORE_THREADS = 6 };

struct fiber;

struct explore_case {
	const char *name;
	unsigned threads;
	void (*thread)(unsigned self); /* what each thread does */
	/* Once, around all executions; null: nothing. */
	void (*set_up)(void);
	void (*tear_down)(void);
	/* Before and after each execution, alone; null: nothing. All writes to memory are undone after it. */
	void (*begin)(void);
	void (*end)(void);
	void (*resume)(unsigned self); /* before a thread goes on; null: nothing */
	/* bits of those below 64 that the executions must have, and no other; 0: any (explore_outcome()) */
	uint64_t outcomes;
};

/* Runs the cases whose names contain argv[1] and says what was seen; main() of each program. */
int explore_main(int argc, char **argv, const struct explore_case *cases);

/*
 * The calling thread dies before its `step`-th atomic access from now on: `die` is called in its place and does not
 * return. 0: it lives.
 */
void explore_die_at(unsigned step, void (*die)(void));

/* For the case's source. */
unsigned explore_self(void);
/* One turn of a waiting loop: the thread goes on when something that it read since the last turn has been written. */
void explore_relax(void);
/* The execution is wrong: shown step by step. */
_Noreturn void explore_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define EXPLORE_CHECK(condition, ...) ((condition) ? (void)0 : explore_fail(__VA_ARGS__))
/* How an object is called in what is shown. */
void explore_name(const void *object, uint64_t size, const char *name);
/* The model of a machine's hardware: no accesses that could race or be late, though undone as all others. */
void explore_hardware(const void *memory, uint64_t size);
/* What this thread touches until it says otherwise, it touches as hardware does. */
void explore_as_hardware(bool on);
/* False before the first execution and after the last, and in none. */
bool explore_running(void);
/* An outcome of the execution, for cases that ask for all that can happen. */
void explore_outcome(uint64_t outcome);

/*
 * An interrupt line of a core. Raising it publishes what has left the core's
 * store buffer, that is, what it wrote before its last read-modify-write.
 * explore_rest() waits, as a thread that is done, until `ready` says so.
 */
struct explore_line {
	uint8_t level;
};
void explore_raise(struct explore_line *line);
void explore_rest(struct explore_line *line, bool (*ready)(void *argument), void *argument);
