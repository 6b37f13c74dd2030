/* SPDX-License-Identifier: BSD-2-Clause */
#include "zombie.h"
#include "kernel.h"
#include "work.h"

void zombie_make(struct kernel *kernel, struct slot *slot)
{
	struct slot *grave = (struct slot *)slot->cap.object;
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
	uint64_t count = 1ull << zombie->size_bits;
	while (zombie->cursor < count && kernel_of(cpu)->doomed == grave) {
		if (work_over(cpu) || !slot_delete(cpu, &grave[zombie->cursor]))
			return false;
		zombie->cursor++;
	}
	return true;
}

bool zombies_bury(struct cpu *cpu)
{
	struct kernel *kernel = kernel_of(cpu);
	struct slot *grave;
	while ((grave = kernel->doomed)) {
		if (!empty_grave(cpu, grave))
			return false;
		if (kernel->doomed != grave)
			continue; /* another is first now */
		kernel->doomed = grave->cap.next;
		slot_remove(grave);
		work_done(cpu, WORK_DELETE);
	}
	return true;
}
