/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's test program. It takes the root task's place (root_info.h) and
 * tries every object and invocation from user level. A test is a function
 * declared with TEST; a check that does not hold ends it. Whatever a test makes
 * comes from one piece of untyped memory that is revoked after it, so that
 * every test also runs on memory that held the objects of others before.
 */
#pragma once

#include <stdatomic.h>
#include "bare.h"

enum { MAIN_PRIORITY = 100 }; /* of the thread that runs the tests, on core 0 */

/* What a test needs that not every machine has: it is skipped without. */
enum { NEEDS_DEVICES = 1, NEEDS_PEER = 2 };

struct test {
	const char *name;
	void (*run)(void);
	uint32_t cores;
	uint32_t needs;
};

#define TEST(id, cores, needs, name)                                                                       \
	static void test_##id(void);                                                                       \
	static const struct test entry_##id = { name, test_##id, cores, needs };                           \
	static const struct test *const pointer_##id __attribute__((section("ktest_tests"), used)) = &entry_##id; \
	static void test_##id(void)

/* Main thread only: until the condition holds; two seconds without it fail. Others run meanwhile. */
#define until(condition)                                                    \
	do {                                                                \
		uint64_t patience = deadline_ms(2000);                      \
		while (!(condition)) {                                      \
			check(!(#condition " in time" && passed(patience))); \
			pause_main();                                       \
		}                                                           \
	} while (0)
bool passed(uint64_t deadline);
void pause_main(void); /* a tenth of a millisecond; ends the test if a worker has failed */
void sleep_ms(unsigned ms);
static inline uint64_t deadline_ms(unsigned ms) { return read_tsc() + ROOT->tsc_hz / 1000 * ms; }
/* Spins until then, without the kernel. */
void spin_ms(unsigned ms);

static inline unsigned cores(void) { return ROOT->cpu_count; }
static inline unsigned last_core(void) { return cores() - 1; }

/* --- worker.c: threads --- */

struct worker {
	void (*run)(struct worker *);
	struct ipc_buffer *ipc;
	uint64_t tcb, frame;
	uint64_t arg[4];
	_Atomic uint64_t out[4];
	_Atomic uint64_t count;
	_Atomic bool done;
	unsigned index;
};

/* A thread in the main address space that will call `run`; not started. */
struct worker *worker_make(void (*run)(struct worker *), unsigned priority, unsigned core);
/* The same, started. */
struct worker *worker_start(void (*run)(struct worker *), unsigned priority, unsigned core, uint64_t arg0,
                            uint64_t arg1);
/* Sets entry and stack anew, and starts it if `resume`. */
void worker_restart(struct worker *worker, bool resume);
/* It is not ready: it waits for something, or is suspended. */
bool waits(const struct worker *worker);
void worker_fault_to(struct worker *worker, uint64_t endpoint);
void worker_init(void);
void worker_reset(void);
bool in_worker(void);
_Noreturn void worker_stop(void);

/* --- space.c: other address spaces --- */

#define FOREIGN_CODE 0x400000ull
#define FOREIGN_DATA 0x401000ull

struct space {
	uint64_t vspace, tcb;
	volatile uint64_t *data; /* its data page, as seen here */
	uint64_t data_frame;     /* as mapped there */
};

/* An address space with the code of foreign.S and a data page, and a thread in it that starts at `entry`. */
struct space space_make(const void *entry, unsigned priority, unsigned core, uint64_t arg0, uint64_t arg1);
void space_add_tables(uint64_t vspace, uint64_t address);

extern const char foreign_start[], foreign_end[], foreign_count[], foreign_store[], foreign_load[], foreign_call[],
	foreign_reply[];

/* --- peer.c: the other cluster --- */

struct meeting;
bool has_peer(void);
void peer_init(void);
enum peer_request { PEER_RING = 1, PEER_LISTEN, PEER_HEARD };
/* The other cluster does it and answers; its answer. */
uint64_t peer_ask(enum peer_request request, uint64_t argument, uint64_t argument2);
