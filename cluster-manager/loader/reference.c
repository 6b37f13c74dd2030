/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reference that other clocks are measured with: the ACPI timer, the HPET, the PIT, or, on a machine that has none
 * of them (hardware-reduced ACPI), the TSC itself, when CPUID has its frequency; then only the APIC timer needs
 * measuring.
 */
#include "clock.h"

#include "acpi.h"
#include "cpu.h"

enum { PM_TIMER_HZ = 3579545, PIT_HZ = 1193182 };
enum { PIT_CHANNEL_2 = 0x42, PIT_COMMAND = 0x43, PIT_GATE = 0x61 };
enum { HPET_SIZE = 0x400, HPET_PERIOD = 1, HPET_CONFIGURATION = 4, HPET_ENABLE = 1, HPET_COUNTER = 0x3c }; /* words */
enum { HPET_PERIOD_MAX = 100000000 }; /* femtoseconds: 10 MHz is the least there may be */

static void start_pit(void)
{
	out8(PIT_GATE, (in8(PIT_GATE) & ~2) | 1);
	out8(PIT_COMMAND, 0xb4); /* channel 2, both bytes, rate generator, from 2^16 */
	out8(PIT_CHANNEL_2, 0);
	out8(PIT_CHANNEL_2, 0);
}

static bool start_hpet(struct reference *r, uint64_t address)
{
	volatile uint32_t *hpet = address == 0 ? NULL : (volatile uint32_t *)acpi_memory(address, HPET_SIZE);
	uint32_t period;

	if (hpet == NULL)
		return false;
	period = hpet[HPET_PERIOD];
	if (period == 0 || period > HPET_PERIOD_MAX)
		return false;
	hpet[HPET_CONFIGURATION] |= HPET_ENABLE;
	r->hz = 1000000000000000ul / period;
	r->counter = &hpet[HPET_COUNTER];
	return true;
}

bool reference_start(struct reference *r, enum clock_source source, const struct machine *m)
{
	bool exact = false;

	*r = (struct reference){ .source = source, .mask = UINT32_MAX };
	switch (source) {
	case CLOCK_PM:
		r->hz = PM_TIMER_HZ;
		r->mask = m->pm_timer_32 ? UINT32_MAX : 0xffffff;
		r->port = (uint16_t)m->pm_timer;
		return m->pm_timer != 0;
	case CLOCK_HPET:
		return start_hpet(r, m->hpet);
	case CLOCK_PIT:
		r->hz = PIT_HZ;
		r->mask = 0xffff;
		start_pit();
		return true;
	case CLOCK_CPUID:
		r->hz = cpuid_tsc_hz(&exact);
		return r->hz != 0;
	default:
		return false;
	}
}

uint32_t reference_read(const struct reference *r)
{
	uint32_t low;

	switch (r->source) {
	case CLOCK_PM:
		return in32(r->port);
	case CLOCK_HPET:
		return *r->counter;
	case CLOCK_PIT:
		out8(PIT_COMMAND, 0x80); /* latch channel 2 */
		low = in8(PIT_CHANNEL_2);
		return 0u - (low | (uint32_t)in8(PIT_CHANNEL_2) << 8); /* counts down */
	default:
		return (uint32_t)read_tsc_in_order();
	}
}

const char *reference_name(const struct reference *r)
{
	static const char *const name[] = { [CLOCK_PM] = "the ACPI timer", [CLOCK_HPET] = "the HPET",
					    [CLOCK_PIT] = "the PIT", [CLOCK_CPUID] = "what CPUID says" };

	return name[r->source];
}

uint64_t cpuid_tsc_hz(bool *exact)
{
	uint32_t highest = cpuid(0, 0).eax;
	struct cpuid r;

	*exact = true;
	if (highest >= 0x15) { /* TSC = core crystal clock * EBX / EAX */
		r = cpuid(0x15, 0);
		if (r.eax != 0 && r.ebx != 0 && r.ecx != 0)
			return (uint64_t)r.ecx * r.ebx / r.eax;
	}
	/* kHz, by convention of hypervisors */
	if ((cpuid(1, 0).ecx >> 31 & 1) && cpuid(0x40000000, 0).eax >= 0x40000010)
		return (uint64_t)cpuid(0x40000010, 0).eax * 1000;
	*exact = false;
	/* of the label: the TSC's, about */
	return highest >= 0x16 ? (uint64_t)(cpuid(0x16, 0).eax & 0xffff) * 1000000 : 0;
}
