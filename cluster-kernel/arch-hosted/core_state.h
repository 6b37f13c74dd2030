/* SPDX-License-Identifier: BSD-2-Clause */
/* What one core of a hosted machine has beside struct cpu. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "fiber.h"

struct cpu;
struct hosted;
struct thread;
struct vspace;

enum { HOSTED_TLB = 8, HOSTED_PINS = 24, HOSTED_VECTORS = 256, HOSTED_CONSOLE = 4096 };
enum { HOSTED_VECTOR_IRQ = 0x30, HOSTED_VECTOR_TIMER = 0xef, HOSTED_VECTOR_POKE, HOSTED_VECTOR_DOORBELL };

enum hosted_order { ORDER_NONE, ORDER_CALL, ORDER_FAULT };

struct hosted_core {
	struct hosted *machine;
	struct cpu *cpu;
	struct fiber fiber;
	bool inside;     /* between the beginning of a kernel entry and its end */
	bool done;       /* what was posted last has been done */
	uint64_t timer;  /* TSC at which the timer interrupts, 0: off */
	uint64_t vectors[HOSTED_VECTORS / 64]; /* interrupts that have arrived */
	enum hosted_order order;
	struct thread *thread; /* who is to do it */
	uint64_t words[9];     /* of the order */
	unsigned fault, fault_count;
	struct {
		const struct vspace *vspace;
		uint64_t vaddr, entry;
	} tlb[HOSTED_TLB];
	unsigned tlb_next;
};

/* The core whose kernel entry this thread of the host is in; null outside. */
extern _Thread_local struct hosted_core *hosted_self;

/* Makes core `index` of a machine whose kernel is built. */
void hosted_core_init(struct hosted *machine, unsigned index);
/* A place where another core may go on. */
void hosted_pause(void);
void hosted_interrupt(struct hosted_core *core, unsigned vector);
struct hosted_core *hosted_core_by_apic(uint32_t apic);
uint32_t hosted_apic(unsigned cluster, unsigned core);
