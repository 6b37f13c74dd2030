/* SPDX-License-Identifier: BSD-2-Clause */
#include "transaction.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch.h"
#include "hosted.h"

uint32_t (*transaction_aborts)(enum transaction_place place);
void (*transaction_waits)(void);
struct transaction_count transaction_count;

/* The one that runs: its core, null when none does. */
static struct hosted_core *running;
static struct fiber_mark mark;
static uint32_t *status_at;
static uint64_t time_before; /* the machine's clock is put back: the next attempt is made at the same time */

static struct {
	uint8_t *address;
	uint8_t size, before[16];
} write_log[TRANSACTION_WRITES_MAX];
static unsigned writes;

/* All that the processor may say, the likely more often. */
static const uint32_t drawn[] = {
	TRANSACTION_CONFLICT | TRANSACTION_RETRY, TRANSACTION_CONFLICT | TRANSACTION_RETRY,
	TRANSACTION_CONFLICT | TRANSACTION_RETRY, TRANSACTION_RETRY, TRANSACTION_CAPACITY,
	TRANSACTION_CAPACITY | TRANSACTION_RETRY, TRANSACTION_DEBUG,
	TRANSACTION_NESTED, 0, 0, 0,
};
enum { DRAWN = sizeof(drawn) / sizeof(drawn[0]), ONE_PLACE_IN = 16, ONE_WRITE_IN = 256 };

static uint32_t draw(enum transaction_place place)
{
	static uint64_t state = 88172645463325252;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	if ((state >> 20) % (place == TRANSACTION_WRITES ? ONE_WRITE_IN : ONE_PLACE_IN))
		return TRANSACTION_GOES_ON;
	return drawn[(state >> 40) % DRAWN];
}

static void may_abort(enum transaction_place place)
{
	uint32_t status = transaction_aborts ? transaction_aborts(place) : draw(place);
	if (status != TRANSACTION_GOES_ON)
		transaction_abort(status);
}

const char *transaction_none(void)
{
	return hosted_self->machine->config.threads ? "cores are threads, and transactions in software are for one" : 0;
}

bool transaction_begin(uint32_t *status)
{
	struct hosted_core *core = hosted_self;
	if (fiber_mark(&core->fiber, &mark)) {
		hosted_pause();
		return false;
	}
	transaction_count.begun++;
	status_at = status;
	writes = 0;
	running = core;
	time_before = core->machine->time;
	may_abort(TRANSACTION_BEGINS);
	return true;
}

/* Backwards, for a place may have been written twice. The stack, on which this runs, is the mark's to restore. */
static void undo(const struct fiber *fiber)
{
	while (writes) {
		writes--;
		if ((size_t)(write_log[writes].address - (uint8_t *)fiber->stack) >= fiber->size)
			memcpy(write_log[writes].address, write_log[writes].before, write_log[writes].size);
	}
}

void transaction_abort(uint32_t status)
{
	struct hosted_core *core = running;
	running = 0;
	undo(&core->fiber);
	core->machine->time = time_before;
	*status_at = status;
	transaction_count.aborted++;
	fiber_back(&core->fiber, &mark);
}

void transaction_end(void)
{
	may_abort(TRANSACTION_ENDS);
	running = 0;
	transaction_count.committed++;
}

void transaction_writes(void *address, size_t size)
{
	if (!running)
		return;
	for (uint8_t *at = address; size;) {
		size_t part = size < sizeof(write_log->before) ? size : sizeof(write_log->before);
		if (writes == TRANSACTION_WRITES_MAX)
			transaction_abort(TRANSACTION_CAPACITY);
		write_log[writes].address = at;
		write_log[writes].size = part;
		memcpy(write_log[writes++].before, at, part);
		at += part;
		size -= part;
	}
	may_abort(TRANSACTION_WRITES);
}

/* What the port does for the kernel, by the linker's --wrap. */

uint64_t __real_hosted_time(void);
uint64_t __wrap_hosted_time(void);
uint64_t __wrap_hosted_time(void)
{
	if (running)
		may_abort(TRANSACTION_READS_TIME);
	return __real_hosted_time();
}

/* Something happens that no abort takes back. */
static void must_not_run(const char *what)
{
	if (!running)
		return;
	running = 0;
	fprintf(stderr, "%s in a transaction: kernel_irrevocable() is missing\n", what);
	arch_panic("a transaction that must not be one");
}

void __real_hosted_relax(void);
void __wrap_hosted_relax(void);
void __wrap_hosted_relax(void)
{
	must_not_run("waiting");
	if (transaction_waits)
		transaction_waits();
	__real_hosted_relax();
}

#define OUTSIDE(result, name, parameters, arguments)                                      \
	result __real_##name parameters;                                                  \
	result __wrap_##name parameters;                                                  \
	result __wrap_##name parameters                                                   \
	{                                                                                 \
		must_not_run(#name);                                                      \
		return __real_##name arguments;                                           \
	}
OUTSIDE(void, hosted_pause, (void), ())
OUTSIDE(void, hosted_flush_tlb, (void), ())
OUTSIDE(void, hosted_flush_tag, (uint64_t tag), (tag))
OUTSIDE(void, hosted_flush_kernel, (void), ())
OUTSIDE(void, arch_unload, (struct cpu *cpu), (cpu))
OUTSIDE(void, arch_unload_vspace, (struct cpu *cpu), (cpu))
OUTSIDE(void, arch_interrupt_cores, (struct cpu *cpu, const struct core_set *cores), (cpu, cores))
OUTSIDE(void, arch_gsi_route, (struct kernel *kernel, uint64_t gsi, uint32_t core, unsigned number, bool level,
                               bool low),
        (kernel, gsi, core, number, level, low))
OUTSIDE(void, arch_gsi_mask, (struct kernel *kernel, uint64_t gsi, bool masked), (kernel, gsi, masked))
OUTSIDE(uint64_t, arch_port_in, (uint16_t port, unsigned size), (port, size))
OUTSIDE(void, arch_port_out, (uint16_t port, unsigned size, uint64_t value), (port, size, value))
OUTSIDE(void, arch_console_put, (char c), (c))
OUTSIDE(bool, arch_console_ready, (void), ())
OUTSIDE(void, arch_finish, (struct cpu *cpu), (cpu))
