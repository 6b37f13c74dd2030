/* SPDX-License-Identifier: BSD-2-Clause */
#include "observe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "access.h"
#include "lines.h"
#include "locks.h"
#include "transactions.h"

enum { MOST_LINES = 256 }; /* that are written */

/* An instruction that is observed. */
struct site {
	uint64_t pc;
	bool kernel, atomic;
	bool is_number; /* stores the number of a system call */
	bool is_push;   /* pushes a constant */
	uint64_t ahead; /* the core's clock, when it accesses memory, beyond the access */
	const struct watch *usual;
	void *data;
};

static FILE *lines_out, *locks_out;
static enum lock_protocol protocol;
static uint64_t tail, entry_syscall, entry_interrupt;
static unsigned pushed[MOST_CORES]; /* the last constant: an interrupt's number, in its stub */
static bool has_transactions;
static uint16_t kernel_of[MOST_CORES];
static struct transactions transactions;
static uint64_t core_local, core_local_stride;
static uint64_t cpu_address[MOST_CORES]; /* of each core's struct cpu, as the core reads it */
static bool counting;                    /* between the marks */
static uint64_t paid_ahead;
static struct touch current;             /* the access that is being made; one core runs at a time */

/* A number for each core. */
static bool read_kernels(const char *text)
{
	for (unsigned i = 0; i < MOST_CORES; i++) {
		char *end;
		unsigned long kernel = strtoul(text, &end, 10);
		if (end == text || kernel >= MOST_CORES || (*end && *end != ':'))
			return false;
		kernel_of[i] = (uint16_t)kernel;
		if (!*end)
			return true;
		text = end + 1;
	}
	return false;
}

static bool read_protocol(const char *name)
{
	static const char *const names[] = { "ticket", "clh", "mcs" };
	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(name, names[i])) {
			protocol = (enum lock_protocol)i;
			return true;
		}
	return false;
}

bool observe_option(const char *option)
{
	char *end;
	if (!strncmp(option, "lines=", 6))
		return (lines_out = fopen(option + 6, "w"));
	if (!strncmp(option, "locks=", 6))
		return (locks_out = fopen(option + 6, "w"));
	if (!strncmp(option, "protocol=", 9))
		return read_protocol(option + 9);
	if (!strncmp(option, "tail=", 5)) {
		tail = strtoull(option + 5, &end, 0);
		return !*end;
	}
	if (!strncmp(option, "entry=", 6)) {
		entry_syscall = strtoull(option + 6, &end, 0);
		entry_interrupt = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
		return !*end;
	}
	if (!strncmp(option, "transactions=", 13))
		return (has_transactions = read_kernels(option + 13));
	if (strncmp(option, "core_local=", 11))
		return false;
	core_local = strtoull(option + 11, &end, 0);
	core_local_stride = *end == ':' ? strtoull(end + 1, &end, 0) : 0;
	return !*end && core_local_stride;
}

static void line_moved(const struct movement *movement)
{
	if (counting && lines_out)
		lines_moved(movement, &current);
	if (counting && locks_out && current.pc >> 63)
		locks_moved(movement->core, movement->line, current.address);
	if (has_transactions)
		core_charge(&event_turns.core[movement->core], transaction_moved(&transactions, movement));
}

const char *observe_check(const struct prices *prices)
{
	if (!prices->planted_hold)
		return NULL;
	return !locks_out ? "planted_hold: there are no holds without the option locks=FILE"
	       : has_transactions ? "planted_hold: kernels with transactions hold no lock" : NULL;
}

bool observe_any(void) { return lines_out || locks_out || has_transactions; }

void observe_begin(struct memory *memory)
{
	if (lines_out)
		lines_make((unsigned)memory->machine->cores);
	if (has_transactions)
		transactions_make(&transactions, memory->machine, kernel_of);
	if (locks_out)
		locks_make(protocol, tail, (unsigned)memory->machine->cores);
	if (observe_any())
		memory->moved = line_moved;
}

/* Each entry into the kernel loads the address of the core's struct cpu: the first member of its element of
 * core_local[]. */
static void look_for_cpu(unsigned core, plugin_meminfo info, uint64_t address)
{
	uint64_t offset = address - core_local;
	if (core_local_stride && offset < MOST_CORES * core_local_stride && offset % core_local_stride == 0 &&
	    qemu_plugin_mem_size_shift(info) == 3 && !qemu_plugin_mem_is_store(info))
		cpu_address[core] = qemu_plugin_mem_get_value(info).data.u64;
}

static uint64_t value_of(plugin_meminfo info, unsigned size)
{
	struct plugin_mem_value value = qemu_plugin_mem_get_value(info);
	return size >= 8 ? value.data.u64 : size == 4 ? value.data.u32 : size == 2 ? value.data.u16 : value.data.u8;
}

static void watch_locks(const struct site *site, plugin_meminfo info, const struct touch *touch, uint64_t before)
{
	uint64_t value = value_of(info, touch->size);
	if (site->is_number && touch->store)
		locks_entered(touch->core, (unsigned)(value < KIND_VECTOR ? value : KIND_UNKNOWN));
	if (site->is_push)
		pushed[touch->core] = (unsigned)value;
	if (site->pc == entry_interrupt)
		locks_entered(touch->core, KIND_VECTOR + pushed[touch->core] % KIND_VECTOR);
	bool taken = locks_access(&(struct lock_access){
		.core = touch->core, .store = touch->store, .atomic = site->atomic, .address = touch->address,
		.physical = touch->line * 64 + touch->offset, .value = value, .size = touch->size,
		.before = before - site->ahead,
		.after = clock_of(&event_turns.core[touch->core]) - site->ahead,
	});
	if (taken && counting)
		core_charge(&event_turns.core[touch->core], machine.price.planted_hold);
}

/* Reports an access that has been made; it began at `before`. */
static void report_access(const struct site *site, plugin_meminfo info, const struct touch *touch, uint64_t before)
{
	if (locks_out && site->kernel)
		watch_locks(site, info, touch, before);
	if (has_transactions && transaction_runs(&transactions, touch->core)) {
		struct runner *runner = &event_turns.core[touch->core];
		core_charge(runner, transaction_touch(&transactions, touch->core, touch->line, touch->store,
		                                      clock_of(runner)));
	}
	if (site->kernel)
		look_for_cpu(touch->core, info, touch->address);
	if (counting && lines_out)
		lines_touched(touch);
}

static void access_observed(unsigned core, plugin_meminfo info, uint64_t address, void *data)
{
	const struct site *site = data;
	bool transaction = has_transactions && transaction_runs(&transactions, core);
	if (!(counting && lines_out) && !locks_out && !transaction) {
		(qemu_plugin_mem_is_store(info) ? site->usual->store : site->usual->load)(core, info, address,
			site->data);
		return;
	}
	struct qemu_plugin_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
	uint64_t physical = where && !qemu_plugin_hwaddr_is_io(where) ? qemu_plugin_hwaddr_phys_addr(where) : 0;
	struct touch touch = {
		.core = core, .store = qemu_plugin_mem_is_store(info), .pc = site->pc, .address = address,
		.line = physical >> 6, .offset = physical & 63, .size = 1u << qemu_plugin_mem_size_shift(info),
	};
	uint64_t before = clock_of(&event_turns.core[core]);
	current = touch;
	access_keeps_turn = true;
	(touch.store ? site->usual->store : site->usual->load)(core, info, address, site->data);
	access_keeps_turn = false;
	if (physical)
		report_access(site, info, &touch, before);
	if (site->kernel && (!site->atomic || touch.store))
		let_others(core);
}
/* entry.S: `mov %rax, CONTEXT_rax(%rsp)` behind entry_syscall; each interrupt's stub pushes its number. */
static void look_at(struct site *site, const struct qemu_plugin_insn *instruction)
{
	enum { SAVE_SYSCALL = 128 }; /* bytes */
	uint8_t bytes[16] = { 0 };
	size_t size = qemu_plugin_insn_size(instruction);
	plugin_read(instruction, bytes, size < sizeof(bytes) ? size : sizeof(bytes));
	site->is_push = bytes[0] == 0x68 || bytes[0] == 0x6a;
	site->is_number = site->pc - entry_syscall < SAVE_SYSCALL && bytes[0] == 0x48 && bytes[1] == 0x89 &&
	                  (bytes[2] == 0x44 || bytes[2] == 0x84) && bytes[3] == 0x24;
}

void observe_paid_ahead(uint64_t price) { paid_ahead = price; }

void observe_accesses(struct qemu_plugin_insn *instruction, const struct watch *usual, void *data, bool kernel)
{
	if (!lines_out && !((has_transactions || locks_out) && kernel)) {
		qemu_plugin_register_vcpu_mem_cb(instruction, usual->load, PLUGIN_NO_REGISTERS, PLUGIN_READS, data);
		qemu_plugin_register_vcpu_mem_cb(instruction, usual->store, PLUGIN_NO_REGISTERS, PLUGIN_WRITES, data);
		return;
	}
	struct site *site = malloc(sizeof(*site)); /* as long as QEMU keeps the block */
	if (!site)
		abort();
	*site = (struct site){ .pc = qemu_plugin_insn_vaddr(instruction), .kernel = kernel, .atomic = data != NULL,
	                       .ahead = paid_ahead,
		               .usual = usual, .data = data };
	look_at(site, instruction);
	qemu_plugin_register_vcpu_mem_cb(instruction, access_observed, PLUGIN_NO_REGISTERS,
					 PLUGIN_READS_AND_WRITES, site);
}

static void write_cpus(FILE *out)
{
	fputs("\"cpus\":[", out);
	for (unsigned i = 0; i < event_turns.count; i++)
		fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)cpu_address[i]);
	fputs("]}\n", out);
}

static void write_lines(void)
{
	fputs("{", lines_out);
	lines_write(lines_out, MOST_LINES);
	fputs(",", lines_out);
	write_cpus(lines_out);
	fflush(lines_out);
}

static void write_locks(void)
{
	fputs("{", locks_out);
	locks_write(locks_out);
	fputs(",", locks_out);
	write_cpus(locks_out);
	fflush(locks_out);
}

void observe_mark(unsigned number)
{
	if (number != 1 && number != 2)
		return;
	counting = number == 1;
	if (counting && has_transactions)
		transactions_reset(&transactions);
	if (counting && locks_out)
		locks_reset();
	else if (locks_out)
		write_locks();
	if (!lines_out)
		return;
	if (counting)
		lines_reset();
	else
		write_lines();
}

/* ---- transactions ---- */

/* The upper half of a mark's number: as in cluster-kernel/arch-modelled/arch_transaction.h. */
enum { MODEL_BEGIN = 1, MODEL_COMMIT, MODEL_LOCK_HELD, MODEL_IRREVOCABLE, MODEL_LOCKED };

/* From the begin to the end no other core runs; where it falls back in the middle, until it has the kernel's lock. */
static void at_transaction(unsigned core, void *mark)
{
	struct runner *runner = &event_turns.core[core];
	unsigned kind = (unsigned)(uintptr_t)mark >> 8, argument = (uintptr_t)mark & 0xff;
	if (!runner->count)
		return;
	if (kind == MODEL_BEGIN) {
		token_step(core);
		token_keep(core, true);
	}
	uint64_t now = clock_of(runner);
	core_charge(runner, kind == MODEL_BEGIN    ? transaction_begin(&transactions, core, argument, now)
	               : kind == MODEL_COMMIT ? transaction_commit(&transactions, core, now)
	               : kind == MODEL_LOCK_HELD ? transaction_lock_held(&transactions, core, now)
	               : kind == MODEL_IRREVOCABLE ? transaction_irrevocable(&transactions, core, now) : 0);
	if (kind != MODEL_BEGIN && kind != MODEL_IRREVOCABLE)
		token_keep(core, false);
}

bool observe_transaction(struct qemu_plugin_insn *instruction, unsigned mark)
{
	if (!(mark >> 8))
		return false;
	if (!has_transactions) {
		fputs("modelled: the kernel has transactions, and the option transactions=KERNELS is not given\n",
		      stderr);
		exit(1);
	}
	qemu_plugin_register_vcpu_insn_exec_cb(instruction, at_transaction, PLUGIN_NO_REGISTERS,
	                                       (void *)(uintptr_t)mark);
	return true;
}

void observe_pause(unsigned core)
{
	if (!has_transactions || !transaction_runs(&transactions, core))
		return;
	fprintf(stderr, "modelled: core %u waits in a transaction\n", core);
	exit(1);
}

void observe_print(FILE *to)
{
	if (!has_transactions)
		return;
	fputs(",\"transactions\":", to);
	transactions_write(to, &transactions);
}
