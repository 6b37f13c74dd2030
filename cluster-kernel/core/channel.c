/* SPDX-License-Identifier: BSD-2-Clause */
#include "channel.h"
#include <skerry/doorbell.h>
#include "arch.h"
#include "kernel.h"
#include "message.h"
#include "notification.h"
#include "timer.h"
#include "work.h"
#include LOCKING_HEADER

uint64_t channel_mint_doorbell(struct cap *cap, uint64_t number)
{
	kernel_assert(cap->type == OBJECT_CHANNEL);
	if (number >= DOORBELL_COUNT)
		return SKERRY_BAD_ARGUMENT;
	cap->type = OBJECT_DOORBELL;
	cap->badge = number;
	return SKERRY_OK;
}

enum { POLL_HZ = 5000 }; /* polls a second, of a core that its peers cannot interrupt */

/* Makes the core poll its doorbells, of which there is one more. */
static void begin_looking(struct cpu *cpu, struct cpu *core)
{
	assert_exclusive();
	kernel_assert(core->own.index < kernel_of(cpu)->cpu_count);
	if (core->shared.remote_bells++)
		return; /* it polls, or has been interrupted for that */
	core_set_remove(&kernel_of(cpu)->unpolled, core->own.index);
	if (core == cpu) {
		doorbells_watch(cpu);
		return;
	}
	cpu_interrupt(cpu, core->own.index);
}

/*
 * The core polls for one doorbell less; for none, it stops at its next poll. Hazard: lost wake-up. A peer that has read
 * the doorbell's old route may ring there at any later time. So the cores that still poll look there, too
 * (doorbells_drain()).
 */
static void end_looking(struct cpu *cpu, struct cpu *core)
{
	assert_exclusive();
	kernel_assert(core->shared.remote_bells > 0);
	if (!--core->shared.remote_bells)
		core_set_add(&kernel_of(cpu)->unpolled, core->own.index);
}

/*
 * Notes that `core` receives the doorbell in place of the core that did; either may be DOORBELL_UNBOUND. It polls for
 * that of a remote peer.
 */
static void route_note(struct cpu *cpu, struct channel_end *end, uint64_t number, uint64_t core)
{
	struct kernel *kernel = kernel_of(cpu);
	const uint16_t before = end->route[number];
	kernel_assert(before == DOORBELL_UNBOUND || before < kernel->cpu_count);
	if (before == core)
		return;
	end->route[number] = (uint16_t)core;
	if (core != DOORBELL_UNBOUND) {
		kernel->doorbells[core]++;
		if (end->remote)
			begin_looking(cpu, kernel->cpu[core]);
	}
	if (before != DOORBELL_UNBOUND) {
		kernel->doorbells[before]--;
		if (end->remote)
			end_looking(cpu, kernel->cpu[before]);
	}
}

/* Holds the notification for the doorbell, in place of one that may be there. Returns false if the budget is spent
 * first. */
static bool listener_set(struct cpu *cpu, struct listener *listener, struct slot *slot)
{
	/* the route stays as it is meanwhile: a peer that found none would drop what it rings */
	listener->notification.cap.flags &= ~CAP_LISTENER;
	if (!slot_delete(cpu, &listener->notification)) {
		listener->notification.cap.flags |= CAP_LISTENER;
		return false;
	}
	kernel_assert(slot_empty(&listener->notification));
	struct cap cap = slot->cap;
	cap.flags |= CAP_LISTENER;
	slot_insert(&listener->notification, &cap, slot);
	return true;
}

void channel_unlisten(struct cpu *cpu, const struct slot *slot)
{
	struct channel_end *end = kernel_of(cpu)->channel;
	assert_exclusive();
	while ((uint64_t)slot - (uint64_t)end->listener >= DOORBELL_COUNT * sizeof(struct listener)) {
		end++;
		kernel_assert(end < kernel_of(cpu)->channel + kernel_of(cpu)->channel_count);
	}
	const uint64_t number = ((uint64_t)slot - (uint64_t)end->listener) / sizeof(struct listener);
	atomic_store_explicit(&end->rx->route[number], DOORBELL_UNBOUND, memory_order_seq_cst);
	route_note(cpu, end, number, DOORBELL_UNBOUND);
}

static uint64_t channel_listen(struct cpu *cpu, struct channel_end *end, uint64_t info)
{
	assert_exclusive();
	struct thread *thread = current(cpu);
	struct slot *slot = message_cap_of(cpu, info, 0, OBJECT_NOTIFICATION);
	if (message_words(info) < 2)
		return SKERRY_TRUNCATED;
	uint64_t number = message_word(thread, 0), core = message_word(thread, 1);
	if (number >= DOORBELL_COUNT || !kernel_has_core(kernel_of(cpu), core))
		return SKERRY_BAD_ARGUMENT;
	if (!slot)
		return SKERRY_BAD_CAP;
	if (!(slot->cap.rights & RIGHT_WRITE))
		return SKERRY_NO_RIGHTS;

	if (!listener_set(cpu, &end->listener[number], slot))
		return KERNEL_AGAIN;
	/*
	 * Store buffering: two clusters that each listen and then ring must not both miss the other's route. The store
	 * here and the load in doorbell_ring() are seq_cst, so that one of the two observes the other's store.
	 */
	atomic_store_explicit(&end->rx->route[number], (uint16_t)core, memory_order_seq_cst);
	/*
	 * Hazard: lost wake-up. A peer that read the previous life's route just before it was cleared set its bit here,
	 * but its interrupt went to a core that was being started. So this core interrupts the receiver in its place.
	 */
	if (!end->remote && atomic_load_explicit(&end->rx->core[core].pending[number / 64],
	                                         memory_order_seq_cst) >> number % 64 & 1) {
		cpu->own.doorbell_apic = kernel_of(cpu)->map_core[core].apic;
		cpu->own.pending |= PENDING_DOORBELL;
	}
	route_note(cpu, end, number, core);
	return SKERRY_OK;
}

uint64_t invoke_channel(struct cpu *cpu, struct slot *slot, uint64_t info)
{
	kernel_assert(slot->cap.type == OBJECT_CHANNEL && slot->cap.object < kernel_of(cpu)->channel_count);
	if (message_label(info) != CHANNEL_LISTEN)
		return SKERRY_BAD_LABEL;
	return channel_listen(cpu, &kernel_of(cpu)->channel[slot->cap.object], info);
}

void doorbell_ring(struct cpu *cpu, const struct cap *cap)
{
	assert_entered();
	kernel_assert(cap->type == OBJECT_DOORBELL && cap->badge < DOORBELL_COUNT);
	kernel_assert(cap->object < kernel_of(cpu)->channel_count);
	kernel_assert(!(cpu->own.pending & PENDING_DOORBELL));
	struct channel_end *end = &kernel_of(cpu)->channel[cap->object];
	unsigned number = cap->badge;
	unsigned core = atomic_load_explicit(&end->ring->route[number], memory_order_seq_cst);
	if (core >= end->peer_cpu_count)
		return; /* no listener */
	_Atomic uint64_t *pending = &end->ring->core[core].pending[number / 64];
	uint64_t before = atomic_fetch_or_explicit(pending, 1ull << number % 64, memory_order_seq_cst);
	if (before >> number % 64 & 1 || end->remote)
		return; /* rung already and not yet received; or the peer's core polls */
	cpu->own.doorbell_apic = end->peer_core[core].apic;
	cpu->own.pending |= PENDING_DOORBELL;
}

void doorbells_ring_all(const struct channel_end *end, struct boot_cores *cores)
{
	for (unsigned number = 0; number < DOORBELL_COUNT; number++) {
		unsigned core = atomic_load_explicit(&end->ring->route[number], memory_order_seq_cst);
		if (core >= end->peer_cpu_count || core >= BOOT_MAX_CPUS)
			continue;
		atomic_fetch_or_explicit(&end->ring->core[core].pending[number / 64], 1ull << number % 64,
		                         memory_order_seq_cst);
		if (!end->remote)
			boot_cores_add(cores, core);
	}
}

/* Signals the notifications of `bits`, of which the lowest is doorbell `first`. Returns those for which the budget was
 * too small, or that wait for the writer (visit.h). */
static uint64_t signal_received(struct cpu *cpu, struct channel_end *end, unsigned first, uint64_t bits)
{
	kernel_assert(first % 64 == 0 && first < DOORBELL_COUNT);
	for (; bits && !work_over(cpu); bits &= bits - 1) {
		notification_signal_cap(cpu, &end->listener[first + __builtin_ctzll(bits)].notification.cap);
		if (objects_have_homes() && cpu->own.writer_wanted)
			break;
		work_done(cpu, WORK_WAKE);
	}
	return bits;
}

/* Signals the notifications of doorbells that were rung at `core`. Returns false if work remains. */
static bool drain_line(struct cpu *cpu, struct channel_end *end, unsigned core)
{
	struct doorbell_line *line = &end->rx->core[core];
	for (unsigned w = 0; w < DOORBELL_COUNT / 64; w++) {
		if (!atomic_load_explicit(&line->pending[w], memory_order_relaxed))
			continue;
		uint64_t bits = atomic_exchange_explicit(&line->pending[w], 0, memory_order_seq_cst);
		uint64_t left = signal_received(cpu, end, w * 64, bits);
		if (!left)
			continue;
		/* the rest as if it were rung just now */
		atomic_fetch_or_explicit(&line->pending[w], left, memory_order_seq_cst);
		return false;
	}
	return true;
}

/*
 * Signals the notifications of doorbells that were rung: by peers that can interrupt this core or, if `remote`, by the
 * others, at cores that poll no more, too. Hazard: starvation. Where the budget runs out, the next call begins after
 * that channel (`next_channel`), so that a peer that rings without end cannot starve the others. Returns false if work
 * remains.
 */
static bool doorbells_drain(struct cpu *cpu, bool remote)
{
	assert_entered();
	struct kernel *kernel = kernel_of(cpu);
	unsigned first = cpu->own.next_channel;
	for (unsigned i = 0; i < kernel->channel_count; i++) {
		unsigned c = (first + i) % kernel->channel_count;
		struct channel_end *end = &kernel->channel[c];
		kernel_assert(end->listener && end->rx);
		if (end->remote != remote)
			continue;
		bool all = drain_line(cpu, end, cpu->own.index);
		FOR_CORES (core, &kernel->unpolled, remote && all ? kernel->core_words : 0)
			all = all && drain_line(cpu, end, core);
		if (!all) {
			cpu->own.next_channel = c + 1;
			return false;
		}
	}
	return true;
}

void doorbell_receive(struct cpu *cpu)
{
	kernel_assert(!(cpu->own.pending & PENDING_DOORBELL));
	if (doorbells_drain(cpu, false) || (objects_have_homes() && cpu->own.writer_wanted))
		return;
	cpu->own.doorbell_apic = kernel_of(cpu)->map_core[cpu->own.index].apic;
	cpu->own.pending |= PENDING_DOORBELL;
}

static void poll_later(struct cpu *cpu)
{
	kernel_assert(cpu->shared.remote_bells);
	cpu->own.poll_at = arch_time() + kernel_of(cpu)->tsc_hz / POLL_HZ;
	timer_housekeeping(cpu);
}

void doorbells_watch(struct cpu *cpu)
{
	if (cpu->shared.remote_bells && !cpu->own.poll_at)
		poll_later(cpu);
}

bool doorbells_due(const struct cpu *cpu) { return cpu->own.poll_at && cpu->own.poll_at <= arch_time(); }

void doorbells_poll(struct cpu *cpu)
{
	kernel_assert(cpu->own.poll_at);
	if (!cpu->shared.remote_bells) {
		cpu->own.poll_at = 0;
		timer_housekeeping(cpu);
		return;
	}
	doorbells_drain(cpu, true); /* what exceeds the budget is received at the next poll */
	poll_later(cpu);
}
