/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks of the guest (skerry/mark.h), as plugins find them in its instructions. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* nopl DISPLACEMENT(%rax,%rax), the upper half of the displacement being MARK_MAGIC and the lower the mark's number. */
enum { MARK_SIZE = 8, MARK_MAGIC = 0x534b, NO_MARK = -1 };

/* Of managers, for modelled.so alone: programs begin; the run is over. */
enum { MARK_PREPARE = 0, MARK_OVER = 9 };

/* The number of the mark that an instruction of `size` bytes is; NO_MARK of any other. */
static inline int mark_number(const uint8_t *bytes, size_t size)
{
	static const uint8_t opcode[] = { 0x0f, 0x1f, 0x84, 0x00 };
	if (size != MARK_SIZE || memcmp(bytes, opcode, sizeof(opcode)) || (bytes[6] | bytes[7] << 8) != MARK_MAGIC)
		return NO_MARK;
	return bytes[4] | bytes[5] << 8;
}
