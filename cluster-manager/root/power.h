/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

void power_init(void);
/* Since it was asked last: the machine's button, or `virsh shutdown`. */
bool power_button_pressed(void);

/* Ends the emulator with a success or failure; on a machine that has no such device, says so and returns. */
void power_off(uint32_t status);
