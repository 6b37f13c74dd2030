/* SPDX-License-Identifier: BSD-2-Clause */
#include "invoke.h"
#include "channel.h"
#include "cluster_control.h"
#include "cnode.h"
#include "control.h"
#include "domain.h"
#include "frame.h"
#include "io_port.h"
#include "irq.h"
#include "kernel.h"
#include "outcome.h"
#include "thread.h"
#include "tlb.h"
#include "untyped.h"
#include "vspace.h"

static uint64_t invoke_object(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	assert_exclusive();
	kernel_assert(slot->cap.type != CAP_ZOMBIE && !(slot->cap.flags & CAP_THREAD));
	switch (slot->cap.type) {
	case OBJECT_UNTYPED: return invoke_untyped(cpu, slot, info);
	case OBJECT_CNODE: return invoke_cnode(cpu, slot, info);
	case OBJECT_TCB: return invoke_tcb(cpu, slot, info);
	case OBJECT_PAGE_TABLE: return invoke_page_table(cpu, slot, info);
	case OBJECT_FRAME_4K:
	case OBJECT_FRAME_2M:
	case OBJECT_FRAME_1G: return invoke_frame(cpu, slot, info);
	case OBJECT_IRQ_CONTROL: return invoke_irq_control(cpu, slot, info);
	case OBJECT_IRQ_HANDLER: return invoke_irq_handler(cpu, slot, info);
	case OBJECT_IO_PORT: return invoke_io_port(cpu, slot, info);
	case OBJECT_CHANNEL: return invoke_channel(cpu, slot, info);
	case OBJECT_CLUSTER_CONTROL: return invoke_cluster_control(cpu, slot, info);
	case OBJECT_CONTROL: return invoke_control(cpu, slot, info);
	case OBJECT_DOMAIN: return invoke_domain(cpu, slot, info);
	case CAP_NULL: return SKERRY_BAD_CAP;
	default: return SKERRY_BAD_LABEL;
	}
}

uint64_t invoke_as_writer(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	uint64_t result = invoke_object(cpu, slot, info);
	tlb_flush_pending(cpu);
	return result;
}

uint64_t invoke_as_reader(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	kernel_assert(kernel_has_readers() && !kernel_exclusive(cpu));
	uint64_t label = message_label(info);
	if (label != FRAME_MAP && label != FRAME_UNMAP && label != FRAME_PROTECT)
		return KERNEL_EXCLUSIVE;
	uint64_t result = invoke_frame(cpu, slot, info);
	/* on errors and preemption, too: part of the change may be done, and the next entry relies on it */
	tlb_flush_pending(cpu);
	return result;
}
