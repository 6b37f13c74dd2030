/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* Reports what the machine's processor calls itself, and the hypervisor, if there is one: figures mean nothing
 * without. */
void processor_report(void);
