/* SPDX-License-Identifier: BSD-2-Clause */
#include "processor.h"
#include <stdint.h>
#include <string.h>
#include <skerry/x86.h>
#include "results.h"

enum { BRAND_FIRST = 0x80000002, BRAND_LEAVES = 3, HYPERVISOR = 0x40000000, EXTENDED = 0x80000000 };

_Static_assert(sizeof(struct cpuid) == 16, "text of 16 bytes");

void processor_report(void)
{
	char brand[BRAND_LEAVES * sizeof(struct cpuid) + 1] = "", hypervisor[13] = "";
	struct text *t = results_begin("machine");
	if (cpuid(EXTENDED, 0).eax >= BRAND_FIRST + BRAND_LEAVES - 1)
		for (uint32_t i = 0; i < BRAND_LEAVES; i++) {
			struct cpuid l = cpuid(BRAND_FIRST + i, 0);
			memcpy(brand + i * sizeof(l), &l, sizeof(l));
		}
	if (cpuid(1, 0).ecx >> 31 & 1) {
		struct cpuid l = cpuid(HYPERVISOR, 0);
		memcpy(hypervisor, &l.ebx, 12);
	}
	text_format(t, ",\"cpu\":");
	text_json_string(t, brand);
	text_format(t, ",\"hypervisor\":");
	text_json_string(t, hypervisor);
	results_end(t);
}
