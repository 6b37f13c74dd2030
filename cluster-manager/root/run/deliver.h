/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Handles messages of the mailbox, a bounded number of them. True: there are more. Calls of it never nest. */
bool mail_deliver(void);

/* Switches the machine off once the mailbox is empty: lines of this manager wait there. */
void mail_then_power_off(uint32_t status);
