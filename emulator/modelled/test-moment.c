/* SPDX-License-Identifier: BSD-2-Clause */
/* Moments as nanoseconds and as the time-stamp counter. */
#include "moment.h"
#include "test-common.h"

int main(void)
{
	static const uint64_t khz[] = { 100000, 1999999, 2000000, 2300000, 3333333, 10000000 };
	static const uint64_t ns[] = { 0, 1, 7, 999, 1000000, 123456789, 86400000000000, 31536000000000000 };
	for (unsigned k = 0; k < sizeof(khz) / sizeof(khz[0]); k++)
		for (unsigned i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
			uint64_t moment = moment_from_ns(ns[i], khz[k]);
			EXPECT(moment_ns(moment, khz[k]), ns[i]); /* a timer is due when its moment comes */
			EXPECT(ns[i] == 0 || moment_ns(moment - 1, khz[k]) < ns[i], 1);
		}
	EXPECT(moment_ns(32, 2000000), 1); /* 2 cycles at 2 GHz */
	EXPECT(moment_tsc(33 * UNIT - 1), 32);
	EXPECT(moment_from_ns(UINT64_MAX, 10000000), UINT64_MAX - 1); /* far off, and not never */
	return 0;
}
