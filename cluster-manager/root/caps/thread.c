/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory.h"
#include "root.h"
#include "thread.h"

int thread_make(const char *name, void (*entry)(void), char *stack_top, unsigned priority)
{
	int tcb = memory_object(OBJECT_TCB, 0);
	struct thread_registers registers = {
		.rip = (uint64_t)entry,
		.rsp = (uint64_t)stack_top - sizeof(uint64_t), /* as after a call (System V ABI, 3.2.2) */
		.rflags = 0x202,
	};
	int error = tcb < 0 ? tcb : tcb_configure(IPC, (uint64_t)tcb, ROOT_SLOT_CNODE, ROOT_SLOT_VSPACE, 0, 0, 0);
	if (!error)
		error = tcb_schedule(IPC, (uint64_t)tcb, ROOT_SLOT_TCB, priority, 0);
	if (!error)
		error = tcb_write_registers(IPC, (uint64_t)tcb, 1, &registers);
	if (error)
		manager_panic("the %s thread does not start (error %d)", name, -error);
	return tcb;
}
