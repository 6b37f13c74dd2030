/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices of a hosted machine: interrupt pins, MSI, I/O ports, console; and its end. */
#include <stdio.h>
#include <stdlib.h>
#include <skerry/ledger.h>
#include "arch.h"
#include "hosted.h"

static struct hosted *machine_of(const struct kernel *kernel)
{
	return (struct hosted *)((char *)kernel - __builtin_offsetof(struct hosted, kernel));
}

bool arch_gsi_exists(const struct kernel *kernel, uint64_t gsi) { return gsi < machine_of(kernel)->config.gsis; }

/* Level-triggered: what is raised while masked arrives when it is unmasked. */
static void pin_deliver(struct hosted *machine, struct hosted_pin *pin)
{
	if (!pin->routed || pin->masked || !pin->raised)
		return;
	pin->raised = false;
	hosted_interrupt(&machine->core[pin->core], HOSTED_VECTOR_IRQ + pin->number);
}

void arch_gsi_route(struct kernel *kernel, uint64_t gsi, uint32_t core, unsigned number, bool level, bool low)
{
	(void)level, (void)low;
	struct hosted *machine = machine_of(kernel);
	struct hosted_pin *pin = &machine->pin[gsi];
	pthread_mutex_lock(&machine->pins);
	*pin = (struct hosted_pin){ .core = core, .number = number, .routed = true, .raised = pin->raised };
	pin_deliver(machine, pin);
	pthread_mutex_unlock(&machine->pins);
}

void arch_gsi_mask(struct kernel *kernel, uint64_t gsi, bool masked)
{
	struct hosted *machine = machine_of(kernel);
	if (gsi >= machine->config.gsis)
		return;
	pthread_mutex_lock(&machine->pins);
	machine->pin[gsi].masked = masked;
	pin_deliver(machine, &machine->pin[gsi]);
	pthread_mutex_unlock(&machine->pins);
}

void hosted_raise_pin(struct hosted *machine, unsigned gsi)
{
	pthread_mutex_lock(&machine->pins);
	machine->pin[gsi].raised = true;
	pin_deliver(machine, &machine->pin[gsi]);
	pthread_mutex_unlock(&machine->pins);
}

enum { MSI_CORE_SHIFT = 12 };

void arch_msi_message(const struct kernel *kernel, uint32_t core, unsigned number, uint64_t *address, uint64_t *data)
{
	(void)kernel;
	*address = 0xfee00000ull | (uint64_t)core << MSI_CORE_SHIFT;
	*data = HOSTED_VECTOR_IRQ + number;
}

void hosted_write_msi(struct hosted *machine, uint64_t address, uint64_t data)
{
	hosted_interrupt(&machine->core[address >> MSI_CORE_SHIFT & 0xff], data & 0xff);
}

uint64_t arch_port_in(uint16_t port, unsigned size)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)atomic_load_explicit(&hosted_self->machine->port[port + i],
		                                        memory_order_relaxed) << 8 * i;
	return value;
}

void arch_port_out(uint16_t port, unsigned size, uint64_t value)
{
	for (unsigned i = 0; i < size; i++)
		atomic_store_explicit(&hosted_self->machine->port[port + i], value >> 8 * i, memory_order_relaxed);
}

bool arch_console_ready(void)
{
	_Atomic uint32_t *busy = &hosted_self->machine->console_busy;
	uint32_t left = atomic_load_explicit(busy, memory_order_relaxed);
	if (left)
		atomic_store_explicit(busy, left - 1, memory_order_relaxed);
	return !left;
}

void arch_console_put(char c)
{
	struct hosted *machine = hosted_self->machine;
	uint32_t place = atomic_fetch_add_explicit(&machine->console_size, 1, memory_order_relaxed);
	atomic_store_explicit(&machine->console[place % HOSTED_CONSOLE], c, memory_order_relaxed);
}

static unsigned this_index(void) { return (unsigned)(hosted_self - hosted_self->machine->core); }

static void show_console(const struct hosted *machine)
{
	uint32_t end = machine->console_size, start = end > HOSTED_CONSOLE ? end - HOSTED_CONSOLE : 0;
	for (uint32_t i = start; i < end; i++)
		fputc(machine->console[i % HOSTED_CONSOLE], stderr);
}

static _Noreturn void machine_end(const char *reason)
{
	if (hosted_self) {
		show_console(hosted_self->machine);
		fprintf(stderr, "kernel panic: cluster %u core %u: %s (seed %llu)\n",
		        hosted_self->machine->config.cluster,
		        this_index(), reason, (unsigned long long)hosted_self->machine->config.seed);
	}
	abort();
}

_Noreturn void arch_panic(const char *reason)
{
	struct ledger_kernel *ledger = hosted_self ? hosted_self->machine->kernel.ledger : 0;
	if (ledger)
		ledger_last_words(ledger, LEDGER_PANIC, this_index(), reason);
	machine_end(reason);
}

_Noreturn void arch_hang(void) { machine_end("told to hang"); }
_Noreturn void arch_init_self(void) { machine_end("told to reset itself"); }
