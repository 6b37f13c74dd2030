/* SPDX-License-Identifier: BSD-2-Clause */
/* The PC's real-time clock (MC146818). */
#include "clock.h"
#include "cpu.h"

enum { RTC_INDEX = 0x70, RTC_DATA = 0x71, RTC_UPDATING = 0x80, RTC_24_HOURS = 2, RTC_BINARY = 4, RTC_ABSENT = 0xff };

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
/*@ requires 1970 <= year <= 2200 && 1 <= month <= 12 && 1 <= day <= 31;
  @ assigns \nothing;
  @ ensures first: year == 1970 && month == 1 ==> \result == day - 1;
  @ ensures year: 365 * (year - 1970) <= \result < 366 * (year - 1969); */
static uint64_t days_since_1970(uint32_t year, uint32_t month, uint32_t day)
{
	uint32_t y = month <= 2 ? year - 1 : year;
	uint32_t m = (month + 9) % 12;

	return (uint64_t)y * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

uint64_t date_read(uint64_t *when)
{
	uint8_t f[6], again[6], status = rtc_register(11);
	bool same = false, afternoon;

	if (status == RTC_ABSENT)
		return 0;
	for (int tries = 0; tries < 5 && !same; tries++) {
		if (!rtc_read(f) || !rtc_read(again))
			return 0;
		*when = read_tsc_in_order();
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
	return days_since_1970(2000u + f[5], f[4], f[3]) * 86400 + f[2] * 3600u + f[1] * 60u + f[0];
}
