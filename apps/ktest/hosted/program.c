/* SPDX-License-Identifier: BSD-2-Clause */
#include "program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <skerry/root_info.h>
#include "check.h"
#include "draw-localities.h"
#include "places.h"
#include "thread.h"
#include "vspace.h"
#include "watch.h"

enum { PROGRAMS = 96, CHECKED = 16, CHECKED_EVERY = 96, DRAWN_EVERY = 24 };
enum { CALL_TIME = 400, TURN_TIME = 2000 }; /* cycles */
enum { PAGE_PRESENT = 1, PAGE_WRITE = 2, PAGE_USER = 4, PAGE_FETCH = 16, UNDEFINED = 6 };
#define MEMORY  (128ull << 20)
#define RUNNING 0x700000000000ull /* a thread has this RIP when its fiber has begun; each system call moves it on */

enum next { CALLS, TRAPS, FAULTS, TURNS, ENDS };

struct program {
	struct thread *thread;
	struct fiber fiber;
	enum next next;
	uint64_t argument;
	bool began;
	unsigned test; /* that began it */
	uint64_t rip; /* at its last stop; while the thread has this RIP, what it stopped for is not done */
	unsigned fault, fault_words;
	uint64_t fault_word[5];
};

static struct program programs[PROGRAMS], *running;
static struct hosted *machine;
static const char *words;
static bool over;
static unsigned calls; /* since program_check() */
static unsigned checks;
static uint64_t locality_seed; /* not 0: localities are drawn every so many calls */
static union {
	struct root_info info;
	uint8_t bytes[sizeof(struct root_info)];
} root;

/* --- for programs --- */

static struct thread_registers *registers(void) { return &running->thread->context.registers; }

static void stop(enum next next)
{
	struct program *self = running;
	self->next = next;
	self->rip = self->thread->context.registers.rip;
	fiber_yield(&self->fiber);
}

void program_call(uint64_t *r)
{
	struct thread_registers *own = registers();
	own->rax = r[CALL_RESULT], own->rdi = r[CALL_CPTR], own->rsi = r[CALL_INFO], own->r12 = r[CALL_REPLY];
	own->rdx = r[CALL_WORD], own->r10 = r[CALL_WORD + 1], own->r8 = r[CALL_WORD + 2], own->r9 = r[CALL_WORD + 3];
	stop(CALLS);
	own = registers();
	r[CALL_RESULT] = own->rax, r[CALL_CPTR] = own->rdi, r[CALL_INFO] = own->rsi;
	r[CALL_WORD] = own->rdx, r[CALL_WORD + 1] = own->r10, r[CALL_WORD + 2] = own->r8, r[CALL_WORD + 3] = own->r9;
}

void program_call_all(uint64_t *r)
{
	struct thread_registers *own = registers();
	uint64_t *const place[] = { &own->rax, &own->rbx, &own->rdx, &own->rsi, &own->rdi, &own->rbp, &own->r8,
	                            &own->r9,
		                    &own->r10, &own->r12, &own->r13, &own->r14, &own->r15, &own->rflags };
	for (unsigned i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		*place[i] = r[i];
	stop(CALLS);
	for (unsigned i = 0; i < sizeof(place) / sizeof(place[0]); i++)
		r[i] = *place[i];
}

void program_turn(void) { stop(TURNS); }
void program_break(void) { stop(TRAPS); }
bool program_in(const void *function, uint64_t rip) { return function && rip - RUNNING < RUNNING; }
uint64_t program_core(void) { return (uint64_t)(hosted_self - machine->core) + 1; }

uint64_t program_time(void)
{
	stop(TURNS);
	return hosted_time();
}

/* The thread raises a fault; it is answered when this returns. */
static void fault(unsigned kind, unsigned count, uint64_t word2, uint64_t word3)
{
	const struct thread_registers *own = registers();
	running->fault = kind;
	running->fault_words = count;
	const uint64_t word[5] = { own->rip, own->rsp, word2, word3, 0 };
	memcpy(running->fault_word, word, sizeof(word));
	stop(FAULTS);
}

void program_undefined(void)
{
	uint64_t rip = registers()->rip;
	while (registers()->rip == rip)
		fault(FAULT_EXCEPTION, 5, registers()->rflags, UNDEFINED);
}

static bool page_fault(uint64_t rip, uint64_t address, uint64_t error)
{
	bool present = hosted_touch(machine, (unsigned)(hosted_self - machine->core), address);
	fault(FAULT_PAGE, 4, address, PAGE_USER | error | (present ? PAGE_PRESENT : 0));
	return registers()->rip == rip;
}

uint64_t program_load(uint64_t address)
{
	uint64_t value = 0, rip = registers()->rip;
	while (!hosted_load(machine, (unsigned)(hosted_self - machine->core), address, &value) &&
	       page_fault(rip, address, 0))
		;
	return value;
}

void program_store(uint64_t address, uint64_t value)
{
	uint64_t rip = registers()->rip;
	while (!hosted_store(machine, (unsigned)(hosted_self - machine->core), address, value) &&
	       page_fault(rip, address, PAGE_WRITE))
		;
}

void program_over(void)
{
	over = true;
	for (;;)
		stop(ENDS);
}

const void *program_root_info(void) { return &root.info; }
void *program_ipc_buffer(void) { return thread_ipc_buffer(machine->root); }

void *place(uint64_t address)
{
	const struct vspace *vspace = (const struct vspace *)machine->root->slot[THREAD_VSPACE].cap.object;
	const uint64_t *table = vspace->root;
	for (unsigned level = LEVEL_ROOT;; level--) {
		uint64_t entry = table[address >> (12 + 9 * level) & 511], size = 1ull << (12 + 9 * level);
		if (!arch_pte_present(entry)) {
			fprintf(stderr, "nothing is mapped at %#llx\n", (unsigned long long)address);
			abort();
		}
		if (!arch_pte_is_table(entry))
			return direct(arch_pte_address(entry, level) + (address & (size - 1)));
		table = direct(arch_pte_address(entry, level));
	}
}

/* --- the kernel's side --- */

/* Nothing is under way at a core. */
static bool at_rest(const struct hosted_core *core)
{
	uint64_t any = 0;
	for (unsigned i = 0; i < HOSTED_VECTORS / 64; i++)
		any |= core->vectors[i];
	const struct context *context = &current(core->cpu)->context;
	return !any && !core->inside && !hosted_timer_due(core) && !context->again && !context->raise;
}

static bool others_at_rest(unsigned core)
{
	for (unsigned i = 0; i < machine->config.cores; i++)
		if (machine->core[i].owes_visits || (i != core && !at_rest(&machine->core[i])))
			return false;
	return true;
}

/* Checks a core between two kernel entries. The others must be so, too, and no calls be left for the end of a turn
 * (core/visit.h). */
static void check_now(unsigned core)
{
	if (!others_at_rest(core))
		return;
	struct hosted_core *self = hosted_self;
	self->inside = false;
	hosted_self = 0;
	kernel_check(machine);
	hosted_self = self;
	self->inside = true;
}

bool program_localities(void) { return locality_seed; }

void program_check(void)
{
	calls = 0;
	checks++;
	check_now((unsigned)(hosted_self - machine->core));
}

static void fiber_main(void *argument)
{
	struct program *self = argument;
	if (self == programs)
		program_main(words);
	else
		program_thread(self->argument);
	program_over();
}

static void begin(struct program *program, struct thread *thread)
{
	fiber_free(&program->fiber);
	program->thread = thread;
	program->began = false;
	program->test = checks;
	program->argument = thread->context.registers.rdi;
	thread->context.registers.rip = RUNNING;
	fiber_init(&program->fiber, fiber_main, program);
}

/* One of an earlier test, which has no threads left; in a test of very many threads, the one that was taken longest
 * ago. */
static struct program *take_program(void)
{
	static unsigned turn;
	for (unsigned i = 1; i < PROGRAMS && programs[1 + turn % (PROGRAMS - 1)].test == checks; i++)
		turn++;
	return &programs[1 + turn++ % (PROGRAMS - 1)];
}

/* The program of a thread; null where there is none at its RIP. */
static struct program *program_of(struct thread *thread)
{
	struct program *found = 0;
	uint64_t rip = thread->context.registers.rip;
	for (unsigned i = 0; i < PROGRAMS; i++)
		if (programs[i].thread == thread)
			found = &programs[i];
	if (rip == program_entry()) {
		if (!found)
			found = take_program();
		begin(found, thread);
	}
	return found && thread->context.registers.rip - RUNNING < RUNNING ? found : 0;
}

/* Posts the action for which the thread's program has stopped, with the thread's registers. */
static void act(const struct program *program, struct hosted *on, unsigned core)
{
	const struct thread_registers *r = &program->thread->context.registers;
	struct hosted_call call = { r->rax, r->rdi, r->rsi, { r->rdx, r->r10, r->r8, r->r9 }, r->r12 };
	switch (program->next) {
	case CALLS: hosted_post_call(on, core, &call); break;
	case TRAPS: hosted_post_trap(on, core); break;
	case FAULTS: hosted_post_fault(on, core, program->fault, program->fault_words, program->fault_word); break;
	default: break;
	}
	hosted_advance(on, program->next == TURNS ? TURN_TIME : CALL_TIME);
}

static bool ask(void *argument, struct hosted *on, unsigned core)
{
	(void)argument;
	struct thread *thread = current(on->kernel.cpu[core]);
	struct program *program = program_of(thread);
	const struct thread_registers *r = &thread->context.registers;
	const uint64_t nothing[] = { r->rip, r->rsp, r->rip, PAGE_USER | PAGE_FETCH };
	if (r->rip == program_stays()) {
		hosted_advance(on, TURN_TIME);
		return true;
	}
	if (!program) {
		hosted_post_fault(on, core, FAULT_PAGE, 4, nothing);
		return true;
	}
	if (++calls < CHECKED || calls % CHECKED_EVERY == 0)
		check_now(core);
	if (locality_seed && calls % DRAWN_EVERY == 0 && others_at_rest(core))
		draw_localities(machine, &locality_seed);
	bool again = program->began && (program->next == CALLS || program->next == TRAPS) && r->rip == program->rip;
	if (!again) {
		program->began = true;
		running = program;
		fiber_resume(&program->fiber);
		running = 0;
	}
	act(program, on, core);
	return program->next != ENDS;
}

static void find_root_info(void)
{
	for (uint64_t at = 0; at < sizeof(root); at += 4096)
		memcpy(root.bytes + at, place(ROOT_INFO_VADDR + at),
		       sizeof(root) - at < 4096 ? sizeof(root) - at : 4096);
}

/* All wait: the clock goes on to where the first of them is woken. */
static void pass_time(void)
{
	uint64_t first = 0, now = hosted_now(machine);
	for (unsigned i = 0; i < machine->config.cores; i++) {
		uint64_t timer = machine->core[i].timer;
		first = timer && (!first || timer < first) ? timer : first;
	}
	if (!first) {
		fprintf(stderr, "all wait, and nothing wakes anybody\n");
		abort();
	}
	hosted_advance(machine, first > now ? first - now : 0);
}

static const char *tell(void) { return words; }

/* Even seeds take every preemption point. */
static int run(unsigned cores, unsigned seed)
{
	static const struct hosted_controlled neighbour = { .cluster = 1, .cores = 1 };
	struct hosted_config config = { .cores = cores, .seed = seed, .memory = MEMORY, .gsis = HOSTED_PINS,
	                                .controlled_count = 1,
		                        .controlled = &neighbour };
	machine = hosted_create(&config);
	if (seed % 2 == 0)
		machine->kernel.work_budget = 1;
	kernel_check(machine);
	find_root_info();
	begin(&programs[0], machine->root);
	machine->config.program = ask;
	while (!over) {
		for (unsigned i = 0; i < cores; i++)
			machine->core[i].quiet = false;
		hosted_run(machine);
		if (!over)
			pass_time();
	}
	for (unsigned i = 0; i < PROGRAMS; i++)
		fiber_free(&programs[i].fiber);
	hosted_destroy(machine);
	return 0;
}

/* A seed of one's own, or the time's: it is printed, and another one each time. */
static void seed_localities(const char *given)
{
	locality_seed = given ? strtoull(given, 0, 0) : (uint64_t)time(0);
	locality_seed |= !locality_seed;
	printf("localities are drawn: --localities=%llu\n", (unsigned long long)locality_seed);
}

/*
 * [--localities[=SEED]] [WORD]: between system calls objects get other localities, in a kernel that is fine; only tests
 * with the word in their name. Each machine is a process: the tests keep what they know in variables.
 */
int main(int argc, char **argv)
{
	static const unsigned machines[][2] = { { 1, 1 }, { 3, 2 } }; /* cores, seed */
	unsigned cores_max = strcmp(REGIME_HEADER, "none.h") ? HOSTED_CORES : 1;
	static const char localities[] = "--localities";
	if (argc > 1 && !strncmp(argv[1], localities, sizeof(localities) - 1)) {
		seed_localities(argv[1][sizeof(localities) - 1] == '=' ? argv[1] + sizeof(localities) : 0);
		argc--, argv++;
	}
	words = argc > 1 ? argv[1] : "";
	for (unsigned i = 0; i < sizeof(machines) / sizeof(machines[0]) && machines[i][0] <= cores_max; i++) {
		int status;
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			setvbuf(stdout, 0, _IOLBF, 0);
			watch(tell);
			return run(machines[i][0], machines[i][1]);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status) {
			fprintf(stderr, "this was a machine of %u cores, seed %u\n", machines[i][0], machines[i][1]);
			return 1;
		}
	}
	return 0;
}
