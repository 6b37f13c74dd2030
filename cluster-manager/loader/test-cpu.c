/* SPDX-License-Identifier: BSD-2-Clause */
/* CPUs that lack one feature each, several, or have leaves that answer for others. */
#include <string.h>

#include "host.h"

/* A processor by its CPUID: the registers of the leaves that matter, and the highest leaves. */
static struct model {
	uint32_t basic, extended;
	struct cpuid features, state, saves, avx, more; /* leaves 1, 13, 13.1, 13.2, 0x80000001 */
} model;

static struct cpuid ask(uint32_t leaf, uint32_t subleaf)
{
	if (leaf == 0)
		return (struct cpuid){ .eax = model.basic };
	if (leaf == 0x80000000)
		return (struct cpuid){ .eax = model.extended };
	if (leaf == 0x80000001 && model.extended >= leaf)
		return model.more;
	if (leaf > model.basic) /* as Intel's answer: the highest leaf's registers */
		return (struct cpuid){ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX };
	return leaf == 1 ? model.features : leaf == 13 ? subleaf == 2 ? model.avx : subleaf == 1 ? model.saves
	       : model.state : (struct cpuid){ 0 };
}

/* A SandyBridge's features suffice. */
static void complete(void)
{
	model = (struct model){
		.basic = 13, .extended = 0x80000008,
		.features = { .ecx = 1u << 26,
		              .edx = 1u << 4 | 1u << 7 | 1u << 9 | 1u << 13 | 1u << 16 | 1u << 24 | 1u << 26 },
		.state = { .eax = 7, .ebx = 832 }, .avx = { .eax = 256, .ebx = 576 },
		.more = { .edx = 1u << 11 | 1u << 20 },
	};
}

static void check_refused(const char *lacks)
{
	CHECK(!HOST_TRY(cpu_check(ask, false)));
	CHECK(strncmp(host_words, "this CPU lacks ", 15) == 0 && strncmp(host_words + 15, lacks, strlen(lacks)) == 0 &&
	      host_words[15 + strlen(lacks)] == ';');
	CHECK(strstr(host_words, "-cpu max in QEMU, -cpu host under KVM") != NULL &&
	      strlen(host_words) < sizeof host_words - 1);
}

/* A processor without one of the bits, whichever. */
static void check_each(void)
{
	uint32_t number = 0;

#define WITHOUT(name, leaf, register, bit)                                            \
	complete();                                                                   \
	*(leaf == 1 ? &model.features.register : &model.more.register) &= ~(1u << bit); \
	CHECK(cpu_lacks(ask) == 1u << number++);                                      \
	check_refused(name);
	CPU_NEEDS(WITHOUT)
	CHECK(number + 1 == CPU_NEED_COUNT);
}

static void check_state(void)
{
	complete();
	model.state.eax = 3; /* no AVX: the legacy area */
	CHECK(HOST_TRY(cpu_check(ask, false)));
	complete();
	model.avx.ebx = 577; /* the area would end behind what a TCB has */
	check_refused("XSAVE in 832 bytes");
	complete();
	model.avx.ebx = UINT32_MAX - 100; /* its end wraps */
	check_refused("XSAVE in 832 bytes");
	complete();
	model.state.eax = 0;
	check_refused("XSAVE in 832 bytes");
	complete();
	model.basic = 12; /* XSAVE by its bit, but no leaf that says of what size */
	check_refused("XSAVE in 832 bytes");
}

int main(void)
{
	complete();
	CHECK(cpu_lacks(ask) == 0 && HOST_TRY(cpu_check(ask, false)));
	check_each();
	check_state();
	complete();
	model.features = model.more = (struct cpuid){ 0 };
	check_refused("TSC, MCE, APIC, PGE, PAT, FXSR, SSE2, XSAVE, SYSCALL, NX");
	complete();
	model.extended = 0; /* no extended leaves at all */
	check_refused("SYSCALL, NX");

	complete();
	CHECK(!HOST_TRY(cpu_check(ask, true)) && strstr(host_words, "XSAVE without XSAVEOPT") &&
	      strstr(host_words, "+xsaveopt"));
	model.saves.eax = 1;
	CHECK(HOST_TRY(cpu_check(ask, true)));
	complete();
	CHECK(HOST_TRY(cpu_check_timer(ask, 1000000)));
	CHECK(!HOST_TRY(cpu_check_timer(ask, 0)));
	model.features.ecx |= 1u << 24;
	CHECK(HOST_TRY(cpu_check_timer(ask, 0)));
	return host_failures != 0;
}
