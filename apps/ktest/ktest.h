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

/* A test's needs that not every machine meets: it is skipped without. */
enum { NEEDS_DEVICES = 1, NEEDS_PEER = 2, NEEDS_GIGABYTE = 4, NEEDS_MSI = 8,
       NEEDS_PROCESSOR = 16 /* instructions, address spaces or counters of the machine: not in the hosted port */,
       NEEDS_NEIGHBOUR = 32 /* another cluster, to and from which memory moves */ };

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

/* --- tests.c --- */

void tests_init(void);
void tests_reset(void);
/* Returns whether the machine has what the test needs. */
bool test_possible(const struct test *test);
/* Returns whether the kernel has this lock regime, whatever it counts or checks. */
bool kernel_is(const char *regime);

/* --- what each port has (harness.c, firmware.c, hosted/port.c) --- */

void test_pause(void); /* ends the test if a worker has failed */
/* The test makes progress, or polls with a timeout: the watchdog waits a minute for the next call. */
void test_progress(void);
bool has_processor(void);
/* Returns whether the clock counts instructions: of the emulator, if the test that boots it says so
 * (tests/boot/test_ktest.py). */
bool clock_counts_instructions(void);

/* The checks of bare.h, in a worker, too: the test then fails and the worker stops. */

/*
 * Time never decides a test: the host may stop a core at any instruction, for seconds. What must happen is waited for
 * with timeout: it is over when thirty seconds have passed in which this thread looked ever so often. An order is
 * checked by what the tests count, and a clock's reading only against what the kernel's own clock enforces.
 */
struct timeout {
	uint64_t deadline;
	unsigned looks;
};
enum { LOOKS = 20000 }; /* a core that the host stops looks once meanwhile */
static inline struct timeout timeout_begin(void);
/* One look more. */
bool timeout_over(struct timeout *timeout);

/* Main thread only: until the condition holds, or the time is out. Others run meanwhile. */
#define until(condition)                                                              \
	do {                                                                          \
		struct timeout timeout = timeout_begin();                          \
		while (!(condition)) {                                                \
			check(!(#condition " in time" && timeout_over(&timeout))); \
			pause_main();                                                 \
		}                                                                     \
		test_progress();                                                      \
	} while (0)
bool passed(uint64_t deadline);
void pause_main(void); /* a tenth of a millisecond; ends the test if a worker has failed */
void sleep_ms(unsigned ms);
static inline uint64_t deadline_ms(unsigned ms) { return read_tsc() + ROOT->tsc_hz / 1000 * ms; }
static inline struct timeout timeout_begin(void) { return (struct timeout){ deadline_ms(30000), 0 }; }
/* In a loop that waits without the kernel: others get on. */
static inline void pause_turn(void)
{
	__builtin_ia32_pause();
	program_turn();
}
/* Spins until then, without the kernel. */
void spin_ms(unsigned ms);

bool has_msi(void); /* QEMU's `edu` device (pci.h) */
static inline unsigned cores(void) { return ROOT->cpu_count; }
static inline unsigned last_core(void) { return cores() - 1; }

/* --- gigabyte.c --- */

/* Untyped memory of 1 GiB, beside what test_memory() gives; 0 where there is none. */
uint64_t gigabyte_memory(void);
static inline bool has_gigabyte(void) { return gigabyte_memory() != 0; }
void gigabyte_init(void);
/* Between tests, as memory_reset(). */
void gigabyte_reset(void);

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
/* For them to run: counts for ever. */
void spinner(struct worker *self);
/* Where a thread's RIP may be that does nothing but keep its registers. */
void program_stay(void);
/* Sets entry and stack anew, and starts it if `resume`. */
void worker_restart(struct worker *worker, bool resume);
/* It is not ready: it waits for something, or is suspended. */
bool waits(const struct worker *worker);
void worker_fault_to(struct worker *worker, uint64_t endpoint);
/* Ends all of them: a test that needs many takes them a few at a time. */
void workers_drop(void);
void worker_init(void);
void worker_reset(void);
bool in_worker(void);
_Noreturn void worker_stop(void);

/* --- test-deadline.c --- */

/* Deadlines of a thread on that core are met while the main thread, on another, calls `interrupt` without a pause. */
void check_deadlines_met(unsigned core, void (*interrupt)(void));

/* --- trial.c: a thread whose faults are looked at --- */

struct trial {
	uint64_t endpoint, reply;
	struct worker *worker;
};

enum { TRIAL_BADGE = 0xfa };

/* A worker whose fault handler is the main thread; not started. */
struct trial trial_make(void (*run)(struct worker *), unsigned priority, unsigned core);
/* Its next fault, which must come; it is to be answered. */
struct message trial_fault(const struct trial *trial);
/* The same, or false once the worker is done. */
bool trial_faults(const struct trial *trial, struct message *fault);
/* Starts it with these registers and ends it by its first fault, which must come; it is suspended then. */
struct message trial_run(const struct trial *trial, const struct thread_registers *registers);
/* 0: it goes on where it was. */
void trial_answer(const struct trial *trial, uint64_t label);

/* --- registers.S: a system call, and what it does to the registers --- */

struct registers {
	uint64_t rax, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15;
	uint64_t rflags; /* set are those flags a program may change */
};

/* SYSCALL with these registers, which are then as it left them. */
void system_call_raw(struct registers *registers);
extern const uint8_t system_call_raw_site[]; /* its SYSCALL instruction, of two bytes; not in the hosted port */

/* --- random.c --- */

/* xorshift; *seed is not 0. */
uint64_t random_next(uint64_t *seed);

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
enum peer_request { PEER_RING = 1, PEER_LISTEN, PEER_RECEIVED, PEER_TAKE, PEER_GIVE };
/* The other cluster does it and answers; its answer. */
uint64_t peer_ask(enum peer_request request, uint64_t argument, uint64_t argument2);
