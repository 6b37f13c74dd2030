/* SPDX-License-Identifier: BSD-2-Clause */
/* A device whose capabilities run in a circle, none of them the registers that the driver looks for. */
#include <string.h>
#include "test.h"
#include "../virtio-net/device.h"
#include "../driver/pci.h"

enum { FIRST = 0x40, SECOND = 0x50, MSIX = 0x60, OTHER_TYPE = 5, NEXT = 1, TYPE = 3 };

static _Alignas(4096) uint8_t config[4096], bar[4096];

static void add(uint8_t at, uint8_t kind, uint8_t next)
{
	config[at] = kind;
	config[at + NEXT] = next;
	config[at + TYPE] = kind == PCI_CAPABILITY_VENDOR ? OTHER_TYPE : 0;
}

static const char *start(void)
{
	static struct process_info info;
	struct process_device *const device = &info.device;
	struct virtio_net net;

	device->config_vaddr = (uint64_t)(uintptr_t)config;
	device->bar_vaddr[0] = (uint64_t)(uintptr_t)bar;
	device->bar_size[0] = sizeof(bar);
	return virtio_net_start(&net, &info);
}

int main(void)
{
	const char *wrong;

	config[PCI_STATUS] = PCI_STATUS_CAPABILITIES;
	config[PCI_CAPABILITIES] = FIRST;
	add(FIRST, PCI_CAPABILITY_VENDOR, SECOND);
	add(SECOND, PCI_CAPABILITY_VENDOR, MSIX);
	add(MSIX, PCI_CAPABILITY_MSIX, FIRST);
	wrong = start();
	CHECK(wrong && strstr(wrong, "no modern virtio registers"));
	add(SECOND, PCI_CAPABILITY_VENDOR, FIRST); /* and one that the way to MSI-X does not lead out of */
	wrong = start();
	CHECK(wrong && strstr(wrong, "no MSI-X"));
	return 0;
}
