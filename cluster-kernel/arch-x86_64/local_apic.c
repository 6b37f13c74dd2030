/* SPDX-License-Identifier: BSD-2-Clause */
#include "local_apic.h"
#include <skerry/cpu_needs.h>
#include "arch.h"
#include "assert.h"
#include "core_group.h"
#include "paging.h"

enum { REG_ID = 0x02, REG_TPR = 0x08, REG_EOI = 0x0b, REG_LOGICAL_ID = 0x0d, REG_SPURIOUS = 0x0f, REG_IRR = 0x20,
       REG_ICR = 0x30, REG_ICR_HIGH = 0x31, REG_LVT_TIMER = 0x32, REG_LVT_LINT0 = 0x35,
       REG_LVT_LINT1 = 0x36, REG_LVT_ERROR = 0x37, REG_TIMER_INITIAL = 0x38, REG_TIMER_DIVIDE = 0x3e };
enum { LVT_MASKED = 1 << 16, LVT_TSC_DEADLINE = 2 << 17, APIC_ENABLE = 1 << 8, ICR_PENDING = 1 << 12,
       ICR_LOGICAL = 1 << 11, ICR_ASSERT = 1 << 14, ICR_NMI = 4 << 8, ICR_INIT = 5 << 8, ICR_START = 6 << 8,
       LVT_NMI = 4 << 8, APIC_BASE_BOOT = 1 << 8, DIVIDE_BY_1 = 0xb };
enum { PROBE_READS = 10000 }; /* until an interrupt to this core itself has not arrived: a millisecond or so */
#define APIC_BASE_ADDRESS 0xffffff000ull

static struct {
	volatile uint32_t *registers; /* null in x2APIC mode */
	uint64_t hz;
	bool deadline;
	bool clusters; /* an interrupt command reaches several cores of an x2APIC cluster */
} apic;

static void apic_write(unsigned reg, uint32_t value)
{
	if (apic.registers)
		apic.registers[reg * 4] = value;
	else
		write_msr(MSR_X2APIC + reg, value);
}

static uint32_t apic_read(unsigned reg)
{
	return apic.registers ? apic.registers[reg * 4] : (uint32_t)read_msr(MSR_X2APIC + reg);
}

/* Makes all earlier stores visible before the WRMSR that follows. */
static void store_fence(void) { asm volatile("mfence; lfence" ::: "memory"); }

uint32_t local_apic_id(void)
{
	uint32_t id = apic_read(REG_ID);
	return apic.registers ? id >> 24 : id;
}

/* `destination`: an APIC id, with ICR_LOGICAL a logical one. */
static void send(uint32_t destination, uint32_t command)
{
	if (!apic.registers) {
		store_fence(); /* these writes do not wait for earlier stores by themselves (SDM 3, 11.12.3) */
		write_msr(MSR_X2APIC + REG_ICR, (uint64_t)destination << 32 | command);
		return;
	}
	while (apic_read(REG_ICR) & ICR_PENDING)
		arch_relax();
	apic_write(REG_ICR_HIGH, destination << 24);
	apic_write(REG_ICR, command);
}

/* The cluster and the members in it, as x2APIC names them (SDM 3, 11.12.10.2). */
static uint32_t logical_id(uint32_t apic_id, uint32_t members) { return apic_id / GROUP_IDS << 16 | members; }

/* Returns whether an interrupt to a cluster's members arrives: not every hypervisor delivers it. */
static bool clusters_work(void)
{
	const uint32_t id = local_apic_id(), self = logical_id(id, core_member(id));
	if (apic_read(REG_LOGICAL_ID) != self)
		return false;
	apic_write(REG_SPURIOUS, APIC_ENABLE | VECTOR_SPURIOUS);
	send(self, ICR_LOGICAL | ICR_ASSERT | VECTOR_RESCHEDULE);
	for (unsigned i = 0; i < PROBE_READS; i++)
		if (apic_read(REG_IRR + VECTOR_RESCHEDULE / 32) >> VECTOR_RESCHEDULE % 32 & 1)
			return true;
	return false;
}

void local_apic_setup(bool x2apic, uint64_t hz)
{
	apic.registers = x2apic ? 0 : map_device(read_msr(MSR_APIC_BASE) & APIC_BASE_ADDRESS);
	apic.hz = hz;
	apic.deadline = cpu_has_tsc_deadline(cpuid);
	kernel_assert(apic.deadline || hz);
	apic.clusters = x2apic && clusters_work();
}

void local_apic_init(void)
{
	/* first: a disabled APIC keeps its LVT masked (SDM 3, 11.4.7.2) */
	apic_write(REG_SPURIOUS, APIC_ENABLE | VECTOR_SPURIOUS);
	apic_write(REG_TPR, 0);
	apic_write(REG_LVT_LINT0, LVT_MASKED);
	/* the machine's NMIs come to every core that has the pin open: one of them is enough to report them */
	apic_write(REG_LVT_LINT1, read_msr(MSR_APIC_BASE) & APIC_BASE_BOOT ? LVT_NMI : LVT_MASKED);
	apic_write(REG_LVT_ERROR, LVT_MASKED);
	apic_write(REG_TIMER_DIVIDE, DIVIDE_BY_1);
	apic_write(REG_LVT_TIMER, VECTOR_TIMER | (apic.deadline ? LVT_TSC_DEADLINE : 0));
	store_fence(); /* xAPIC: the mode must have arrived before the first deadline does (SDM 3, 11.5.4.1) */
}

void local_apic_end_of_interrupt(void) { apic_write(REG_EOI, 0); }

void local_apic_send(uint32_t apic_id, uint8_t vector)
{
	kernel_assert(vector >= VECTOR_REST);
	send(apic_id, ICR_ASSERT | vector);
}

void local_apic_send_members(uint32_t apic_id, uint32_t members, uint8_t vector)
{
	kernel_assert(vector >= VECTOR_REST && members && members < 1u << GROUP_IDS);
	if (apic.clusters) {
		send(logical_id(apic_id, members), ICR_LOGICAL | ICR_ASSERT | vector);
		return;
	}
	for (; members; members &= members - 1)
		local_apic_send(apic_id / GROUP_IDS * GROUP_IDS + (uint32_t)__builtin_ctz(members), vector);
}

void local_apic_send_nmi(uint32_t apic_id) { send(apic_id, ICR_ASSERT | ICR_NMI); }

void local_apic_send_init(uint32_t apic_id) { send(apic_id, ICR_ASSERT | ICR_INIT); }

void local_apic_send_start(uint32_t apic_id, uint8_t page) { send(apic_id, ICR_ASSERT | ICR_START | page); }

void local_apic_init_self(void)
{
	if (!(read_msr(MSR_APIC_BASE) & APIC_BASE_BOOT))
		send(local_apic_id(), ICR_ASSERT | ICR_INIT);
}

void local_apic_set_timer(uint64_t deadline, uint64_t tsc_hz)
{
	kernel_assert(tsc_hz >= 1 << 10);
	if (apic.deadline) {
		write_msr(MSR_TSC_DEADLINE, deadline);
		return;
	}
	uint64_t count = 0;
	if (deadline) {
		uint64_t now = arch_time(), left = deadline > now ? deadline - now : 0;
		if (left > tsc_hz)
			left = tsc_hz; /* wakes early, looks again */
		count = left * (apic.hz >> 10) / (tsc_hz >> 10) + 1; /* no overflow up to 100 GHz */
		if (count > 0xffffffff)
			count = 0xffffffff;
	}
	apic_write(REG_TIMER_INITIAL, count);
}
