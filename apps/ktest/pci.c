/* SPDX-License-Identifier: BSD-2-Clause */
#include "ktest.h"

enum { ADDRESS = 0xcf8, DATA = 0xcfc };

static void select(unsigned device, unsigned offset)
{
	check_ok(io_port_out(ROOT_SLOT_IO_PORT, ADDRESS, 4, 0x80000000 | device << 11 | (offset & 0xfc)));
}

uint32_t pci_read(unsigned device, unsigned offset)
{
	uint32_t value;
	select(device, offset);
	check_ok(io_port_in(ROOT_SLOT_IO_PORT, DATA, 4, &value));
	return value;
}

void pci_write(unsigned device, unsigned offset, uint32_t value)
{
	select(device, offset);
	check_ok(io_port_out(ROOT_SLOT_IO_PORT, DATA, 4, value));
}

int pci_find(uint32_t id)
{
	for (unsigned device = 0; device < 32; device++)
		if (pci_read(device, 0) == id)
			return (int)device;
	return -1;
}

unsigned pci_capability(unsigned device, unsigned kind)
{
	unsigned at = pci_read(device, PCI_CAPABILITIES) & 0xfc;
	while (at && (pci_read(device, at) & 0xff) != kind)
		at = pci_read(device, at) >> 8 & 0xfc;
	return at;
}

bool has_msi(void) { return has_devices() && pci_find(EDU_ID) >= 0; }

/* Halves the untyped that it lies in until a page is left. */
uint64_t device_frame(uint64_t address)
{
	for (unsigned i = 0; i < ROOT->untyped_count; i++) {
		const struct root_untyped *u = &ROOT->untyped[i];
		if (u->kind != ROOT_UNTYPED_DEVICE || address < u->paddr || (address - u->paddr) >> u->size_bits)
			continue;
		uint64_t memory = ROOT_SLOT_UNTYPED + i;
		for (unsigned bits = u->size_bits; bits > 12; bits--) {
			uint64_t half = slots(2);
			check_ok(untyped_retype(IPC, memory, OBJECT_UNTYPED, bits - 1, ROOT_SLOT_CNODE, half, 2));
			memory = half + (address >> (bits - 1) & 1);
		}
		uint64_t frame = slot();
		check_ok(untyped_retype(IPC, memory, OBJECT_FRAME_4K, 0, ROOT_SLOT_CNODE, frame, 1));
		return frame;
	}
	return 0;
}
