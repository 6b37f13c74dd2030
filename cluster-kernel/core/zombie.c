/* SPDX-License-Identifier: BSD-2-Clause */
#include "zombie.h"
#include "arch.h"
#include "kernel.h"
#include "timer.h"
#include "tlb.h"
#include "work.h"

/* Parts of a second: until a core looks after what others should have done, and between its quanta then. */
enum { WATCH = 1000, QUANTA = 10000 };

void zombie_make(struct kernel *kernel, struct slot *slot)
{
	struct slot *grave = (struct slot *)slot->cap.object;
	assert_exclusive();
	kernel_assert(slot->cap.type == OBJECT_CNODE && slot != grave);
	kernel_assert(slot_empty(grave) && grave->cap.references == 1);
	slot_move(grave, slot);
	grave->cap.type = CAP_ZOMBIE;
	grave->cap.flags = 0;
	grave->cap.cursor = 1;
	grave->cap.next = kernel->doomed;
	kernel->doomed = grave;
}

/* Deletes the content from the cursor on, until another CNode is doomed by that. */
static bool empty_grave(struct cpu *cpu, struct slot *grave)
{
	struct cap *zombie = &grave->cap;
	kernel_assert(zombie->type == CAP_ZOMBIE && zombie->cursor >= 1);
	uint64_t count = 1ull << zombie->size_bits;
	while (zombie->cursor < count && kernel_of(cpu)->doomed == grave) {
		struct slot *slot = &grave[zombie->cursor];
		if (work_over(cpu) || (!slot_empty(slot) && !slot_delete(cpu, slot)))
			return false;
		zombie->cursor++;
		work_done(cpu, WORK_EMPTY_SLOT);
	}
	return true;
}

bool zombies_bury(struct cpu *cpu)
{
	assert_exclusive();
	struct kernel *kernel = kernel_of(cpu);
	struct slot *grave;
	while ((grave = kernel->doomed)) {
		if (!empty_grave(cpu, grave))
			return false;
		if (kernel->doomed != grave)
			continue; /* another is first now */
		kernel_assert(grave->cap.cursor == 1ull << grave->cap.size_bits);
		kernel->doomed = grave->cap.next;
		slot_remove(grave);
		work_done(cpu, WORK_DELETE);
	}
	return true;
}

void zombies_watch_from(struct cpu *cpu, uint64_t now)
{
	assert_entered();
	if (cpu->own.bury_at)
		return;
	cpu->own.bury_at = now + kernel_of(cpu)->tsc_hz / WATCH;
	timer_chores(cpu);
}

void zombies_timer(struct cpu *cpu)
{
	assert_exclusive();
	kernel_assert(cpu->own.bury_at);
	cpu->own.bury_at = zombies_bury(cpu) ? 0 : arch_time() + kernel_of(cpu)->tsc_hz / QUANTA;
	tlb_settle(cpu);
	timer_chores(cpu);
}
