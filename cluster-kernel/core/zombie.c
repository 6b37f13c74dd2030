/* SPDX-License-Identifier: BSD-2-Clause */
#include "zombie.h"
#include "arch.h"
#include "kernel.h"
#include "timer.h"
#include "tlb.h"
#include "work.h"

/*
 * Parts of a second: how long a core waits before it cleans up for threads that did not, and between two budgets of
 * that.
 */
enum { WATCH = 1000, BUDGETS = 10000 };

void zombie_make(struct kernel *kernel, struct slot *slot)
{
	struct slot *zombie_slot = (struct slot *)slot->cap.object;
	assert_exclusive();
	kernel_assert(slot->cap.type == OBJECT_CNODE && slot != zombie_slot);
	kernel_assert(slot_empty(zombie_slot) && zombie_slot->cap.references == 1);
	slot_move(zombie_slot, slot);
	zombie_slot->cap.type = CAP_ZOMBIE;
	zombie_slot->cap.flags = 0;
	zombie_slot->cap.cursor = 1;
	zombie_slot->cap.next = kernel->reap_list;
	kernel->reap_list = zombie_slot;
}

/* Deletes the content from the cursor on, until that puts another CNode on the list. */
static bool empty_zombie(struct cpu *cpu, struct slot *zombie_slot)
{
	struct cap *zombie = &zombie_slot->cap;
	kernel_assert(zombie->type == CAP_ZOMBIE && zombie->cursor >= 1);
	uint64_t count = 1ull << zombie->size_bits;
	while (zombie->cursor < count && kernel_of(cpu)->reap_list == zombie_slot) {
		struct slot *slot = &zombie_slot[zombie->cursor];
		if (work_over(cpu) || (!slot_empty(slot) && !slot_delete(cpu, slot)))
			return false;
		zombie->cursor++;
		work_done(cpu, WORK_EMPTY_SLOT);
	}
	return true;
}

bool zombies_reap(struct cpu *cpu)
{
	assert_exclusive();
	struct kernel *kernel = kernel_of(cpu);
	struct slot *zombie_slot;
	while ((zombie_slot = kernel->reap_list)) {
		if (!empty_zombie(cpu, zombie_slot))
			return false;
		if (kernel->reap_list != zombie_slot)
			continue; /* another is first now */
		kernel_assert(zombie_slot->cap.cursor == 1ull << zombie_slot->cap.size_bits);
		kernel->reap_list = zombie_slot->cap.next;
		slot_remove(zombie_slot);
		work_done(cpu, WORK_DELETE);
	}
	return true;
}

void zombies_watch_from(struct cpu *cpu, uint64_t now)
{
	assert_entered();
	if (cpu->own.cleanup_at)
		return;
	cpu->own.cleanup_at = now + kernel_of(cpu)->tsc_hz / WATCH;
	timer_housekeeping(cpu);
}

void zombies_timer(struct cpu *cpu)
{
	assert_exclusive();
	kernel_assert(cpu->own.cleanup_at);
	cpu->own.cleanup_at = zombies_reap(cpu) ? 0 : arch_time() + kernel_of(cpu)->tsc_hz / BUDGETS;
	tlb_flush_pending(cpu);
	timer_housekeeping(cpu);
}
