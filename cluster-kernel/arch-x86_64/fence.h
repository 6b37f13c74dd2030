/* SPDX-License-Identifier: BSD-2-Clause */
/* This cluster's side of a fence (skerry/cluster_control.h): the boot processor obeys, the other cores are not
 * asked. */
#pragma once

#include <skerry/boot.h>

/* Called once, before a fence's NMI can reach the boot processor. */
void fence_init(const struct boot_info *info);
/* Called by the NMI handler: leaves for the loader if another cluster has claimed this one, else returns. */
void fence_obey(void);
