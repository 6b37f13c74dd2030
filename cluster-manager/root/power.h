/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/* Ends the emulator with a success or failure; on a machine that has no such device, says so and returns. */
void power_off(uint32_t status);
