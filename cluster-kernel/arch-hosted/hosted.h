/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines in a process: each has its own kernel instance, cores, memory,
 * clock and console. There are no programs; the user of a machine says which
 * system calls the current thread of a core makes and which interrupts arrive.
 *
 * The cores of a machine are contexts of one thread. They change over only at
 * marked places (before and after the lock, wherever a core waits), in an order
 * drawn from the machine's seed, so that every run can be repeated. Or each is a
 * thread of the host, and they really meet in the kernel; interrupts then arrive
 * where the core is outside the kernel.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "core_state.h"
#include "kernel.h"

struct hosted_config {
	unsigned cluster; /* < ARENA_CLUSTERS, of no other machine alive */
	unsigned cores;
	uint64_t memory;  /* bytes, below 128 MiB; 0: 16 MiB */
	uint64_t seed;
	bool threads;     /* cores are threads of the host */
	bool tsc;         /* of threads: time is the host's time-stamp counter, and no core dawdles to meet others */
	bool pinned;      /* of threads: each has a processor of the host to itself, and keeps it while it waits */
	/* not checked: whether each interrupt from core to core changes something (interrupts.c) */
	bool any_interrupts;
	unsigned gsis;    /* pins of the interrupt controller; 0: none, and no devices */
	unsigned beat_ms; /* between beats of a core, in the machine's ledger; 0: it has none */
	unsigned channel_count;
	const struct hosted_link *channel;
	unsigned controlled_count;
	uint64_t absent;  /* a bit for each of `cores` that is not there when the kernel starts */
	unsigned foreign_count;
	const struct hosted_foreign *foreign; /* which cores of other clusters these are; with `controlled` only */
	const struct hosted_controlled *controlled; /* other clusters that it may fence and start again */
	/* Which of `count` cores goes on next; null: a generator seeded with `seed`. */
	unsigned (*choose)(void *argument, unsigned count);
	void *choose_argument;
	/*
	 * What the programs do. Asked, where nothing is posted, each time a core leaves the kernel to its current
	 * thread: posts what that thread does next and returns true; or false, and is asked again when something
	 * has arrived at the core. Cores that are threads ask at the same time.
	 */
	bool (*program)(void *argument, struct hosted *machine, unsigned core);
	void *program_argument;
};

/* One end of a channel. */
struct hosted_link {
	unsigned id;         /* < HOSTED_CHANNELS, of no other channel between machines alive */
	unsigned side;       /* 0 or 1; side 0 is to be created first */
	unsigned peer;       /* cluster */
	unsigned peer_cores;
	bool remote;         /* no interrupts pass between the two */
};
enum { HOSTED_CHANNELS = 16 };
_Static_assert((int)HOSTED_CORES <= (int)CORES_MAX, "of any build");

/* A cluster that need not exist: what is known of it are its cores, which come to the loader as soon as they are sent
 * there. */
struct hosted_controlled {
	unsigned cluster, cores;
	unsigned boot_core; /* its core that is the boot processor, counted from 1; 0: none */
};
/* Core `index` is that core of the machine: HOSTED_CORES for each cluster, in order. */
struct hosted_foreign {
	unsigned index, cpu;
};
/* The address in boot_info of a list that is anywhere in the process. */
uint64_t hosted_list(const struct boot_core *list);
/* Its word; all machines share it. The loader's part is done by the core itself, as soon as the machines run. */
struct core_control *hosted_core_control(unsigned cpu);
/* Which cluster has which memory, as the loader would have it; all machines that control others share it. */
struct memory_control *hosted_memory_control(void);
uint64_t hosted_memory_size(void); /* as in boot_info */
/* Its words, which all machines share; it lives its first life, in none before a machine that controls others is
 * created. */
struct cluster_control *hosted_control(unsigned cluster);
/* The cores of its machine that are sent to the loader do not arrive, or do again. */
void hosted_lose_starts(unsigned cluster, bool lose);

struct hosted {
	struct kernel kernel;
	struct boot_info info;
	struct hosted_cores {
		struct boot_core own[HOSTED_CORES], of[BOOT_MAX_CLUSTERS][HOSTED_CORES]; /* by cluster */
	} cores; /* lists of boot_info */
	struct hosted_config config;
	_Atomic uint64_t time; /* grows by one with every reading */
	bool slow_wait; /* SIGNAL_WAIT takes no fast path, as on processors without WRGSBASE */
	uint64_t tsc_start;
	struct hosted_threads *threads; /* while they run */
	uint64_t random;
	bool checks_interrupts;
	uint64_t entered; /* entries that its cores have begun */
	struct thread *root;     /* the root task's thread and CNode, as boot made them */
	struct slot *root_cnode;
	struct hosted_core core[HOSTED_CORES];
	struct hosted_pin {
		uint32_t core;
		unsigned number;
		bool routed, masked, raised;
	} pin[HOSTED_PINS];
	pthread_mutex_t pins;
	_Atomic uint64_t fenced; /* cores of other clusters that this one has reset */
	/* so often memory was taken out of the direct map; a core's TLB may hold it until it flushes */
	_Atomic uint32_t direct_losses;
	_Atomic uint8_t port[65536 + 3]; /* what was last written to each I/O port */
	_Atomic char console[HOSTED_CONSOLE];
	_Atomic uint32_t console_busy; /* so often it is found without room */
	_Atomic uint32_t console_size; /* all that was ever written; the buffer holds the last of it */
};

/* Boots; the root task is current on core 0 then, with everything in its hands that boot.c gives it. */
struct hosted *hosted_create(const struct hosted_config *config);
void hosted_destroy(struct hosted *machine);

/* The registers of a system call (skerry/syscall.h). */
struct hosted_call {
	uint64_t number, cptr, info, word[MESSAGE_REGISTERS], reply;
};

/* The core's current thread makes a system call as soon as the core runs; there must be one, and nothing posted. */
void hosted_post_call(struct hosted *machine, unsigned core, const struct hosted_call *call);
/* The root task, which is current on core 0, invokes an object with three capabilities. Returns the result when all
 * cores have run. */
uint64_t hosted_root_invokes(struct hosted *machine, uint64_t cptr, uint64_t label, const uint64_t caps[3],
                             unsigned count, const uint64_t *words);
/* Its current thread raises a fault. */
void hosted_post_fault(struct hosted *machine, unsigned core, unsigned fault, unsigned count, const uint64_t *words);
/* Its current thread executes a breakpoint: a FAULT_EXCEPTION whose RIP is behind the instruction. */
void hosted_post_trap(struct hosted *machine, unsigned core);
/* Interrupts; they arrive when the core next has interrupts on, before anything posted. */
void hosted_raise_pin(struct hosted *machine, unsigned gsi);
void hosted_write_msi(struct hosted *machine, uint64_t address, uint64_t data);
uint64_t hosted_now(const struct hosted *machine);
/* Lets the clock advance; timers that are due then interrupt. */
void hosted_advance(struct hosted *machine, uint64_t cycles);

/*
 * Lets the cores run until none has anything left to do. What was posted is
 * dropped where its thread is not current any more when its turn comes (it was
 * preempted): then hosted_done() is false.
 */
void hosted_run(struct hosted *machine);
/* The same for several machines that ring each other. */
void hosted_run_all(struct hosted *const *machines, unsigned count);
bool hosted_done(const struct hosted *machine, unsigned core);

/*
 * A program on this core uses an address: the translation is remembered as a
 * TLB would. Returns the entry used, 0 when nothing is mapped there.
 */
uint64_t hosted_touch(struct hosted *machine, unsigned core, uint64_t vaddr);
/*
 * A program on this core loads or stores the aligned word there, by what its TLB says. False where that is not
 * ordinary memory mapped with the right to do so: the program would fault. A core that is a thread may do this in
 * its own `program` only.
 */
bool hosted_load(struct hosted *machine, unsigned core, uint64_t vaddr, uint64_t *value);
bool hosted_store(struct hosted *machine, unsigned core, uint64_t vaddr, uint64_t value);
/* What the core may use `vaddr` of the space by without a walk, 0: nothing. */
uint64_t hosted_remembered(const struct hosted *machine, unsigned core, const struct vspace *vspace, uint64_t vaddr);
/* Something a core's TLB remembers is not so any more: the kernel forgot to flush. */
bool hosted_tlb_stale(const struct hosted *machine);
