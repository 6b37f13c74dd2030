/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linked around memory_settle() of a loader that is an image of the tests
 * only: raises the exception that its command line names.
 */
#include <string.h>

#include "loader.h"

enum { UNMAPPED_BIT = 45 };

void __real_memory_settle(struct machine *m);
void __wrap_memory_settle(struct machine *m);

void __wrap_memory_settle(struct machine *m)
{
	static volatile uint64_t *const unmapped = (volatile uint64_t *)(1ull << UNMAPPED_BIT);
	static volatile uint64_t *const not_canonical = (volatile uint64_t *)(1ull << 63);

	if (strcmp(m->command_line, "divide") == 0)
		__asm__ volatile("xor %%ecx, %%ecx; div %%ecx" ::: "eax", "ecx", "edx");
	if (strcmp(m->command_line, "undefined") == 0)
		__asm__ volatile("ud2");
	if (strcmp(m->command_line, "protection") == 0)
		*not_canonical = 1;
	*unmapped = 1; /* by default */
	__real_memory_settle(m);
}
