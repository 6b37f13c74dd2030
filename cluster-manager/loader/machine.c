/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "machine.h"

const struct machine_module *machine_module(const struct machine *m, const char *name)
{
	for (uint32_t i = 0; i < m->module_count; i++)
		if (strcmp(m->module[i].name, name) == 0)
			return &m->module[i];
	return NULL;
}

const struct machine_cpu *machine_cpu(const struct machine *m, uint32_t apic)
{
	for (uint32_t i = 0; i < m->cpu_count; i++)
		if (m->cpu[i].apic == apic)
			return &m->cpu[i];
	return NULL;
}
