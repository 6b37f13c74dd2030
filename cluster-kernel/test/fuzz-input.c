/* SPDX-License-Identifier: BSD-2-Clause */
/* Random system calls as a fuzz target: for libFuzzer, and for replay.c. */
#include <string.h>
#include "random.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	random_input(data, size, strcmp(REGIME_HEADER, "none.h") ? RANDOM_INPUT_CORES : 1);
	return 0;
}

/* The system calls say more than the name. */
void replay_tell(const char *path, size_t size)
{
	(void)path, (void)size;
	operation_verbose = true;
}
