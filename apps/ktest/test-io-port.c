/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

enum { CMOS_INDEX = 0x70, CMOS_DATA = 0x71, SCRATCH = 0x2ff, PCI_ADDRESS = 0xcf8, PCI_DATA = 0xcfc };
#define PORTS ROOT_SLOT_IO_PORT

static uint64_t range(uint64_t first, uint64_t last) { return badged(PORTS, first | last << 16, RIGHT_ALL); }

TEST(bytes, 1, NEEDS_DEVICES, "I/O port: a byte is written and read back")
{
	uint32_t value;
	for (unsigned i = 0; i < 256; i += 85) {
		check_ok(io_port_out(PORTS, SCRATCH, 1, i));
		check_ok(io_port_in(PORTS, SCRATCH, 1, &value));
		check_eq(value, i);
	}
}

TEST(words, 1, NEEDS_DEVICES | NEEDS_PROCESSOR, "I/O port: 2 and 4 bytes are written and read")
{
	uint32_t whole, half;
	check_ok(io_port_out(PORTS, PCI_ADDRESS, 4, 0x80000000));
	check_ok(io_port_in(PORTS, PCI_ADDRESS, 4, &whole));
	check_eq(whole, 0x80000000);
	check_ok(io_port_in(PORTS, PCI_DATA, 4, &whole));
	check_ok(io_port_in(PORTS, PCI_DATA, 2, &half));
	check_eq(half, whole & 0xffff);
	check_eq(half, 0x8086); /* the host bridge's vendor */
}

TEST(narrowed, 1, NEEDS_DEVICES, "I/O port: a narrowed capability reaches its ports and no other")
{
	uint32_t value;
	uint64_t ports = range(SCRATCH - 1, SCRATCH);
	check_ok(io_port_in(ports, SCRATCH, 1, &value));
	check_ok(io_port_in(ports, SCRATCH - 1, 2, &value));
	check_error(io_port_in(ports, SCRATCH - 2, 1, &value), NO_RIGHTS);
	check_error(io_port_in(ports, SCRATCH + 1, 1, &value), NO_RIGHTS);
	check_error(io_port_in(ports, SCRATCH, 2, &value), NO_RIGHTS);
	check_error(io_port_out(ports, CMOS_INDEX, 1, 0), NO_RIGHTS);
}

TEST(only_narrower, 1, NEEDS_DEVICES, "I/O port: a capability only becomes narrower")
{
	uint64_t ports = range(0x100, 0x1ff), to = slot();
	check_error(cnode_mint(IPC, ROOT_SLOT_CNODE, to, ROOT_SLOT_CNODE, ports, RIGHT_ALL, 0xff | 0x1ff << 16),
	            NO_RIGHTS);
	check_error(cnode_mint(IPC, ROOT_SLOT_CNODE, to, ROOT_SLOT_CNODE, ports, RIGHT_ALL, 0x100 | 0x200 << 16),
	            NO_RIGHTS);
	check_error(cnode_mint(IPC, ROOT_SLOT_CNODE, to, ROOT_SLOT_CNODE, ports, RIGHT_ALL, 0x180 | 0x17f << 16),
	            BAD_ARGUMENT);
	check_error(cnode_mint(IPC, ROOT_SLOT_CNODE, to, ROOT_SLOT_CNODE, ports, RIGHT_ALL,
	                       1ull << 32 | 0x180 | 0x181 << 16),
	            BAD_ARGUMENT);
	check_ok(cnode_mint(IPC, ROOT_SLOT_CNODE, to, ROOT_SLOT_CNODE, ports, RIGHT_ALL, 0x180 | 0x181 << 16));
}

TEST(arguments, 1, NEEDS_DEVICES, "I/O port: BAD_ARGUMENT for sizes, NO_RIGHTS for ports that do not exist")
{
	static const uint64_t size[] = { 0, 3, 5, 8, ~0ull }, port[] = { 0x10000, 1ull << 32, ~0ull };
	for (unsigned i = 0; i < 5; i++) {
		struct message m = { .word = { SCRATCH, size[i], 0 } };
		check_error(invoke(PORTS, IO_PORT_IN, 0, 2, &m), BAD_ARGUMENT);
		m = (struct message){ .word = { SCRATCH, size[i], 0 } };
		check_error(invoke(PORTS, IO_PORT_OUT, 0, 3, &m), BAD_ARGUMENT);
	}
	for (unsigned i = 0; i < 3; i++) {
		struct message m = { .word = { port[i], 1 } };
		check_error(invoke(PORTS, IO_PORT_IN, 0, 2, &m), NO_RIGHTS);
	}
	struct message m = { .word = { 0xffff, 2 } };
	check_error(invoke(PORTS, IO_PORT_IN, 0, 2, &m), NO_RIGHTS);
}

TEST(short_message, 1, NEEDS_DEVICES, "I/O port: TRUNCATED and BAD_LABEL")
{
	for (unsigned words = 0; words < 3; words++) {
		struct message m = { .word = { SCRATCH, 1, 0 } };
		check_error(invoke(PORTS, IO_PORT_OUT, 0, words, &m), TRUNCATED);
		m = (struct message){ .word = { SCRATCH, 1, 0 } };
		if (words < 2)
			check_error(invoke(PORTS, IO_PORT_IN, 0, words, &m), TRUNCATED);
	}
	struct message m = { .word = { SCRATCH, 1, 0 } };
	check_error(invoke(PORTS, IO_PORT_OUT + 1, 0, 3, &m), BAD_LABEL);
	check_error(invoke(PORTS, IO_PORT_IN - 1, 0, 3, &m), BAD_LABEL);
}
