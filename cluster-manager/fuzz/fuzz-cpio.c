/* SPDX-License-Identifier: BSD-2-Clause */
/* The initrd: every module lies within it and has a name. */
#include <string.h>

#include "fuzz.h"
#include "host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct machine machine;
	const char *archive = fuzz_copy(data, size);

	memset(&machine, 0, sizeof machine);
	host_lines = 0;
	if (!HOST_TRY(archive_read(&machine, archive, size)))
		MUST(host_lines == 1);
	MUST(machine.module_count <= MACHINE_MAX_MODULES);
	for (uint32_t i = 0; i < machine.module_count; i++) {
		const struct machine_module *m = &machine.module[i];
		const char *start = m->data;

		MUST(start >= archive && start <= archive + size && m->size <= (uint64_t)(archive + size - start));
		MUST(m->name[0] != '\0' && strlen(m->name) < MODULE_NAME_MAX);
	}
	free((void *)(uintptr_t)archive);
	return 0;
}
