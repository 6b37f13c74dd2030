/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Enables the power button, where this cluster has the machine's devices. Called once. */
void power_init(void);
/* Returns whether the machine's button was pressed (`virsh shutdown` does so, too) since the last call. */
bool power_button_pressed(void);

/* Ends the emulator with a success or failure; on a machine that has no such device, says so and returns. */
void power_off(uint32_t status);
