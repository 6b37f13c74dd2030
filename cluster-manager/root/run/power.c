/* SPDX-License-Identifier: BSD-2-Clause */
#include "console.h"
#include "map.h"
#include "output.h"
#include "power.h"
#include "root.h"

/* QEMU's isa-debug-exit ends with status 2 * value + 1. */
enum { DEBUG_EXIT_PORT = 0xf4, DEBUG_EXIT_SUCCESS = 0x10, DEBUG_EXIT_FAILURE = 0x11, EXIT_MS = 500 };

/* in the PM1 status and enable registers (ACPI 6.5, 4.8.3.1) */
enum { PM1_POWER_BUTTON = 1 << 8 };

static bool has_button(void)
{
	return ROOT->power_status && map_cluster(map, ROOT->cluster)->devices;
}

/* The interrupt that the button would raise goes nowhere: it is looked at every tick. */
void power_init(void)
{
	uint32_t enabled;
	if (!has_button())
		return;
	io_port_out(ROOT_SLOT_IO_PORT, ROOT->power_status, 2, PM1_POWER_BUTTON);
	if (!io_port_in(ROOT_SLOT_IO_PORT, ROOT->power_enable, 2, &enabled))
		io_port_out(ROOT_SLOT_IO_PORT, ROOT->power_enable, 2, enabled | PM1_POWER_BUTTON);
}

bool power_button_pressed(void)
{
	uint32_t status;
	if (!has_button() || io_port_in(ROOT_SLOT_IO_PORT, ROOT->power_status, 2, &status) ||
	    !(status & PM1_POWER_BUTTON))
		return false;
	io_port_out(ROOT_SLOT_IO_PORT, ROOT->power_status, 2, PM1_POWER_BUTTON); /* writing 1 clears it */
	return true;
}

void power_off(uint32_t status)
{
	output_drain();
	io_port_out(ROOT_SLOT_IO_PORT, DEBUG_EXIT_PORT, 1, status ? DEBUG_EXIT_FAILURE : DEBUG_EXIT_SUCCESS);
	uint64_t timeout = read_tsc() + milliseconds(EXIT_MS); /* the emulator ends a moment later */
	while (read_tsc() < timeout)
		;
	console_print("it is now safe to switch off");
}
