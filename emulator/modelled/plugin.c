/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QEMU plugin that makes of the emulated machine one with a price list: each core has a clock in cycles, instructions
 * and memory accesses cost what the machine file says (prices.def), and lines move between caches (memory.h). Cores
 * act in the order of their clocks (event_queue.h, turn_token.h), so that neither the host's speed nor its load
 * matters. QEMU's clocks and timers, and the guest's time-stamp counter, go by the same clocks (virtual_time.h).
 * For `-S -accel tcg,thread=multi`, with modelled-preload.so in LD_PRELOAD; QEMU 9.2 and later. docs/modelled.md says
 * what this can and cannot tell.
 *
 *     -plugin modelled.so,machine=FILE,out=FILE[,quantum=CYCLES][,program_quantum=CYCLES][,park=off]
 *             [,counter=trap][,priced=FROM[-TO]][,prices=FILE][,snapshot=SOCKET][,salt=N][,whole=on]
 *             [,OPTION OF observe.h]
 *
 * A salt draws what programs do not choose: places of code in L1I, of pages in TLBs, colours of L2 (memory_salt()), and
 * by how much each core is late when pricing begins. Runs with the same salt agree in every digit. 0, the default,
 * draws nothing.
 *
 * Where a mark begins the priced phase, prices may become those of another machine file, `prices`, and the machine may
 * become the origin of copies that go on from there, each with its own salt and prices (snapshot.h).
 *
 * At each mark of the guest but 0 and 9 (skerry/mark.h) a line goes to `out`: as of lockstep.c, in cycles, with what
 * memory did. With `whole` the first mark 0 has one, too, and so has mark 9 if there was neither 1 nor 2: observers
 * then count between these.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../mark.h"
#include "../qemu_plugin.h"
#include "access.h"
#include "area.h"
#include "decode.h"
#include "fetch.h"
#include "observe.h"
#include "pause.h"
#include "phase.h"
#include "registers.h"
#include "snapshot.h"
#include "turn_token.h"
#include "virtual_time.h"

enum { QUANTUM = 0, PROGRAM_QUANTUM = 2000 }; /* cycles */
enum { LATEST_US = 40 }; /* that a salt delays a core: about an operation of Redis's */
/* Code below is always executed functionally (phase.h): all cores spin on a lock of SeaBIOS's, which the first one
 * releases for one PAUSE only. */
enum { FIRMWARE_END = 0x100000 };
/* The plugin's state of a core beside its clock and caches. */
struct core {
	bool in_kernel;
	uint64_t kernel, kernel_since; /* time in the kernel, but for halts */
	uint64_t late; /* charged when it leaves the kernel, where it holds no lock */
};

/* A core's part of the scoreboard. */
struct part {
	struct count count;
	uint64_t code[CODE_SLOTS];
};

int qemu_plugin_version = PLUGIN_VERSION;

static struct core cores[MOST_CORES];
static struct qemu_plugin_scoreboard *board;
static qemu_plugin_u64 used, instructions, code;
static uint64_t program_quantum = PROGRAM_QUANTUM, salt;
static bool traps, whole;
static unsigned core_count;
static size_t processor; /* of the host */
static FILE *out;
static const char *prices, *snapshot; /* options */

static void at_limit(unsigned core, void *data)
{
	(void)data;
	if (!event_turns.core[core].count)
		virtual_time_arrived(core);
	token_step(core);
}

/* ---- instructions of a kind of their own ---- */

/* Returns its clock without the time for which it was halted, which is charged to no phase. */
static uint64_t active_of(unsigned i) { return clock_of(&event_turns.core[i]) - event_turns.core[i].idle; }

static void enter_mode(unsigned i, bool kernel)
{
	struct core *core = &cores[i];
	if (!event_turns.core[i].count || core->in_kernel == kernel)
		return;
	uint64_t now = active_of(i);
	if (core->in_kernel)
		core->kernel += now - core->kernel_since;
	else
		core->kernel_since = now;
	core->in_kernel = kernel;
}
static void enter_kernel(unsigned i, void *data)
{
	(void)data;
	looks[i].did |= SPIN_DISTURBED;
	enter_mode(i, true);
}
static void leave_kernel(unsigned i, void *data)
{
	(void)data;
	enter_mode(i, false);
	if (!cores[i].late || !core_runs(&event_turns, i))
		return;
	core_charge(&event_turns.core[i], cores[i].late);
	cores[i].late = 0;
	let_others(i);
}
static void draw_late(void)
{
	uint64_t most = LATEST_US * machine.khz / 1000 * UNIT;
	for (unsigned i = 0; i < core_count; i++)
		cores[i].late = memory.salt ? salt_of_core(memory.salt, i, DRAWN_BEGIN) % most : 0;
}

/* Takes the prices of a file, or NULL: of none. Returns NULL, or what is wrong. */
static const char *take_prices(const char *file)
{
	static struct machine other;
	unsigned line;
	const char *wrong = file ? machine_read(file, &other, &line) : NULL;
	if (!file || wrong)
		return wrong;
	const struct prices taken = other.price;
	other.price = machine.price;
	if (memcmp(&other, &machine, sizeof(machine)))
		return "is of another machine";
	machine.price = taken;
	return observe_check(&machine.price);
}

/* Called at the first mark from which on memory has prices. Returns in each copy of the machine, if it has copies. */
static void begin_pricing(void)
{
	static struct snapshot_request request;
	static bool has_begun;
	if (has_begun)
		return;
	has_begun = true;
	const char *wrong = snapshot ? snapshot_serve(snapshot, &request, token_thread_moved) : NULL;
	if (snapshot && !wrong) {
		prices = *request.prices ? request.prices : NULL;
		memory_salt(&memory, request.salt);
	}
	const char *of = wrong ? snapshot : prices;
	if (wrong || (wrong = take_prices(prices))) {
		fprintf(stderr, "modelled: %s: %s\n", of, wrong);
		_exit(1);
	}
}

/* A core that reads the time-stamp counter, in programs too, is not ahead of another by more than the quantum. */
static void at_clock(unsigned i, void *data)
{
	(void)data;
	if (!event_turns.core[i].count)
		return;
	pause_looked(i, NULL);
	let_others(i);
	virtual_time_counter(i);
}
static void at_functional_clock(unsigned i, void *data)
{
	(void)data;
	if (event_turns.core[i].count)
		virtual_time_counter(i);
}

/* ---- marks ---- */

static void print_each(const char *name, uint64_t (*value)(unsigned core))
{
	fprintf(out, ",\"%s\":[", name);
	for (unsigned i = 0; i < event_turns.count; i++)
		fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)value(i));
	fputs("]", out);
}
static uint64_t busy_of(unsigned i)
{
	return event_turns.core[i].count ? active_of(i) / UNIT : 0;
}
static uint64_t kernel_of(unsigned i)
{
	const struct core *c = &cores[i];
	return (c->kernel + (c->in_kernel ? active_of(i) - c->kernel_since : 0)) / UNIT;
}
static uint64_t instructions_of(unsigned i)
{
	return event_turns.core[i].count ? event_turns.core[i].count->instructions : 0;
}
static uint64_t accesses_of(unsigned i) { return memory.core[i].traffic.accesses; }
static uint64_t fetches_of(unsigned i) { return memory.core[i].traffic.fetches; }
static uint64_t sum_remote(const uint64_t *by) { return by[SAME_CLUSTER] + by[SAME_SOCKET] + by[OTHER_SOCKET]; }
static uint64_t moved_of(unsigned i)
{
	return sum_remote(memory.core[i].traffic.transfer) + sum_remote(memory.core[i].traffic.upgrade);
}
static uint64_t far_of(unsigned i)
{
	return memory.core[i].traffic.transfer[OTHER_SOCKET] + memory.core[i].traffic.upgrade[OTHER_SOCKET];
}
static uint64_t wait_of(unsigned i) { return memory.core[i].traffic.wait_time / UNIT; }

static bool is_prepared, has_interval;

/* Returns the mark that observers take this one for; 0: none, and no line is written. */
static unsigned observed_as(unsigned number)
{
	const bool begins = number == MARK_PREPARE && !is_prepared, ends = number == MARK_OVER && !has_interval;
	if (number == MARK_PREPARE || number == MARK_OVER)
		number = !whole ? 0 : begins ? 1 : ends ? 2 : 0;
	else
		has_interval = true;
	is_prepared |= begins;
	return number;
}

static void mark_reached(unsigned i, void *data)
{
	const unsigned number = (unsigned)(uintptr_t)data;
	if (!event_turns.core[i].count)
		return;
	token_step(i);
	if (phase_mark(number)) {
		if (!phase_priced()) {
			begin_pricing();
			draw_late();
		}
		memory_warm(&memory);
		access_remapped(MOST_CORES, NULL);
		pause_disturbed();
	}
	const unsigned observed = observed_as(number);
	if (!observed)
		return;
	observe_mark(observed);
	fprintf(out, "{\"marker\":%u,\"core\":%u,\"clock\":%llu,\"late\":%llu,\"misparked\":%llu,\"counter\":\"%s\"",
	        number, i, (unsigned long long)(clock_of(&event_turns.core[i]) / UNIT),
	        (unsigned long long)turn_token.late, (unsigned long long)pause_misparked(),
	        virtual_time_sets_counter() ? "set" : "trapped");
	print_each("executed", busy_of);
	print_each("kernel", kernel_of);
	print_each("instructions", instructions_of);
	print_each("accesses", accesses_of);
	print_each("fetches", fetches_of);
	print_each("lines_moved", moved_of);
	print_each("lines_moved_far", far_of);
	print_each("line_wait", wait_of);
	observe_print(out);
	fputs("}\n", out);
	fflush(out);
}

/* ---- translation ---- */

/* In either phase. */
static void watch_moments(struct qemu_plugin_insn *instruction, const struct decoded *d)
{
	if (d->is & IS_MARK && !observe_transaction(instruction, d->mark))
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, mark_reached, PLUGIN_NO_REGISTERS,
		                                       (void *)(uintptr_t)d->mark);
	if (d->is & IS_KERNEL_ENTRY)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, enter_kernel, PLUGIN_NO_REGISTERS, NULL);
	if (d->is & IS_KERNEL_EXIT)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, leave_kernel, PLUGIN_NO_REGISTERS, NULL);
}

static void watch_instruction(struct qemu_plugin_insn *instruction, const struct decoded *d, bool kernel)
{
	if (d->is & IS_LOCKED) {
		struct locked *locked = locked_make(kernel);
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, before_locked, PLUGIN_NO_REGISTERS, locked);
		observe_accesses(instruction, &locked_accesses, locked, kernel);
	} else if (!kernel || observe_any() || !(d->is & (IS_SAVE | IS_RESTORE)) || !area_watch(instruction, d)) {
		observe_accesses(instruction, kernel ? &kernel_accesses : &program_accesses, NULL, kernel);
	}
	if (d->is & IS_DRAIN)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, drain_accesses, PLUGIN_NO_REGISTERS,
		                                       (void *)(uintptr_t)(d->is & IS_FLUSH));
	if (d->is & IS_REMAP)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, access_remapped, PLUGIN_NO_REGISTERS, NULL);
	if (d->is & IS_PAUSE)
		pause_watch(instruction, kernel);
	if (d->is & IS_IN)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, pause_looked, PLUGIN_NO_REGISTERS, NULL);
	if (d->is & IS_CLOCK)
		qemu_plugin_register_vcpu_insn_exec_cb(instruction, at_clock, PLUGIN_NO_REGISTERS, NULL);
}

static struct decoded decode_at(const struct qemu_plugin_tb *block, size_t place, bool kernel,
                                struct qemu_plugin_insn **instruction)
{
	uint8_t bytes[16] = { 0 };
	*instruction = qemu_plugin_tb_get_insn(block, place);
	size_t size = qemu_plugin_insn_size(*instruction);
	plugin_read(*instruction, bytes, size < sizeof(bytes) ? size : sizeof(bytes));
	return decode(&machine.price, bytes, size, kernel);
}

static void charge_at(struct qemu_plugin_insn *instruction, uint64_t price)
{
	qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(instruction, PLUGIN_ADD, used, price);
}

/* Return the price of what is charged at the block's begin. */
static uint64_t price_functional(const struct qemu_plugin_tb *block, size_t count, bool kernel)
{
	uint64_t cost = 0;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction;
		struct decoded d = decode_at(block, i, kernel, &instruction);
		if (d.is & IS_PAUSE)
			charge_at(instruction, FUNCTIONAL_PAUSE);
		if (d.is & IS_CLOCK)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, at_functional_clock, PLUGIN_NO_REGISTERS,
			                                       NULL);
		cost += d.price;
		watch_moments(instruction, &d);
	}
	return cost;
}

static uint64_t price_block(const struct qemu_plugin_tb *block, size_t count, bool kernel)
{
	uint64_t cost = 0;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction;
		struct decoded d = decode_at(block, i, kernel, &instruction);
		/* charged at its place: XSAVE behind a lock's release is not inside the lock */
		if (d.price > 3 * (kernel ? machine.price.cpi_kernel : machine.price.cpi_user)) {
			charge_at(instruction, d.price);
			if (kernel)
				qemu_plugin_register_vcpu_insn_exec_cond_cb(instruction, at_limit, PLUGIN_NO_REGISTERS,
				                                            PLUGIN_GE, used, LIMIT, NULL);
		} else {
			cost += d.price;
		}
		watch_moments(instruction, &d);
		observe_paid_ahead((count - i - 1) * (kernel ? machine.price.cpi_kernel : machine.price.cpi_user));
		watch_instruction(instruction, &d, kernel);
	}
	return kernel ? cost : less_planted(&machine.price, cost);
}

static void translate_block(plugin_id id, struct qemu_plugin_tb *block)
{
	(void)id;
	uint64_t address = qemu_plugin_tb_vaddr(block);
	size_t count = qemu_plugin_tb_n_insns(block);
	bool kernel = address >> 63, functional = address < FIRMWARE_END || !phase_priced();
	if (!functional)
		fetch_watch(block, count, code);
	uint64_t cost = functional ? price_functional(block, count, kernel) : price_block(block, count, kernel);
	uint64_t ahead = functional ? FUNCTIONAL_QUANTUM : kernel ? 0 : program_quantum * UNIT;
	/* All accesses of the block are made at the moment at which it ends, but for what they wait: when that is the
	 * least. */
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, PLUGIN_ADD, used, cost);
	qemu_plugin_register_vcpu_tb_exec_cond_cb(block, at_limit, PLUGIN_NO_REGISTERS, PLUGIN_GE, used, LIMIT + ahead,
	                                          NULL);
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(block, PLUGIN_ADD, instructions, count);
}

/* One runs at a time: on one processor of the host a hand-over is a switch between threads. */
static void stay_on_one_processor(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void init_core(plugin_id id, unsigned vcpu)
{
	(void)id;
	if (vcpu >= MOST_CORES)
		abort();
	token_join(vcpu);
	const char *wrong = registers_take();
	if (wrong) {
		fprintf(stderr, "modelled: %s\n", wrong);
		exit(1);
	}
	stay_on_one_processor();
}

/* All cores' threads are there: QEMU moves the board no more. */
static void at_open(void)
{
	for (unsigned i = 0; i < core_count; i++) {
		struct part *part = qemu_plugin_scoreboard_find(board, i);
		queue_add(&event_turns, i, &part->count);
		memory.core[i].code = part->code;
	}
	stay_on_one_processor();
}

static bool take_option(const char *option, const char **file)
{
	if (!strncmp(option, "machine=", 8))
		*file = option + 8;
	else if (!strncmp(option, "out=", 4))
		out = fopen(option + 4, "w");
	else if (!strncmp(option, "quantum=", 8))
		event_turns.quantum = strtoull(option + 8, NULL, 10) * UNIT;
	else if (!strncmp(option, "program_quantum=", 16))
		program_quantum = strtoull(option + 16, NULL, 10);
	else if (!strncmp(option, "salt=", 5))
		salt = strtoull(option + 5, NULL, 10);
	else if (!strncmp(option, "prices=", 7))
		prices = strdup(option + 7);
	else if (!strncmp(option, "snapshot=", 9))
		snapshot = strdup(option + 9);
	else if (!strncmp(option, "priced=", 7))
		return phase_take(option + 7);
	else if (!strcmp(option, "park=off") || !strcmp(option, "park=on"))
		pause_parks = !strcmp(option, "park=on");
	else if (!strcmp(option, "counter=trap"))
		traps = true;
	else if (!strcmp(option, "whole=on"))
		whole = true;
	else
		return observe_option(option);
	return true;
}

/* Ends QEMU with the message as its last line: where a plugin returns an error, QEMU adds a line of its own. */
__attribute__((noreturn, format(printf, 1, 2))) static void refuse(const char *format, ...)
{
	va_list values;
	va_start(values, format);
	fputs("modelled: ", stderr);
	vfprintf(stderr, format, values);
	fputc('\n', stderr);
	exit(1);
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
	const char *file = NULL, *wrong;
	unsigned line;
	event_turns.quantum = QUANTUM * UNIT;
	for (int i = 0; i < argc; i++)
		if (!take_option(argv[i], &file))
			refuse("%s: no option of this plugin", argv[i]);
	if (!file || !out)
		refuse("machine=FILE and out=FILE must be given, and be files that can be used");
	if ((wrong = machine_read(file, &machine, &line))) {
		if (line)
			refuse("%s:%u: %s", file, line, wrong);
		refuse("%s: missing or wrong: %s", file, wrong);
	}
	core_count = (unsigned)info->cores;
	if (core_count > machine.cores)
		refuse("%u cores; %s has %u", core_count, file, (unsigned)machine.cores);
	if ((wrong = observe_check(&machine.price)) || (wrong = fetch_take()) ||
	    (wrong = virtual_time_take(&machine, core_count, traps, at_open)))
		refuse("%s", wrong);
	processor = (size_t)sched_getcpu();
	memory_make(&memory, &machine);
	memory_salt(&memory, salt);
	memory.lost = line_lost;
	pause_reports(out);
	observe_begin(&memory);
	board = qemu_plugin_scoreboard_new(sizeof(struct part));
	used = (qemu_plugin_u64){ board, offsetof(struct part, count.used) };
	instructions = (qemu_plugin_u64){ board, offsetof(struct part, count.instructions) };
	code = (qemu_plugin_u64){ board, offsetof(struct part, code) };
	phase_install(id, init_core, translate_block);
	return 0;
}
