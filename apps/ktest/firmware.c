/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads QEMU's configuration of the machine (-fw_cfg): items of bytes behind two I/O ports. */
#include "ktest.h"

enum { SELECTOR = 0x510, DATA = 0x511, KEY_SIGNATURE = 0, KEY_FILES = 0x19, NAME_SIZE = 56, FILES_MAX = 256 };
#define SIGNATURE     0x51454d55u /* "QEMU" */
#define CLOCK_COUNTS "opt/skerry/clock-counts-instructions"

static void select(unsigned key) { check_ok(io_port_out(ROOT_SLOT_IO_PORT, SELECTOR, 2, key)); }

/* The next `bytes` of the item, the highest first. */
static uint32_t next(unsigned bytes)
{
	uint32_t number = 0, byte;
	for (; bytes; bytes--) {
		check_ok(io_port_in(ROOT_SLOT_IO_PORT, DATA, 1, &byte));
		number = number << 8 | (byte & 0xff);
	}
	return number;
}

static bool has_file(const char *name)
{
	select(KEY_SIGNATURE);
	if (next(4) != SIGNATURE)
		return false;
	select(KEY_FILES);
	bool found = false;
	for (uint32_t count = next(4), i = 0; i < count && i < FILES_MAX && !found; i++) {
		char text[NAME_SIZE];
		next(4); /* its size */
		next(4); /* its key */
		for (unsigned c = 0; c < NAME_SIZE; c++)
			text[c] = (char)next(1);
		text[NAME_SIZE - 1] = 0;
		found = !strcmp(text, name);
	}
	return found;
}

bool clock_counts_instructions(void)
{
	static int known = -1;
	if (known < 0)
		known = has_devices() && has_file(CLOCK_COUNTS);
	return known;
}
