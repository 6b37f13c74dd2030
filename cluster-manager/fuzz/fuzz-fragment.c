/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of messages between managers: a record is type, total and offset, and a byte that makes some of them fit. */
#include <string.h>

#include "../root/link/fragment.h"
#include "fuzz.h"

enum { RECORD = 7, FITTING_OFFSET = 1, FITTING_TOTAL = 2, FITTING_TYPE = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assembly *a = calloc(1, sizeof *a);

	for (; size >= RECORD; data += RECORD, size -= RECORD) {
		struct fragment *f = malloc(sizeof *f);
		enum assembly_state state;

		memset(f, 1, sizeof *f);
		memcpy(f, data, RECORD - 1);
		if (data[RECORD - 1] & FITTING_OFFSET)
			f->offset = a->received;
		if (data[RECORD - 1] & FITTING_TOTAL)
			f->total = a->total;
		if (data[RECORD - 1] & FITTING_TYPE)
			f->type = a->type;
		state = fragment_join(a, f);
		MUST(a->received <= MESSAGE_SIZE_MAX);
		MUST(state != ASSEMBLY_WHOLE || (a->total <= MESSAGE_SIZE_MAX && a->type == f->type));
		free(f);
	}
	free(a);
	return 0;
}
