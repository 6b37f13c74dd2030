/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device whose capabilities run in a circle, none of them the registers that the driver looks for; and capabilities
 * that are in the header, or that end behind the configuration space.
 */
#include <string.h>
#include "../driver/pci.h"
#include "../virtio-net/device.h"
#include "test.h"

enum { FIRST = 0x40, SECOND = 0x50, MSIX = 0x60, OTHER_TYPE = 5, NEXT = 1, TYPE = 3, LENGTH = 12 };

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

/* The registers of `type` are in the whole of BAR 0, for it says 0 in all that it does not say here. */
static void add_registers(unsigned at, uint8_t type, uint8_t next)
{
	config[at] = PCI_CAPABILITY_VENDOR;
	config[at + NEXT] = next;
	config[at + TYPE] = type;
	config[at + LENGTH] = 64;
}

/* Starts a device that has all that is needed: MSI-X, or registers of a type, in a capability at `at` alone. */
static const char *start_with(unsigned at, unsigned what)
{
	memset(config, 0, sizeof(config));
	memset(bar, 0, sizeof(bar));
	config[PCI_STATUS] = PCI_STATUS_CAPABILITIES;
	config[PCI_CAPABILITIES] = FIRST;
	config[FIRST] = PCI_CAPABILITY_MSIX;
	config[FIRST + NEXT] = SECOND;
	add_registers(SECOND, 1, MSIX);
	add_registers(MSIX, 2, 0);
	if (what == PCI_CAPABILITY_MSIX) {
		config[FIRST] = 0;
		config[MSIX + NEXT] = (uint8_t)at;
		config[at] = PCI_CAPABILITY_MSIX;
	} else {
		config[what == 1 ? SECOND + TYPE : MSIX + TYPE] = OTHER_TYPE;
		config[MSIX + NEXT] = (uint8_t)at;
		add_registers(at, (uint8_t)what, 0);
	}
	return start();
}

static bool says(const char *wrong, const char *expected) { return wrong && strstr(wrong, expected); }

/* What lies behind the first 256 bytes is no part of a capability, though it would do. */
static void places(void)
{
	static const char complete[] = "older than virtio 1.0", no_registers[] = "no modern virtio registers";

	for (unsigned at = 0x80; at < 0x100; at += 4) {
		CHECK(says(start_with(at, PCI_CAPABILITY_MSIX), at + 12 <= 0x100 ? complete : "no MSI-X"));
		CHECK(says(start_with(at, 1), at + 16 <= 0x100 ? complete : no_registers));
		CHECK(says(start_with(at, 2), at + 20 <= 0x100 ? complete : no_registers));
	}
	CHECK(says(start_with(0x18, PCI_CAPABILITY_MSIX), "no MSI-X")); /* a BAR */
}

int main(void)
{
	const char *wrong;

	places();
	memset(config, 0, sizeof(config));
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
