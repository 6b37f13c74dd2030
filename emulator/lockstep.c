/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A QEMU plugin under which emulated cores go in step: in the kernel none is
 * ever more than `quantum` instructions ahead of another that runs. So each
 * core has a clock of its own that advances by 1 with each of its instructions,
 * and all clocks agree: a core that waits for a lock spends the instructions that it
 * spins, as on a machine whose every instruction takes one cycle and whose
 * cache lines move for nothing. How fast the host is, and what else it does,
 * does not matter.
 *
 * Programs run ahead as far as they like, and wait when they enter the kernel:
 * this is for programs that share nothing else with other cores. A core that
 * halts does not hold up the others, and finds their time when it goes on.
 * For `-accel tcg,thread=multi`.
 *
 *     -plugin lockstep.so,out=FILE[,quantum=N]
 *
 * The guest marks moments by no-ops (mark.h), at which the other cores come up
 * first; each writes a line to FILE: the marker's number, the core, its clock,
 * how often a core went ahead because the others did not come (see `TIMEOUT`),
 * and of each core the instructions that it executed, and how many of them in
 * the kernel.
 */
#include "mark.h"
#include "modelled/most_cores.h"
#include "qemu_plugin.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUANTUM = 20 };
/* Nanoseconds that a core waits for the others. QEMU stops all cores for some work of its own, and one that waits
 * here would never see that. One block of instructions then goes ahead, which is what it takes to see it. */
enum { TIMEOUT = 100000000 };

struct core {
	_Atomic uint64_t clock;
	_Atomic uint64_t executed, in_kernel; /* instructions, and those of them that were the kernel's */
	_Atomic bool runs;
} __attribute__((aligned(64)));

static struct core core[MOST_CORES];
static unsigned core_count; /* that have run; under the mutex, as what follows */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static _Atomic uint64_t limit = QUANTUM; /* up to where clocks may advance */
static uint64_t quantum = QUANTUM, late;
static FILE *out;

int qemu_plugin_version = PLUGIN_VERSION;

/* Moves the limit if all that run have come to it. */
static void limit_advance(void)
{
	uint64_t least = UINT64_MAX;
	for (unsigned i = 0; i < core_count; i++)
		if (core[i].runs && core[i].clock < least)
			least = core[i].clock;
	if (least == UINT64_MAX || least < limit)
		return;
	limit = least + quantum;
	pthread_cond_broadcast(&moved);
}

static void wait_for_others(struct core *this)
{
	pthread_mutex_lock(&mutex);
	limit_advance();
	if (this->clock >= limit) {
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TIMEOUT;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		while (this->clock >= limit)
			if (pthread_cond_timedwait(&moved, &mutex, &until) == ETIMEDOUT) {
				late++;
				break;
			}
	}
	pthread_mutex_unlock(&mutex);
}

static void begin_to_run(unsigned vcpu)
{
	struct core *this = &core[vcpu];
	pthread_mutex_lock(&mutex);
	uint64_t now = limit - quantum;
	if (this->clock < now)
		this->clock = now;
	this->runs = true;
	if (core_count <= vcpu)
		core_count = vcpu + 1;
	pthread_mutex_unlock(&mutex);
}

/* Others may wait for this one to come up to the limit. */
static void come_up(void)
{
	pthread_mutex_lock(&mutex);
	limit_advance();
	pthread_mutex_unlock(&mutex);
}

static inline void count_block(unsigned vcpu, uint64_t instructions, bool kernel)
{
	struct core *this = &core[vcpu];
	if (!this->runs)
		begin_to_run(vcpu);
	/* Only this thread writes them. */
	uint64_t before = atomic_load_explicit(&this->clock, memory_order_relaxed), clock = before + instructions;
	uint64_t executed = atomic_load_explicit(&this->executed, memory_order_relaxed) + instructions;
	atomic_store_explicit(&this->executed, executed, memory_order_relaxed);
	if (kernel)
		this->in_kernel += instructions;
	this->clock = clock;
	uint64_t until = limit;
	if (clock < until)
		return;
	if (kernel)
		wait_for_others(this);
	else if (before < until)
		come_up();
}

static void run_user(unsigned vcpu, void *instructions) { count_block(vcpu, (uintptr_t)instructions, false); }
static void run_kernel(unsigned vcpu, void *instructions) { count_block(vcpu, (uintptr_t)instructions, true); }

static void halt_core(plugin_id id, unsigned vcpu)
{
	(void)id;
	pthread_mutex_lock(&mutex);
	core[vcpu].runs = false;
	limit_advance();
	pthread_mutex_unlock(&mutex);
}

static void mark_reached(unsigned vcpu, void *number)
{
	if (core[vcpu].clock >= limit)
		wait_for_others(&core[vcpu]);
	pthread_mutex_lock(&mutex);
	fprintf(out, "{\"marker\":%u,\"core\":%u,\"clock\":%llu,\"late\":%llu,\"executed\":[",
	        (unsigned)(uintptr_t)number, vcpu, (unsigned long long)core[vcpu].clock, (unsigned long long)late);
	for (unsigned i = 0; i < core_count; i++)
		fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)core[i].executed);
	fputs("],\"kernel\":[", out);
	for (unsigned i = 0; i < core_count; i++)
		fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)core[i].in_kernel);
	fputs("]}\n", out);
	fflush(out);
	pthread_mutex_unlock(&mutex);
}

static void translate_block(plugin_id id, struct qemu_plugin_tb *block)
{
	(void)id;
	size_t count = qemu_plugin_tb_n_insns(block);
	bool kernel = qemu_plugin_tb_vaddr(block) >> 63;
	qemu_plugin_register_vcpu_tb_exec_cb(block, kernel ? run_kernel : run_user, PLUGIN_NO_REGISTERS, (void *)count);
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		uint8_t bytes[MARK_SIZE];
		size_t size = qemu_plugin_insn_size(instruction);
		if (size != MARK_SIZE)
			continue;
		plugin_read(instruction, bytes, size);
		int number = mark_number(bytes, size);
		if (number != NO_MARK && number != MARK_PREPARE && number != MARK_OVER)
			qemu_plugin_register_vcpu_insn_exec_cb(instruction, mark_reached, PLUGIN_NO_REGISTERS,
			                                       (void *)(uintptr_t)number);
	}
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			out = fopen(argv[i] + 4, "w");
		else if (!strncmp(argv[i], "quantum=", 8))
			limit = quantum = strtoull(argv[i] + 8, NULL, 10);
	}
	if (!out || !quantum) {
		fputs("lockstep: out=FILE must be given, and quantum not be 0\n", stderr);
		return -1;
	}
	if (info->cores > MOST_CORES) {
		fprintf(stderr, "lockstep: %d cores; %d are the most\n", info->cores, MOST_CORES);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate_block);
	qemu_plugin_register_vcpu_idle_cb(id, halt_core);
	return 0;
}
