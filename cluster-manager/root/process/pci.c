/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/require.h>
#include "pci.h"
#include "root.h"

enum {
	CONFIG_ADDRESS = 0xcf8, CONFIG_DATA = 0xcfc,
	REG_ID = 0x00, REG_COMMAND = 0x04, REG_HEADER = 0x0c, REG_BAR = 0x10,
	COMMAND_IO = 1, COMMAND_MEMORY = 2, COMMAND_MASTER = 4,
	HEADER_MULTIFUNCTION = 0x800000,
	BAR_IO = 1, BAR_TYPE = 6, BAR_64 = 4,
	ASSIGNED_MAX = 32,
};

static uint32_t assigned[ASSIGNED_MAX];
static unsigned assigned_count;

static void pci_select(uint32_t bdf, unsigned reg)
{
	io_port_out(ROOT_SLOT_IO_PORT, CONFIG_ADDRESS, 4, 0x80000000u | bdf << 8 | reg);
}

static uint32_t config_read(uint32_t bdf, unsigned reg)
{
	uint32_t value;
	pci_select(bdf, reg);
	return io_port_in(ROOT_SLOT_IO_PORT, CONFIG_DATA, 4, &value) ? 0xffffffff : value;
}

static void config_write(uint32_t bdf, unsigned reg, uint32_t value)
{
	pci_select(bdf, reg);
	io_port_out(ROOT_SLOT_IO_PORT, CONFIG_DATA, 4, value);
}

static uint32_t big_endian(const uint8_t *byte)
{
	return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
}

static bool is_wanted(uint32_t bdf, uint32_t id, const uint8_t *ids, unsigned count)
{
	for (unsigned i = 0; i < assigned_count; i++)
		if (assigned[i] == bdf)
			return false;
	for (unsigned i = 0; i < count; i++)
		if (big_endian(ids + 8 * i) == (id & 0xffff) && big_endian(ids + 8 * i + 4) == id >> 16)
			return true;
	return false;
}

bool pci_find(const void *ids, unsigned count, struct pci_function *function)
{
	for (uint32_t bdf = 0; bdf < 0x10000 && assigned_count < ASSIGNED_MAX; bdf++) {
		uint32_t id = config_read(bdf, REG_ID);
		if ((id & 0xffff) != 0xffff && is_wanted(bdf, id, ids, count)) {
			*function = (struct pci_function){ bdf, (uint16_t)id, (uint16_t)(id >> 16) };
			assigned[assigned_count++] = bdf;
			return true;
		}
		/* no function 0, or one that says it is alone: on to the next device */
		bool absent = (id & 0xffff) == 0xffff;
		if ((bdf & 7) == 0 && (absent || !(config_read(bdf, REG_HEADER) & HEADER_MULTIFUNCTION)))
			bdf |= 7;
	}
	return false;
}

/* How many of the address bits the function decodes: the BAR's size. Leaves the BAR as it was. */
static uint32_t size_mask(uint32_t bdf, unsigned reg)
{
	uint32_t value = config_read(bdf, reg);
	config_write(bdf, reg, 0xffffffff);
	uint32_t mask = config_read(bdf, reg);
	config_write(bdf, reg, value);
	return mask;
}

void pci_enable(const struct pci_function *function, struct pci_bar bar[PCI_BARS])
{
	uint32_t bdf = function->bdf;
	uint32_t command = config_read(bdf, REG_COMMAND) & 0xffff; /* status bits are cleared by writing 1 */
	config_write(bdf, REG_COMMAND, command & ~(uint32_t)(COMMAND_IO | COMMAND_MEMORY));
	for (unsigned i = 0; i < PCI_BARS; i++) {
		unsigned reg = REG_BAR + 4 * i;
		uint32_t low = config_read(bdf, reg);
		uint64_t mask = size_mask(bdf, reg);
		bar[i] = (struct pci_bar){ 0 };
		if ((low & BAR_IO) || mask == 0)
			continue;
		uint64_t address = low & ~15u;
		mask &= ~15ull;
		if ((low & BAR_TYPE) == BAR_64 && i + 1 < PCI_BARS) {
			address |= (uint64_t)config_read(bdf, reg + 4) << 32;
			mask |= (uint64_t)size_mask(bdf, reg + 4) << 32;
			bar[i + 1] = (struct pci_bar){ 0 };
		} else {
			mask |= 0xffffffff00000000ull;
		}
		if (address && mask)
			bar[i] = (struct pci_bar){ address, ~mask + 1 };
		if ((low & BAR_TYPE) == BAR_64)
			i++;
	}
	config_write(bdf, REG_COMMAND, (command & ~(uint32_t)COMMAND_MASTER) | COMMAND_MEMORY);
}

uint32_t pci_config_read(const struct pci_function *function, unsigned offset, unsigned size)
{
	uint32_t value;

	require(offset % size == 0 && offset + size <= PCI_CONFIGURATION);
	pci_select(function->bdf, offset & ~3u);
	return io_port_in(ROOT_SLOT_IO_PORT, (uint16_t)(CONFIG_DATA + (offset & 3)), size, &value) ? 0 : value;
}

void pci_config_write(const struct pci_function *function, unsigned offset, unsigned size, uint32_t value)
{
	require(offset % size == 0 && offset + size <= PCI_CONFIGURATION);
	pci_select(function->bdf, offset & ~3u);
	io_port_out(ROOT_SLOT_IO_PORT, (uint16_t)(CONFIG_DATA + (offset & 3)), size, value);
}

void pci_quiet(const struct pci_function *function)
{
	uint32_t command = config_read(function->bdf, REG_COMMAND) & 0xffff;
	config_write(function->bdf, REG_COMMAND, command & ~(uint32_t)COMMAND_MASTER);
}
