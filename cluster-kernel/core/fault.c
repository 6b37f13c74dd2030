/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault.h"
#include "arch.h"
#include "cnode.h"
#include "endpoint.h"
#include "kernel.h"
#include "message.h"
#include "print.h"
#include REGIME_HEADER

bool fault_raise(struct cpu *cpu, unsigned fault, unsigned count, const uint64_t *words)
{
	struct thread *thread = current(cpu);
	struct slot *slot = thread->fault_cptr ? cspace_lookup(thread, thread->fault_cptr) : 0;
	if (!slot || slot->cap.type != OBJECT_ENDPOINT || !(slot->cap.rights & RIGHT_WRITE)) {
		if (!kernel_exclusive(cpu))
			return false;
		kernel_irrevocable(cpu);
		print("kernel: thread without fault handler stopped: fault %u rip %p sp %p %p %p\n", fault, words[0], words[1],
		      words[2], words[3]);
		thread_become(thread, THREAD_INACTIVE);
		return true;
	}
	for (unsigned i = 0; i < count; i++)
		thread->fault_words[i] = words[i];
	thread->faulting = 1;
	endpoint_send(cpu, thread, &slot->cap, message_info(fault, 0, count), SEND_CALL);
	return true;
}
