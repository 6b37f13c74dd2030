/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "fetch.h"
#include <dlfcn.h>
#include "access.h"

enum { LINE_BITS = 6, PAGE = 4096 };

/* QEMU 10.1 and later have the one, of their interface for plugins; earlier ones export what the debugger's stub
 * uses. */
static bool (*translate_address)(uint64_t address, uint64_t *physical);
static void *(*get_core)(int core);
static uint64_t (*physical_page)(void *core, uint64_t page);

const char *fetch_take(void)
{
	translate_address = (bool (*)(uint64_t, uint64_t *))dlsym(RTLD_DEFAULT, "qemu_plugin_translate_vaddr");
	get_core = (void *(*)(int))dlsym(RTLD_DEFAULT, "qemu_get_cpu");
	physical_page = (uint64_t(*)(void *, uint64_t))dlsym(RTLD_DEFAULT, "cpu_get_phys_page_debug");
	return translate_address || (get_core && physical_page) ? NULL
	       : "this QEMU does not say where in memory code is";
}

bool fetch_page(uint64_t page, uint64_t *physical)
{
	if (translate_address)
		return translate_address(page, physical);
	*physical = physical_page(get_core(token_self()), page);
	return *physical != UINT64_MAX;
}

static void fetch_line(unsigned i, void *line)
{
	struct runner *runner = &event_turns.core[i];
	if (!runner->count)
		return;
	uint64_t now = clock_of(runner);
	uint64_t cost = memory_fetch(&memory, i, (uintptr_t)line, now) - now;
	looks[i].waited += cost;
	core_charge(runner, cost);
	let_others(i);
}

static void watch_line(struct qemu_plugin_insn *instruction, uint64_t line, qemu_plugin_u64 slots)
{
	slots.offset += code_slot(line) * sizeof(uint64_t);
	qemu_plugin_register_vcpu_insn_exec_cond_cb(instruction, fetch_line, PLUGIN_NO_REGISTERS, PLUGIN_NE, slots,
	                                            line, (void *)(uintptr_t)line);
}

void fetch_watch(const struct qemu_plugin_tb *block, size_t count, qemu_plugin_u64 slots)
{
	uint64_t next = 0, page = 1, physical = 0; /* `next`: addresses below are done; there is no page at 1 */
	bool there = false;
	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
		uint64_t at = qemu_plugin_insn_vaddr(instruction), end = at + qemu_plugin_insn_size(instruction);
		if (!i)
			next = at & ~((1ull << LINE_BITS) - 1);
		for (; next < end; next += 1 << LINE_BITS) {
			if (page != (next & ~(PAGE - 1ull))) {
				page = next & ~(PAGE - 1ull);
				there = fetch_page(page, &physical);
			}
			if (!there)
				continue;
			memory_place_code(&memory, (physical + next - page) >> LINE_BITS, next);
			watch_line(instruction, (physical + next - page) >> LINE_BITS, slots);
		}
	}
}
