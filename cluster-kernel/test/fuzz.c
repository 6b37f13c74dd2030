/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer's door: its bytes choose each core's system calls and whose turn it is. */
#include <stddef.h>
#include "random.h"

enum { STEPS = 400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 8)
		return 0;
	struct source source = { .data = data + 1, .size = size - 1 };
	random_run(&source, 1 + data[0] % FUZZ_CORES, STEPS, 0);
	return 0;
}
