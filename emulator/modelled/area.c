/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets: Intel SDM volume 1, 13.4. The order of accesses: do_xsave_access() and do_xrstor_access() of QEMU. */
#include "area.h"
#include <stdio.h>
#include <stdlib.h>
#include "access.h"
#include "registers.h"

enum { X87 = 1, SSE = 2, AVX = 4 };
enum { MXCSR = 24, X87_REGISTERS = 32, SSE_REGISTERS = 160, HEADER = 512, AVX_REGISTERS = 576 };
enum { RAX = 0, RDX = 2 }; /* as instructions number them */

/* Lives as long as QEMU's translation. */
struct area {
	struct operand at;
	bool store;
};

/* Returns the components that the area's header has; others are not read. */
static uint64_t components_there(unsigned core, uint64_t area)
{
	return registers_memory(core, area + HEADER);
}

static void access_x87(unsigned core, uint64_t area, bool store)
{
	access_row(core, area, 3, 2, store); /* control, status, tags */
	if (store)
		access_row(core, area + 8, 2, 8, store); /* the last instruction and its operand */
	for (unsigned i = 0; i < 8; i++)
		access_row(core, area + X87_REGISTERS + i * 16, 2, 8, store);
}

static void access_components(unsigned core, uint64_t area, uint64_t asked, uint64_t there, bool store)
{
	if (asked & there & X87)
		access_x87(core, area, store);
	if (asked & SSE)
		access_row(core, area + MXCSR, store ? 2 : 1, 4, store); /* and its mask */
	if (asked & there & SSE)
		access_row(core, area + SSE_REGISTERS, 32, 8, store);
	if (asked & there & AVX)
		access_row(core, area + AVX_REGISTERS, 32, 8, store);
}

static void access_area(unsigned core, void *data)
{
	const struct area *of = data;
	if (!event_turns.core[core].count)
		return;
	uint64_t area = (uint64_t)(int64_t)of->at.displacement;
	if (of->at.base != NO_REGISTER)
		area += registers_general(core, of->at.base);
	if (of->at.index != NO_REGISTER)
		area += registers_general(core, of->at.index) << of->at.scale;
	uint64_t asked = (registers_general(core, RAX) & 0xffffffff) | registers_general(core, RDX) << 32;
	if (asked & ~(uint64_t)(X87 | SSE | AVX)) {
		fprintf(stderr, "modelled: the kernel saves components %#llx; x87, SSE and AVX (7) are modelled\n",
		        (unsigned long long)asked);
		exit(1);
	}
	if (of->store) {
		access_components(core, area, asked, asked, true);
		access_row(core, area + HEADER, 1, 8, false);
		access_row(core, area + HEADER, 1, 8, true);
	} else {
		uint64_t there = components_there(core, area);
		access_row(core, area + HEADER, 3, 8, false);
		access_components(core, area, asked, there, false);
	}
}

bool area_watch(struct qemu_plugin_insn *instruction, const struct decoded *d)
{
	if (!d->operand.known)
		return false;
	struct area *area = malloc(sizeof(*area));
	if (!area)
		abort();
	*area = (struct area){ d->operand, d->is & IS_SAVE };
	qemu_plugin_register_vcpu_insn_exec_cb(instruction, access_area, PLUGIN_READS_REGISTERS, area);
	return true;
}
