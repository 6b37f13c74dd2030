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
#include <stdint.h>

#include <skerry/format.h>

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

bool has_msi(void); /* QEMU's `edu` device */
static inline unsigned cores(void) { return ROOT->cpu_count; }
static inline unsigned last_core(void) { return cores() - 1; }

/* --- tests.c: a gigabyte in one piece --- */

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

/* --- worker.c: a thread and its faults --- */

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

/* --- harness.c: runs all tests of the section --- */

struct tally {
	uint32_t passed, failed, skipped;
};

void harness_init(void);
/* `emit` takes each line of JSON. */
struct tally harness_run(void (*emit)(const struct text *line));

/* --- peer.c, main.c --- */

/*
 * Two clusters that both run this program meet in the memory of their channel.
 * The one with devices tests first, the other serves it; then they change
 * places, and the results of the second go through this memory to the first.
 */
enum { MEETING_RESULTS = 1 << 20 };
enum meeting_turn { TURN_FIRST = 0x6b746501, TURN_SECOND, TURN_OVER };

struct meeting {
	_Atomic uint32_t turn;
	_Atomic uint32_t asked, answered; /* numbers of the last request and answer */
	uint32_t request;
	uint64_t argument[2];
	uint64_t answer;
	struct tally second;
	uint32_t length; /* of `results` */
	char results[MEETING_RESULTS];
};

extern struct meeting *meeting;
/* Serves what the other asks until its turn is over. */
void peer_serve(enum meeting_turn turn);

/* --- homes.c: tests of calls that travel; the object's locality leaves out the caller's core (CNODE_LOCALITY) --- */

/* The objects that a scenario's threads share: on core 0 the main thread, others on the last one. */
struct homes {
	uint64_t endpoint, reply, notification, other; /* of two notifications */
	bool switches;
};

/*
 * Runs the scenario with each of the localities that matter, then with others before each homes_step(), with other
 * granularities, too. Its checks hold in every regime: without localities this makes no difference.
 */
void at_each_home(void (*scenario)(struct homes *at));
/* Between two steps of a scenario. */
void homes_step(const struct homes *at);
/* One of: all cores, the first, the last, both of these. */
uint32_t some_cores(unsigned which);
void set_home(uint64_t slot, unsigned which);
/* Before the localities count; and the kernel as it was. */
void homes_begin(void);
void homes_end(void);
uint64_t draw(void);

/* --- traffic.c: calls, waits and signals on all cores, under which a test changes the kernel's settings --- */

enum { TRAFFIC_CLIENTS = 4, TRAFFIC_OBJECTS = 2 + TRAFFIC_CLIENTS };

struct traffic {
	uint64_t slot[TRAFFIC_OBJECTS]; /* endpoint, reply object, a notification of each client */
	struct worker *server, *client[TRAFFIC_CLIENTS];
};

/* Answers each number with the next one: arg[0] is an endpoint, arg[1] a reply object. Never returns. */
void traffic_server(struct worker *self);
/*
 * Calls endpoint arg[0], and exchanges signals with itself by notification arg[1], until out[0] is set. Every fourth
 * wait has a deadline.
 */
void traffic_client(struct worker *self);
void traffic_begin(struct traffic *traffic);
/* Rounds of the client that has the fewest. */
uint64_t traffic_least(const struct traffic *traffic);
/* Ends the clients. Fails unless the server has answered each of their calls once. */
void traffic_end(struct traffic *traffic);

/* --- transfer.c: senders of capabilities, for the tests of their transfer --- */

/* A sender's system call: its number, the capabilities that it sends, and the capability that it invokes. */
struct parcel {
	uint64_t call, endpoint, cap[MESSAGE_CAPS_MAX];
	unsigned count, words;
};

extern struct parcel parcels[2];

/* Sends parcel arg[0], its own received ones to slot arg[2] of CNode arg[1]; out: error, info of the answer. */
void transfer_sender(struct worker *self);
/* A thread that does so, started on `core`: `count` of the capabilities with two words, label 0x51. */
struct worker *transfer_send(unsigned index, uint64_t call, uint64_t endpoint, unsigned core, unsigned count,
                             uint64_t a, uint64_t b, uint64_t c);
/* The main thread wants received capabilities in three new slots, the first of them; or none. */
uint64_t transfer_wanted(void);
void transfer_nothing_wanted(void);
/* The main thread receives once the sender waits; how many capabilities came. */
unsigned transfer_receive(uint64_t endpoint, struct worker *sender);
/* A receiver that waits: with this reply object, for capabilities in slots from `to` on; out: error, info, word 1. */
void transfer_receiver(struct worker *self);
struct worker *transfer_receiver_start(uint64_t endpoint, uint64_t reply, uint64_t to, unsigned core);
/* Signalling `cap` sets `expected` in the notification. */
void check_signals(uint64_t cap, uint64_t notification, uint64_t expected);

/* --- pci.c --- */

/* PCI's configuration space by I/O ports, and QEMU's `edu` device, which interrupts whenever it is told to. */
enum { PCI_COMMAND = 4, PCI_BAR0 = 16, PCI_CAPABILITIES = 52, PCI_CAPABILITY_MSI = 5 };
enum { EDU_ID = 0x11e81234, EDU_LIVENESS = 4, EDU_RAISE = 0x60, EDU_ACKNOWLEDGE = 0x64 };
/* Its DMA, from memory into its buffer; with EDU_DMA_START it interrupts when that is done, after 99 to 100 ms. */
enum { EDU_DMA_FROM = 0x80, EDU_DMA_TO = 0x88, EDU_DMA_BYTES = 0x90, EDU_DMA_COMMAND = 0x98 };
enum { EDU_BUFFER = 0x40000, EDU_DMA_START = 5, EDU_DMA_DONE = 0x100 };

/* `device` is its number on bus 0. */
uint32_t pci_read(unsigned device, unsigned offset);
void pci_write(unsigned device, unsigned offset, uint32_t value);
/* The number of the first one with these vendor and device ids, -1 if there is none. */
int pci_find(uint32_t id);
/* Where its capability of this kind is, 0 if it has none. */
unsigned pci_capability(unsigned device, unsigned kind);
/* A frame of the page of device memory at this physical address; 0 if there is none. */
uint64_t device_frame(uint64_t address);
