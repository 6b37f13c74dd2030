/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast the time stamp counter and the local APIC timer run, and what time
 * it is. A reference counter of known frequency is read beside the two at both
 * ends of a short window; of several readings the one that took the shortest
 * counts, so that a host that takes our core away in between does no harm.
 */
#include "clock.h"

#include "cpu.h"
#include "loader.h"

enum { READINGS = 5 };

struct clock machine_clock;

struct reading {
	uint64_t tsc;
	uint32_t reference, lapic; /* lapic counts down */
};

static uint32_t reference_elapsed(const struct reference *r, uint32_t since)
{
	return (reference_read(r) - since) & r->mask;
}

static struct reading reading_take(const struct reference *r)
{
	struct reading best = { 0 };
	uint64_t best_took = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = read_tsc_in_order();
		struct reading now = { .reference = reference_read(r) };
		uint64_t after;

		now.lapic = apic_timer_count();
		after = read_tsc_in_order();
		now.tsc = before + (after - before) / 2;
		if (after - before < best_took) {
			best_took = after - before;
			best = now;
		}
	}
	return best;
}

static void spin_turns(uint32_t turns)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(turns)::"cc");
}

bool clock_counts_instructions(void)
{
	uint64_t first = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t before = read_tsc_in_order(), took;

		spin_turns(10000);
		took = read_tsc_in_order() - before;
		if (i == 1)
			first = took;
		if (i > 1 && took != first)
			return false;
	}
	return true;
}

/* Returns when the reference has just changed, or seems not to run. */
static void await_edge(const struct reference *r)
{
	const uint32_t before = reference_read(r);

	for (uint32_t i = 0; i < 1000000 && !reference_elapsed(r, before); i++)
		;
}

/* False when the reference does not run. */
static bool reference_measure(const struct reference *r, bool counted)
{
	struct reading first, last;
	const uint64_t us = counted ? COUNTED_WINDOW_US : CALIBRATION_WINDOW_US;
	uint32_t window = (uint32_t)(r->hz * us / 1000000), ticks;

	require(r->hz && r->mask);
	apic_timer_start();
	if (counted)
		await_edge(r);
	first = reading_take(r);
	for (uint32_t i = 0; reference_elapsed(r, first.reference) < window; i++) {
		if (i == 1000 && reference_elapsed(r, first.reference) == 0)
			return false;
		spin_turns(1000); /* port reads are expensive, above all under an emulator */
	}
	if (counted)
		await_edge(r);
	last = reading_take(r);
	ticks = (last.reference - first.reference) & r->mask;
	machine_clock.tsc_hz = (last.tsc - first.tsc) * r->hz / ticks;
	machine_clock.lapic_hz = (uint64_t)(first.lapic - last.lapic) * r->hz / ticks;
	return true;
}

/* CPUID's frequency is exact, but may be nonsense under a hypervisor: it must agree with the measured within 1 %. */
static void refine_hz(uint64_t hz)
{
	uint64_t seen = machine_clock.tsc_hz;

	if (hz > seen - seen / 100 && hz < seen + seen / 100)
		machine_clock.tsc_hz = hz;
}

bool is_tcg(void)
{
	struct cpuid id = cpuid(0x40000000, 0);

	/* TCGTCGTCGTCG */
	return (cpuid(1, 0).ecx >> 31 & 1) && id.ebx == 0x54474354 && id.ecx == 0x43544743 && id.edx == 0x47435447;
}

bool is_emulated(void)
{
	struct cpuid name;

	if (is_tcg() || cpuid(0x80000000, 0).eax < 0x80000002)
		return is_tcg();
	name = cpuid(0x80000002, 0);
	return name.eax == 0x554d4551 && name.ebx == 0x47435420 && name.ecx == 0x55504320; /* "QEMU TCG CPU" */
}

/*
 * The clock has whole seconds. In QEMU's emulator it and the TSC start with the machine, so the TSC gives the begin of
 * the present second; elsewhere the time is up to a second late.
 */
static void read_time(const struct machine *m)
{
	uint64_t second = machine_clock.tsc_hz, guard = second / 500, when;

	if (m->no_rtc)
		return;
	machine_clock.epoch = date_read(&when);
	machine_clock.epoch_tsc = when;
	if (!machine_clock.epoch || !is_tcg())
		return;
	while (when % second < guard || when % second > second - guard) { /* about to change: ask again */
		delay(1000);
		machine_clock.epoch = date_read(&when);
	}
	machine_clock.epoch_tsc = when - when % second;
}

static struct reference find_reference(const struct machine *m, enum clock_source chosen)
{
	static const enum clock_source order[] = { CLOCK_PM, CLOCK_HPET, CLOCK_PIT, CLOCK_CPUID };
	struct reference r;

	for (uint32_t i = 0; i < sizeof order / sizeof *order; i++)
		if ((chosen == CLOCK_ANY || chosen == order[i]) && reference_start(&r, order[i], m) &&
		    reference_measure(&r, m->counted))
			return r;
	if (chosen != CLOCK_ANY)
		panic("the clock that the command line asks for is not there, or does not run");
	panic("no ACPI timer, HPET or PIT runs, and CPUID does not say how fast the TSC is: no clock to measure with");
}

void clock_calibrate(const struct machine *m, enum clock_source chosen)
{
	struct reference r = find_reference(m, chosen);
	bool exact;
	uint64_t cpuid_hz = cpuid_tsc_hz(&exact);

	if (machine_clock.tsc_hz < 1000000)
		panic("the time stamp counter does not run");
	cpu_check_timer(cpuid, machine_clock.lapic_hz);
	if (exact)
		refine_hz(cpuid_hz);
	read_time(m);
	print("TSC %lu kHz, APIC timer %lu kHz, by %s; epoch %lu", machine_clock.tsc_hz / 1000,
	    machine_clock.lapic_hz / 1000, reference_name(&r), machine_clock.epoch);
}

void delay(uint64_t microseconds)
{
	require(machine_clock.tsc_hz);
	uint64_t start = read_tsc_in_order(), cycles = machine_clock.tsc_hz / 1000 * microseconds / 1000;

	while (read_tsc_in_order() - start < cycles)
		cpu_pause();
}
