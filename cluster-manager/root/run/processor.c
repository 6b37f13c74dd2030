/* SPDX-License-Identifier: BSD-2-Clause */
#include "processor.h"
#include <stdint.h>
#include <string.h>
#include "results.h"

enum { BRAND_FIRST = 0x80000002, BRAND_LEAVES = 3, HYPERVISOR = 0x40000000, EXTENDED = 0x80000000 };

struct leaf {
	uint32_t a, b, c, d;
};
_Static_assert(sizeof(struct leaf) == 16, "text of 16 bytes");

static struct leaf cpuid(uint32_t number)
{
	struct leaf l;
	__asm__ volatile("cpuid" : "=a"(l.a), "=b"(l.b), "=c"(l.c), "=d"(l.d) : "a"(number), "c"(0));
	return l;
}

void processor_report(void)
{
	char brand[BRAND_LEAVES * sizeof(struct leaf) + 1] = "", hypervisor[13] = "";
	struct text *t = results_begin("machine");
	if (cpuid(EXTENDED).a >= BRAND_FIRST + BRAND_LEAVES - 1)
		for (uint32_t i = 0; i < BRAND_LEAVES; i++) {
			struct leaf l = cpuid(BRAND_FIRST + i);
			memcpy(brand + i * sizeof(l), &l, sizeof(l));
		}
	if (cpuid(1).c >> 31 & 1) {
		struct leaf l = cpuid(HYPERVISOR);
		memcpy(hypervisor, &l.b, 12);
	}
	text_format(t, ",\"cpu\":");
	text_json_string(t, brand);
	text_format(t, ",\"hypervisor\":");
	text_json_string(t, hypervisor);
	results_end(t);
}
