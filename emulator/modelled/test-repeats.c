/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include "test-common.h"

/* An access that is reported as a repetition costs nothing and changes no state: two memories are compared, of which
 * one skips the repetitions. */
int main(void)
{
	static struct memory memory, other;
	struct machine machine = small_machine();
	uint64_t seed = 88172645463325252ull, now[8] = { 0 }, count = 0;
	memory_make(&memory, &machine);
	memory_make(&other, &machine);
	for (unsigned step = 0; step < 200000; step++) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		unsigned core = step / 8 % 8;
		uint64_t line = 1 + (seed >> 8) % 3 * 64;
		enum access access = (enum access)((seed >> 32) % 4);
		now[core] += UNIT * ((seed >> 40) % 50);
		uint64_t end = access == FETCH ? memory_fetch(&other, core, line, now[core])
		         : memory_access(&other, core, line, access, now[core]);
		if (access <= STORE && memory_repeats(&memory, core, line, access == STORE, now[core])) {
			EXPECT(end, now[core]);
			count++;
		} else {
			EXPECT(access == FETCH ? memory_fetch(&memory, core, line, now[core])
			       : memory_access(&memory, core, line, access, now[core]), end);
		}
		now[core] = end;
	}
	EXPECT(count > 5000, 1);
	for (unsigned core = 0; core < 8; core++)
		EXPECT(memcmp(&memory.core[core].traffic, &other.core[core].traffic, sizeof(struct traffic)), 0);
	EXPECT(memory_repeats(&memory, 0, 0, false, now[0]), 0); /* no line is known */
	memory_free(&other);
	memory_free(&memory);
	return 0;
}
