/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast the time stamp counter and the local APIC timer run, and what time
 * it is. A reference counter of known frequency is read beside the two at both
 * ends of a short window; of several readings the one that took the shortest
 * counts, so that a host that takes our core away in between does no harm.
 */
#include "cpu.h"
#include "loader.h"

enum { PM_TIMER_HZ = 3579545, PIT_HZ = 1193182, WINDOW_US = 15000, READINGS = 5 };
enum { PIT_CHANNEL_2 = 0x42, PIT_COMMAND = 0x43, PIT_GATE = 0x61 };
enum { RTC_INDEX = 0x70, RTC_DATA = 0x71, RTC_UPDATING = 0x80, RTC_24_HOURS = 2, RTC_BINARY = 4 };

struct clock machine_clock;

struct reference {
	uint32_t hz, mask;
	uint16_t port; /* PM timer; 0: the PIT */
};

struct reading {
	uint64_t tsc;
	uint32_t reference, lapic; /* lapic counts down */
};

static uint32_t read_reference(const struct reference *r)
{
	uint32_t low;

	if (r->port != 0)
		return in32(r->port);
	out8(PIT_COMMAND, 0x80); /* latch channel 2 */
	low = in8(PIT_CHANNEL_2);
	return 0u - (low | (uint32_t)in8(PIT_CHANNEL_2) << 8); /* counts down */
}

static uint32_t elapsed(const struct reference *r, uint32_t since)
{
	return (read_reference(r) - since) & r->mask;
}

static struct reading take(const struct reference *r)
{
	struct reading best = { 0 };
	uint64_t best_took = UINT64_MAX;

	for (int i = 0; i < READINGS; i++) {
		uint64_t before = read_tsc();
		struct reading now = { .reference = read_reference(r) };
		uint64_t after;

		now.lapic = apic_timer_count();
		after = read_tsc();
		now.tsc = before + (after - before) / 2;
		if (after - before < best_took) {
			best_took = after - before;
			best = now;
		}
	}
	return best;
}

static void spin(uint32_t turns)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(turns)::"cc");
}

static void pit_start(void)
{
	out8(PIT_GATE, (in8(PIT_GATE) & ~2) | 1);
	out8(PIT_COMMAND, 0xb4); /* channel 2, both bytes, rate generator, from 2^16 */
	out8(PIT_CHANNEL_2, 0);
	out8(PIT_CHANNEL_2, 0);
}

bool clock_counts_instructions(void)
{
	uint64_t first = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t before = read_tsc(), took;

		spin(10000);
		took = read_tsc() - before;
		if (i == 1)
			first = took;
		if (i > 1 && took != first)
			return false;
	}
	return true;
}

/* False when the reference does not run. Wraps twice a second (PM timer) or every 55 ms (PIT): more than the window. */
static bool measure(const struct reference *r)
{
	struct reading first, last;
	uint32_t window = (uint32_t)((uint64_t)r->hz * WINDOW_US / 1000000), ticks;

	apic_timer_start();
	first = take(r);
	for (uint32_t i = 0; elapsed(r, first.reference) < window; i++) {
		if (i == 1000 && elapsed(r, first.reference) == 0)
			return false;
		spin(1000); /* port reads are dear, above all under an emulator */
	}
	last = take(r);
	ticks = (last.reference - first.reference) & r->mask;
	machine_clock.tsc_hz = (last.tsc - first.tsc) * r->hz / ticks;
	machine_clock.lapic_hz = (uint64_t)(first.lapic - last.lapic) * r->hz / ticks;
	return true;
}

/* What CPUID says is exact, but may be nonsense under a hypervisor: it must agree with what we saw within 1 %. */
static void refine(uint64_t hz)
{
	uint64_t seen = machine_clock.tsc_hz;

	if (hz > seen - seen / 100 && hz < seen + seen / 100)
		machine_clock.tsc_hz = hz;
}

static void ask_cpuid(void)
{
	struct cpuid r;

	if (cpuid(0).a >= 0x15) {
		r = cpuid(0x15);
		if (r.a != 0 && r.b != 0 && r.c != 0)
			refine((uint64_t)r.c * r.b / r.a);
	}
	if ((cpuid(1).c >> 31 & 1) && cpuid(0x40000000).a >= 0x40000010)
		refine((uint64_t)cpuid(0x40000010).a * 1000);
}

bool is_tcg(void)
{
	struct cpuid id = cpuid(0x40000000);

	return (cpuid(1).c >> 31 & 1) && id.b == 0x54474354 && id.c == 0x43544743 && id.d == 0x47435447; /* TCGTCGTCGTCG */
}

static uint8_t rtc_register(uint8_t index)
{
	out8(RTC_INDEX, index);
	return in8(RTC_DATA);
}

static bool rtc_read(uint8_t fields[6])
{
	static const uint8_t index[6] = { 0, 2, 4, 7, 8, 9 }; /* s min h day month year */

	for (uint32_t i = 0; rtc_register(10) & RTC_UPDATING; i++)
		if (i == 1000000)
			return false;
	for (int i = 0; i < 6; i++)
		fields[i] = rtc_register(index[i]);
	return true;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar; the year starts in March here. */
static uint64_t days(uint32_t year, uint32_t month, uint32_t day)
{
	uint32_t y = month <= 2 ? year - 1 : year;
	uint32_t m = (month + 9) % 12;

	return (uint64_t)y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

/* Seconds since 1970, at TSC *when; 0 when the clock cannot be read. */
static uint64_t read_date(uint64_t *when)
{
	uint8_t f[6], again[6], status = rtc_register(11);
	bool same = false, afternoon;

	for (int tries = 0; tries < 5 && !same; tries++) {
		if (!rtc_read(f) || !rtc_read(again))
			return 0;
		*when = read_tsc();
		same = true;
		for (int i = 0; i < 6; i++)
			same &= f[i] == again[i];
	}
	afternoon = f[2] & 0x80;
	f[2] &= 0x7f;
	for (int i = 0; i < 6 && !(status & RTC_BINARY); i++)
		f[i] = (uint8_t)((f[i] >> 4) * 10 + (f[i] & 15));
	if (!(status & RTC_24_HOURS))
		f[2] = (uint8_t)(f[2] % 12 + (afternoon ? 12 : 0));
	if (!same || f[4] < 1 || f[4] > 12 || f[3] < 1 || f[3] > 31 || f[2] > 23)
		return 0;
	return days(2000u + f[5], f[4], f[3]) * 86400 + f[2] * 3600u + f[1] * 60u + f[0];
}

/*
 * The clock tells whole seconds. In QEMU's emulator it and the TSC start with
 * the machine, so the TSC knows when the present second began; elsewhere the
 * time is up to a second late.
 */
static void read_time(void)
{
	uint64_t second = machine_clock.tsc_hz, guard = second / 500, when;

	machine_clock.epoch = read_date(&when);
	machine_clock.epoch_tsc = when;
	if (!machine_clock.epoch || !is_tcg())
		return;
	while (when % second < guard || when % second > second - guard) { /* about to change: ask again */
		delay(1000);
		machine_clock.epoch = read_date(&when);
	}
	machine_clock.epoch_tsc = when - when % second;
}

void clock_calibrate(const struct machine *m)
{
	struct reference pm = { PM_TIMER_HZ, m->pm_timer_32 ? UINT32_MAX : 0xffffff, (uint16_t)m->pm_timer };
	struct reference pit = { PIT_HZ, 0xffff, 0 };

	if (m->pm_timer == 0 || !measure(&pm)) {
		pit_start();
		if (!measure(&pit))
			die("neither the ACPI timer nor the PIT runs: no clock to measure the others with");
	}
	if (machine_clock.tsc_hz < 1000000)
		die("the time stamp counter does not run");
	ask_cpuid();
	read_time();
}

void delay(uint64_t microseconds)
{
	uint64_t start = read_tsc(), cycles = machine_clock.tsc_hz / 1000 * microseconds / 1000;

	while (read_tsc() - start < cycles)
		pause();
}
