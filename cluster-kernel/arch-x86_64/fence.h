/* SPDX-License-Identifier: BSD-2-Clause */
/* This cluster's side of a fence (skerry/cluster_control.h): the boot processor obeys, the other cores are not asked. */
#pragma once

#include <skerry/boot.h>

/* Once, before the boot processor can have an NMI that it should obey. */
void fence_init(const struct boot_info *info);
/* From an NMI's handler: leaves for the loader where another cluster has claimed this one. Returns where none has. */
void fence_obey(void);
