/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "loader.h"

enum { NAMES_SIZE = 128 };

static void names_join(char *names, const char *name)
{
	size_t used = strlen(names), size = strlen(name);

	if (used + size + 3 > NAMES_SIZE)
		return;
	if (used > 0) {
		memcpy(names + used, ", ", 2);
		used += 2;
	}
	memcpy(names + used, name, size + 1);
}

void cpu_check(cpuid_reader *read, bool tcg)
{
	char names[NAMES_SIZE] = "";
	uint32_t lacks = cpu_lacks(read);

	for (uint32_t i = 0; i < CPU_NEED_COUNT; i++)
		if (lacks >> i & 1)
			names_join(names, cpu_need_name[i]);
	if (lacks != 0)
		panic("this CPU lacks %s; choose a CPU model that has it: -cpu max in QEMU, -cpu host under KVM "
		      "(kvm64, qemu64 and x86-64-v2-AES have no XSAVE)", names);
	/* QEMU 10 takes CR4.OSXSAVE for reserved where leaf 13.1 is empty, and repeats the instruction that sets it for
	 * ever. */
	if (tcg && cpu_leaf(read, CPU_STATE_LEAF, 1).eax == 0)
		panic("this CPU model has XSAVE without XSAVEOPT, which QEMU's emulator lets no kernel use; choose "
		      "-cpu max, or add "
		      "+xsaveopt");
}

void cpu_check_timer(cpuid_reader *read, uint64_t lapic_hz)
{
	if (lapic_hz == 0 && !cpu_has_tsc_deadline(read))
		panic("the local APIC timer does not run, and this CPU has no TSC deadline: kernels have no timer; "
		      "choose another "
		      "CPU model or machine");
}
