/* SPDX-License-Identifier: BSD-2-Clause */
#include "machine.h"
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "message.h"
#include "vspace.h"

/* In place of a system call's number. */
#define TRAP (~0ull)

enum { MACHINES = 2, PROGRAMS = 8, CASES = 40, CLUSTER = 20, CHANNEL = 2 };

static struct hosted *machines[MACHINES];
static struct hosted_link links[MACHINES];
static unsigned machine_count;
static struct hosted_core *cores[EXPLORE_THREADS];
static unsigned core_count;
static struct explore_line line[EXPLORE_THREADS];
static struct program programs[PROGRAMS];
static unsigned program_count;
static uint64_t touched;
static struct promise {
	const struct thread *thread;
	unsigned calls;
	const struct vspace *vspace;
	uint64_t vaddr;
	unsigned rights;
} promises[2];
static unsigned promise_count;
static enum granularity first_granularity; /* of machine_make()'s kernel */
static const struct thread *fast[EXPLORE_THREADS][PROGRAMS]; /* whither each core has gone by the fast path */

/* The program of the core's current thread; struct hosted_config. */
static bool next_call(void *argument, struct hosted *of, unsigned core)
{
	(void)argument;
	struct thread *thread = current(of->core[core].cpu);
	for (unsigned i = 0; i < program_count; i++) {
		const struct program *p = &programs[i];
		uint64_t done = (thread->context.registers.rip - p->start) / SYSCALL_SIZE;
		if (p->thread != thread || done >= p->count)
			continue;
		if (p->cap[done])
			thread_ipc_buffer(thread)->caps[0] = p->cap[done];
		if (p->call[done].number == TRAP)
			hosted_post_trap(of, core);
		else
			hosted_post_call(of, core, &p->call[done]);
		return true;
	}
	return false;
}

static void name_all(const struct hosted *of)
{
	static const char *const core_name[] = { "core 0", "core 1", "core 2", "core 3", "core 4", "core 5" };
	explore_name(&of->kernel.lock, sizeof(of->kernel.lock), "the kernel's lock");
	for (unsigned i = 0; i < of->config.cores; i++) {
		struct cpu *cpu = of->core[i].cpu;
		unsigned index = core_count + i;
		explore_name(&cpu->shared.group, sizeof(cpu->shared.group), "a group's request");
		explore_name(&line[index], sizeof(line[index]), "an interrupt line");
		explore_name(cpu, sizeof(*cpu), core_name[index]);
	}
}

static struct hosted *make_one(unsigned of_cores, const struct hosted_link *link, bool gives)
{
	const struct hosted_controlled neighbour = { .cluster = MACHINE_NEIGHBOUR, .cores = 1 };
	struct hosted_config config = { .cluster = CLUSTER + machine_count, .cores = of_cores, .program = next_call,
	                                .seed = 1, .any_interrupts = true,
		                        .channel_count = link ? 1 : 0, .channel = link, .controlled_count = gives,
		                        .controlled = &neighbour };
	struct hosted *made = hosted_create(&config);
	/* the kernel is its first member, and no hardware */
	explore_hardware(&made->info, sizeof(*made) - ((uint8_t *)&made->info - (uint8_t *)made));
	name_all(made);
	for (unsigned i = 0; i < of_cores; i++)
		cores[core_count++] = &made->core[i];
	return machines[machine_count++] = made;
}

static void make_first(unsigned of_cores, bool gives)
{
	machine = make_one(of_cores, 0, gives);
	machine->kernel.visit_turn = 0; /* time stands still: nobody would see its end */
	while (first_granularity == GRANULARITY_FINE && order_granularity(GRANULARITY_FINE))
		hosted_run(machine);
}

void machine_make(unsigned of_cores) { make_first(of_cores, false); }
void machine_make_giver(unsigned of_cores) { make_first(of_cores, true); }

void machine_run_core(unsigned core)
{
	while (hosted_core_busy(cores[core])) {
		hosted_self = cores[core];
		fiber_resume(&cores[core]->fiber);
		hosted_self = 0;
	}
}

struct hosted *machine_make_pair(unsigned of_cores, unsigned peer_cores)
{
	links[0] = (struct hosted_link){ .id = CHANNEL, .side = 0, .peer = CLUSTER + 1, .peer_cores = peer_cores };
	links[1] = (struct hosted_link){ .id = CHANNEL, .side = 1, .peer = CLUSTER, .peer_cores = of_cores };
	machine = make_one(of_cores, &links[0], false);
	return make_one(peer_cores, &links[1], false);
}

void machine_drop(void)
{
	while (machine_count)
		hosted_destroy(machines[--machine_count]);
	core_count = program_count = promise_count = touched = 0;
}

void machine_program(struct thread *thread, struct hosted_call call, uint64_t cap)
{
	unsigned i = 0;
	while (i < program_count && programs[i].thread != thread)
		i++;
	struct program *p = &programs[i];
	if (i == program_count) {
		*p = (struct program){ .thread = thread, .start = thread->context.registers.rip };
		program_count++;
	}
	p->cap[p->count] = cap;
	p->call[p->count++] = call;
}

void machine_does(struct thread *thread, uint64_t number, uint64_t cptr)
{
	machine_program(thread, (struct hosted_call){ .number = number, .cptr = cptr }, 0);
}

void machine_invokes(struct thread *thread, uint64_t cptr, uint64_t label, uint64_t w0, uint64_t w1, uint64_t cap)
{
	machine_program(thread, (struct hosted_call){ .number = SYS_CALL, .cptr = cptr, .word = { w0, w1 },
	                                              .info = message_info(label, cap != 0, 2) }, cap);
}

void machine_traps(struct thread *thread) { machine_does(thread, TRAP, 0); }

void machine_give_space(uint64_t tcb, uint64_t slot, uint64_t vaddr)
{
	const uint64_t space = slot + MACHINE_SPACE, tables = slot + MACHINE_SPACE_TABLES,
	               frame = slot + MACHINE_SPACE_FRAME;
	make(OBJECT_UNTYPED, VSPACE_BITS, slot, 1);
	EXPECT(call(slot, UNTYPED_RETYPE, W(OBJECT_VSPACE, 0, space, 1), W(CNODE)), 0);
	make(OBJECT_PAGE_TABLE, 0, tables, 3);
	make(OBJECT_FRAME_4K, 0, frame, 1);
	for (unsigned i = 0; i < 3; i++)
		EXPECT(call(tables + i, PAGE_TABLE_MAP, W(vaddr), W(space)), 0);
	EXPECT(call(frame, FRAME_MAP, W(vaddr, RIGHT_ALL, 0), W(space)), 0);
	EXPECT(call(tcb, TCB_SUSPEND, NONE, NONE), 0);
	EXPECT(call(tcb, TCB_CONFIGURE, W(1024, 0), W(CNODE, space, tcb + 1)), 0);
	EXPECT(call(tcb, TCB_RESUME, NONE, NONE), 0);
	EXPECT(running(1) == (struct thread *)slot_of(tcb)->cap.object, true);
	machine_touch(vaddr);
}

void machine_touch(uint64_t vaddr) { touched = vaddr; }

void machine_promise(const struct thread *thread, unsigned calls, const struct vspace *vspace, uint64_t vaddr,
                     unsigned rights)
{
	promises[promise_count++] = (struct promise){ thread, calls, vspace, vaddr, rights };
}

/* Of the thread that the core runs. */
static void check_promises(const struct hosted_core *core)
{
	for (unsigned i = 0; i < promise_count; i++) {
		const struct promise *p = &promises[i];
		if (current(core->cpu) != p->thread || machine_progress(p->thread) < p->calls || result(p->thread))
			continue; /* a call that gave an error promises nothing */
		for (unsigned c = 0; c < core->machine->config.cores; c++) {
			uint64_t entry = hosted_remembered(core->machine, c, p->vspace, p->vaddr);
			EXPLORE_CHECK(!entry || !(arch_pte_rights(entry) & ~p->rights),
			              "a call is over, and core %u uses what it has taken", c);
		}
	}
}

unsigned machine_progress(const struct thread *thread)
{
	for (unsigned i = 0; i < program_count; i++)
		if (programs[i].thread == thread)
			return (thread->context.registers.rip - programs[i].start) / SYSCALL_SIZE;
	return 0;
}

bool machine_went_fast(const struct thread *thread)
{
	bool went = false;
	for (unsigned i = 0; i < core_count; i++)
		for (unsigned j = 0; j < PROGRAMS; j++)
			went |= fast[i][j] == thread;
	return went;
}

void machine_resume(unsigned self) { hosted_self = cores[self]; }

static void order_fine(void) { order_granularity(GRANULARITY_FINE); }
static void order_coarse(void) { order_granularity(GRANULARITY_COARSE); }

int machine_main(int argc, char **argv, const struct explore_case *cases)
{
	static struct explore_case ordered[CASES];
	void (*order)(void) = 0;
	if (argc > 2 && !strcmp(argv[1], "--granularity")) {
		order = !strcmp(argv[2], "to-fine") ? order_fine : !strcmp(argv[2], "to-coarse") ? order_coarse : 0;
		first_granularity = order == order_fine ? GRANULARITY_COARSE : GRANULARITY_FINE;
		argv += 2, argc -= 2;
	}
	for (unsigned i = 0; i < CASES && cases[i].name; i++) {
		ordered[i] = cases[i];
		if (order)
			ordered[i].begin = order; /* no case of the kernel has one */
	}
	return explore_main(argc, argv, ordered);
}

static bool busy(void *core) { return hosted_core_busy(core); }

/* A thread that runs uses its registers (on two cores at a time, that is a race) and memory. */
static void run_user(struct hosted_core *core)
{
	struct cpu *cpu = core->cpu;
	volatile uint64_t *rbx = &current(cpu)->context.registers.rbx;
	if (current(cpu) == &cpu->shared.idle)
		return;
	*rbx = *rbx;
	explore_as_hardware(true);
	if (touched)
		hosted_touch(core->machine, cpu->own.index, touched);
	check_promises(core);
	explore_as_hardware(false);
}

void machine_core(unsigned self)
{
	struct hosted_core *core = cores[self];
	core->quiet = false;
	for (;;) {
		run_user(core);
		explore_rest(&line[self], busy, core);
		run_user(core);
		hosted_core_enter(core);
	}
}

void machine_check(void)
{
	for (unsigned i = 0; i < machine_count; i++)
		kernel_check(machines[i]);
	for (unsigned i = 0; i < program_count; i++) {
		const struct thread *t = programs[i].thread;
		EXPLORE_CHECK(t->state != THREAD_READY || machine_progress(t) == 0 || result(t) == 0,
		              "the last call of program %u gave error %llu", i, (unsigned long long)result(t));
	}
}

/* In place of the hosted port's own (the linker's --wrap), while executions run. */

void __real_turns_pause(struct hosted_core *core);
void __wrap_turns_pause(struct hosted_core *core);
void __wrap_turns_pause(struct hosted_core *core)
{
	if (!explore_running())
		__real_turns_pause(core);
}

void __real_hosted_relax(void);
void __wrap_hosted_relax(void);
void __wrap_hosted_relax(void)
{
	if (explore_running())
		explore_relax();
	else
		__real_hosted_relax();
}

uint64_t __real_hosted_time(void);
uint64_t __wrap_hosted_time(void);
uint64_t __wrap_hosted_time(void) { return explore_running() ? hosted_self->machine->time : __real_hosted_time(); }

void __real_hosted_interrupt(struct hosted_core *core, unsigned vector);
void __wrap_hosted_interrupt(struct hosted_core *core, unsigned vector);
void __wrap_hosted_interrupt(struct hosted_core *core, unsigned vector)
{
	for (unsigned i = 0; i < core_count && explore_running(); i++)
		if (cores[i] == core)
			explore_raise(&line[i]);
	__real_hosted_interrupt(core, vector);
}

void __real_arch_switch(struct cpu *cpu, struct thread *from, struct thread *to, struct vspace *vspace);
void __wrap_arch_switch(struct cpu *cpu, struct thread *from, struct thread *to, struct vspace *vspace);
void __wrap_arch_switch(struct cpu *cpu, struct thread *from, struct thread *to, struct vspace *vspace)
{
	for (unsigned i = 0; i < PROGRAMS && explore_running(); i++)
		if (!fast[explore_self()][i]) {
			fast[explore_self()][i] = to;
			break;
		}
	__real_arch_switch(cpu, from, to, vspace);
}

_Noreturn void __real_arch_panic(const char *reason);
_Noreturn void __wrap_arch_panic(const char *reason);
_Noreturn void __wrap_arch_panic(const char *reason)
{
	if (explore_running())
		explore_fail("panic: %s", reason);
	__real_arch_panic(reason);
}

_Noreturn void __real_check_failed(const char *file, int line_number, const char *sentence, uint64_t a, uint64_t b);
_Noreturn void __wrap_check_failed(const char *file, int line_number, const char *sentence, uint64_t a, uint64_t b);
_Noreturn void __wrap_check_failed(const char *file, int line_number, const char *sentence, uint64_t a, uint64_t b)
{
	if (explore_running())
		explore_fail("kernel_check: %s (%#llx, %#llx), %s:%d", sentence, (unsigned long long)a,
		             (unsigned long long)b, file, line_number);
	__real_check_failed(file, line_number, sentence, a, b);
}
