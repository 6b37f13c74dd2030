/* SPDX-License-Identifier: BSD-2-Clause */
/* Explicit states: what the files of the search share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <skerry/root_info.h>

#include "arch_switch.h"
#include "cap.h"
#include "hosted.h"
#include "thread.h"

/*
 * Prints one line and ends the process by abort(), as the kernel's own checks do. In a worker this is a find.
 */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What the caller promises (skerry/require.h, whose <assert.h> the kernel has its own of). */
#define require(condition) ((condition) ? (void)0 : fail("%s:%d: required: %s", __FILE__, __LINE__, #condition))

/*
 * The tiny machine that is explored: one to three cores; the root task and two threads, A in the root task's address
 * space and B in one of its own, all three with the root CNode; an endpoint, a notification, a reply object, a small
 * CNode; 16 KiB of untyped memory to play in. It stands still: time passes by the operation `tick` alone.
 */

/* Slots of the root CNode. */
enum tiny_slot {
	TINY_U = 230,         /* the untyped to play in */
	TINY_A, TINY_A_FRAME, /* thread, and the frame of its IPC buffer */
	TINY_B, TINY_B_FRAME,
	TINY_EP, TINY_N, TINY_R, /* endpoint, notification, reply object */
	TINY_V2,              /* B's address space */
	TINY_TABLE,           /* 6 page tables; the first is A's, three are B's */
	TINY_TABLE_LAST = TINY_TABLE + 5,
	TINY_MEMORY,          /* the untyped that all of this is made of */
	TINY_CNODE,           /* 16 slots, where B receives capabilities */
	TINY_CNODE_READ,      /* the root CNode, to read only */
	TINY_P0, TINY_P1, TINY_P2, TINY_P3, TINY_P4, TINY_P5, /* empty at first: what the operations make */
	TINY_M,              /* memory that moves, where the machine has it */
	TINY_LAST = TINY_M,
};
enum { TINY_U_BITS = 14, TINY_M_BITS = 21, TINY_NEIGHBOUR = 1 }; /* TINY_NEIGHBOUR: the other cluster */

#define TINY_VADDR    0x10000000ull /* tables for it are in both spaces */
#define TINY_VADDR_B  0x20000000ull /* B's space lacks the table for it */
#define TINY_PLAY     (TINY_VADDR + 0x5000) /* where frames of P4 are mapped */
#define TINY_SECRET   0x4141414141414141ull /* what programs write into their memory */

enum {
	START_DIRTY = 1,    /* the untyped has held frames that a program wrote */
	START_MOVES = 2,    /* beside another cluster, which takes nothing; 2 MiB of memory may be given to it */
	START_HOMES = 4,    /* a kernel that can be fine is, and the notification is at home on the last core */
	/* With START_HOMES: B, and further threads in P0, P2 and P4, run on the second core, as A does. All five have
	 * signalled the notification, which the last core has not begun to do for them. */
	START_AWAY = 8,
};
struct tiny_config {
	unsigned cores;  /* 1 to 3; A runs on the second one, if there is one, B on the last */
	unsigned budget; /* instructions between preemption points, core/work.h */
	unsigned start;  /* START_* */
};

extern struct hosted *tiny;
/* The moment at which the clock stands in each state that is compared with others; TSC cycles. */
extern uint64_t tiny_now;
extern uint64_t tiny_place; /* physical address of the memory that moves; 0: there is none */
/* Whether the kernel has it. */
bool tiny_has_place(void);

/* Makes the machine, and has its writes logged from then on. Once in a process. */
void tiny_make(const struct tiny_config *config);

static inline struct cpu *tiny_cpu(unsigned core) { return tiny->kernel.cpu[core]; }
static inline bool tiny_idle(unsigned core) { return current(tiny_cpu(core)) == &tiny_cpu(core)->shared.idle; }

/*
 * The write log: each word of the explored machine that is written, with its value before. Going back to a state is
 * undoing the log; the hash of a state is the sum, over the words that differ from the first state, of a mix of address
 * and value (Zobrist 1970), so a transition changes it by the words that it wrote and by no others.
 *
 * The kernel and its hosted port are compiled with the thread sanitizer's instrumentation and linked with
 * cluster-kernel/test/software/hooks.c, which calls transaction_writes() before each write. What is not instrumented
 * writes through log_put().
 */

enum { LOG_ENTRIES = 1 << 20 };

struct log_entry {
	uint64_t *at, before;
};
extern struct log_entry log_entry[LOG_ENTRIES];
extern unsigned log_count;

/* Writes to these bytes are logged from now on; addresses and sizes are multiples of 8. At most 6 ranges. */
void log_range(void *start, size_t size);
/* Logs the words that hold the bytes, before they are written. Ends the program where the log is full. */
void log_write(const volatile void *address, size_t size);
bool log_has(const volatile void *address);
/* Undoes the newest writes until `count` are left. */
void log_undo(unsigned count);
/* Returns what the writes from the `count`th on have added to the hash of the state; 64 bits, modulo 2^64. */
uint64_t log_hash(unsigned count);
uint64_t log_mix(uint64_t address, uint64_t value);

static inline void log_put(void *at, uint64_t value)
{
	uint64_t *word = at;
	if (*word == value)
		return;
	log_write(word, sizeof(*word));
	*word = value;
}
/* A field of any integer type. */
#define LOG_SET(field, value)                                   \
	do {                                                    \
		if ((field) != (value)) {                       \
			log_write(&(field), sizeof(field));     \
			(field) = (value);                      \
		}                                               \
	} while (0)
void log_zero(void *at, size_t size);

/*
 * What each step from a state reads and writes, its canonical form included, in words of 8 bytes. Two steps of
 * different cores commute there if neither writes a word that the other one reads or writes: each does the same behind
 * the other.
 * Reads are told by the instrumentation (hooks.c), and by access_read() where code is not instrumented.
 */

enum { REDUCED_STEPS_MAX = 256 };

/* Reads are this step's from now on. */
void access_begin(unsigned step);
void access_read(const volatile void *address, size_t size);
/* It has been done: its writes are those of the log from `count` on. Its core was inside the kernel, is now. */
void access_end(unsigned count, bool was_inside, bool is_inside);
/* Returns whether the two steps, as they were done last, commute. */
bool access_commute(unsigned step, unsigned with);

/* All capabilities of the tiny machine and their derivation, as the kernel's tree has them; and its threads' states. */

enum { CENSUS_MAX = 512, CENSUS_TABLE = 2048, CENSUS_THREADS = 16 };

struct census {
	unsigned count;
	struct census_entry {
		struct slot *slot;
		struct cap cap;
		int parent; /* index, -1: a root */
	} entry[CENSUS_MAX]; /* each behind its parent */
	uint16_t table[CENSUS_TABLE]; /* by slot: index + 1 */
	unsigned threads;
	struct census_thread {
		struct thread *thread;
		enum thread_state state;
		const struct notification *notification, *bound;
		const struct reply *reply;
	} thread[CENSUS_THREADS]; /* each once */
};

/* Notes which trees there are: called when the machine is made. */
void census_begin(void);
void census_take(struct census *census);
/* Returns the index of the slot's entry, -1: it is empty. */
int census_find(const struct census *census, const struct slot *slot);
/* Returns whether entry `ancestor` is above entry `index`. */
bool census_derives(const struct census *census, int index, int ancestor);
const struct census_thread *census_thread(const struct census *census, const struct thread *thread);

/*
 * The canonical form: what no later step can tell apart becomes equal, so that states that differ in nothing else are
 * one. It is a change of the machine's memory, made after each step, and each such change is one that could have come
 * about in another way: a program leaves other values in its registers, the clock stands at another time, a core has
 * made fewer entries. What is not covered, since it is made equal: run times of threads and of idleness (TCB_TIME),
 * and slices that were interrupted elsewhere than at quarters of a slice.
 */

/* Notes the locks as they are when no core is inside; called when the machine is made. */
void canonical_begin(void);
/* `census` is of the state as it is. */
void canonical_make(const struct census *census);

/* The alphabet: what a core of the tiny machine can do in one step, and the themes, which are parts of it. */

enum operation_kind {
	OP_CALL,  /* the current thread makes a system call */
	OP_FAULT, /* or raises a fault, */
	OP_STORE, /* writes TINY_SECRET to memory that it has mapped and nobody has written, */
	OP_TOUCH, /* reads such memory: the TLB has the translation then */
	OP_TICK,  /* the clock goes on to the core's timer, which interrupts */
	OP_PIN,   /* a device interrupts */
	OP_GO_ON, /* a call that stopped goes on; of several cores: one that is inside the kernel does */
};

enum { OPERATION_WORDS = 6, OPERATION_CAPS = 3 };

struct operation {
	const char *name;
	enum operation_kind kind;
	uint64_t number, cptr, reply; /* SYS_*, RDI, R12 */
	uint64_t label;
	unsigned words;
	uint64_t word[OPERATION_WORDS], cap[OPERATION_CAPS];
	bool waits; /* word 0 is a deadline: three slices from now */
	bool place; /* word 0 is the address of the memory that moves */
	bool last;  /* word `last_word` is the machine's last core */
	unsigned last_word;
};

extern const struct operation operations[];
extern const unsigned operations_count;
/* Returns the number of the operation, operations_count if none has the name. */
unsigned operation_find(const char *name);

struct theme {
	const char *name;
	unsigned cores;
	unsigned depth;  /* in which a test explores it */
	unsigned start;  /* START_* */
	const char *operations; /* names, each with a comma behind it; null: all */
};

extern const struct theme themes[];
extern const unsigned themes_count;
/* Returns null if no theme has the name. */
const struct theme *theme_find(const char *name);
/* Fills `number` with the operations of the theme, in the order of the alphabet. Returns how many there are. */
unsigned theme_operations(const struct theme *theme, uint16_t *number);

/* One step of the tiny machine. Of several, cores are fibers: one that waits inside the kernel is part of the state. */

struct thread;

enum {
	STEP_CORES = 3,
	STEP_STACK = 4096, /* bytes of a core's stack that are kept: no kernel entry uses more where it may stop */
};

/*
 * What `part` means: of a machine of one core, the call stops at its first preemption point, and the clock goes on to
 * the timer; of several, the core goes on to the next place where another core may.
 */
struct step {
	unsigned core;
	const struct operation *operation;
	bool part;
};

/* The part of the stacks that is in use is part of the state, and is not in the write log. */
struct step_stacks {
	uint8_t byte[STEP_CORES][STEP_STACK];
};

/* Returns false where the step cannot even begin: its core has to do something else. */
bool step_starts(const struct step *step);
/* Does the step. Returns false where it cannot be done, or is the same as another one; the caller undoes the writes. */
bool step_do(const struct step *step);
/* No core is inside the kernel, none has an interrupt to take: kernel_check() may be called. */
bool step_at_rest(void);
bool step_inside(unsigned core);
/* The core's thread makes a call or raises a trap once more as the next thing that it does. */
bool step_restarts(unsigned core);
void stacks_begin(void); /* in the first state */
void stacks_save(struct step_stacks *to);
/* `from` is what was saved before the last steps; `all`: whatever they did. */
void stacks_restore(const struct step_stacks *from, bool all);
uint64_t stacks_hash(void);

/*
 * What must be so of each state, and of each step between two states at rest. A rule that is broken ends the process
 * (fail()). Of a state: kernel_check(); a core has its thread's address space loaded, and nothing stale in its TLB; a
 * thread that runs beside a ready equal has an end. Of a step, from the machine before and after and from the call that
 * was made:
 *
 *     derivation   each capability keeps its parent, or gets the nearest ancestor that is left; revocation ends all
 *                  descendants and nothing else; a call that fails changes no capability
 *     authority    a new capability is in the slot that the call names, is derived from what the call names, and the
 *                  caller's capabilities have the rights that the call needs
 *     memory       a new frame, table, address space or CNode is zero
 *     signals      a bit is in the notification until a thread has got it
 *     replies      an answered caller goes on, and no caller goes on without
 *     time         at the end of a slice another one of the equals runs
 */

/* What a step is about: the call of the core's current thread, from its registers or about to be put there. */
struct cause {
	const struct thread *caller; /* null: an interrupt, or what an earlier call has left */
	uint64_t number, cptr, label, reply;
	uint64_t word[OPERATION_WORDS], cap[OPERATION_CAPS];
	unsigned words, caps;
};

/* A machine of one core, at rest, before a step. */
struct rules_before {
	struct census census;
	struct cause cause;
	const struct thread *current, *equal; /* the first ready thread of the current one's priority, or null */
	uint64_t slice_end, words[CENSUS_MAX]; /* of each notification, by entry */
	bool tick;
};

/* The state of the machine, whether it is at rest or not. */
void rules_any_state(void);
/* The state of the machine, which is at rest. */
void rules_state(void);
/* Fills what is to be known before the step; `census` of it is filled. The machine has one core. */
void rules_before(struct rules_before *before, const struct step *step);
/* Before the canonical form is made. */
void rules_step(const struct rules_before *before, const struct census *after);
/* rules_step() has a part in a file of its own. */
void rules_derivation(const struct rules_before *before, const struct census *after, bool complete, uint64_t result);

/*
 * Breadth-first search through the states of the tiny machine. A state is stored as its parent, the step that led to it
 * and the hash of its canonical form, in 16 bytes; 16 more are in a table of hashes that is at most half full. It is
 * made again by the steps of its path. Two states with one hash of 64 bits are taken for one: with 10^8 states that
 * happens with a probability of 3 in 10,000.
 *
 * Each level is explored by processes that share states and table. A process in which a rule is broken, or the kernel
 * crashes or does not return, ends: that is a find, and since all shorter paths have been tried, its path is a shortest
 * one.
 *
 * Reduced, a search leaves out steps whose states it has by another order: sleep sets (Godefroid, LNCS 1032, 1996), of
 * the steps that the state above has done before. Of all shortest paths to a state the first one in the order of the
 * steps is never left out, so each state is found, at its depth, and each rule is checked in it. Each state needs one
 * bit more for each step.
 */

enum { SEARCH_PATH_MAX = 256, SEARCH_STEPS_MAX = 1 << 12 };

struct search_options {
	unsigned depth;    /* steps of the longest path */
	size_t states_max; /* room for so many states */
	unsigned seconds;  /* 0: no limit */
	unsigned jobs;
	bool pairs;        /* two runs of each path, whose programs have other secrets */
	bool reduced;      /* of several cores */
	const uint16_t *operation; /* the alphabet: numbers in operations[] */
	unsigned operations;
};

enum search_end { SEARCH_DEPTH, SEARCH_CLOSED, SEARCH_STATES, SEARCH_TIME, SEARCH_STOPPED, SEARCH_FOUND };

struct search_result {
	enum search_end end;
	unsigned depth;       /* levels that were explored wholly */
	size_t states, transitions, refused, checked, pairs, asleep; /* asleep: steps that were left out */
	double seconds;
	unsigned path[SEARCH_PATH_MAX]; /* SEARCH_FOUND: steps */
	unsigned path_length;
};

/* `level` is called behind each level. */
void search_run(const struct search_options *options, struct search_result *result,
                void (*level)(const struct search_result *result, size_t new_states));
/* Asks the search to end; for signal handlers. */
void search_stop(void);
/* The step with this number, of an alphabet. Below search_steps(). */
struct step search_step(const struct search_options *options, unsigned number);
unsigned search_steps(const struct search_options *options);
/* Does the steps of a path from the first state, with every check. */
void search_replay(const struct search_options *options, const unsigned *path, unsigned length);
/* Returns bytes that a search needs for so many states. */
size_t search_bytes(size_t states);

/*
 * Non-interference as two runs. The second run differs in what thread B must not see: what the untyped memory held
 * before, and what thread A has in its registers and its IPC buffer. Both make the same steps. B's view is its
 * registers, whether it runs, and every word of memory that its address space maps. It must be the same after each
 * step.
 *
 * Not covered: what A chooses to do; frames that both have mapped, and messages from A to B, which are made to be seen
 * and whose words the steps name themselves. One core.
 */

/* Compares all steps from a state; fail() where B's view differs. Returns how many pairs were compared. */
size_t pairs_compare(const struct search_options *options, void (*follow_path)(uint32_t), void (*go_to_first)(void),
                     uint32_t state, volatile uint16_t *at_step);
/* Compares after the last step of a path. */
void pairs_replay(const struct search_options *options, const unsigned *path, unsigned length,
                  void (*go_to_first)(void));

/*
 * A path in a file, a line each: `regime NAME`, `theme NAME`, `cores N`, `budget N`, `pairs 0|1`, then the steps: core,
 * operation, and `[part]` where the step is a part of it. Lines that begin with # are comments.
 */

struct record {
	char regime[32];
	const struct theme *theme;
	unsigned cores, budget;
	bool pairs;
	unsigned steps;
	struct step step[SEARCH_PATH_MAX];
};

/* Returns false where the file cannot be written; errno says why. */
bool record_write(const char *path, const struct record *record);
/* Prints one line and ends the program with status 2 where the file is no such file. */
void record_read(const char *path, struct record *record);
void record_print_step(void *stream, const struct step *step);
