/* SPDX-License-Identifier: BSD-2-Clause */
/* I/O APICs of the cluster that owns the devices. */
#pragma once

#include <skerry/boot.h>

/* Masks every pin. */
void io_apic_init(const struct boot_info *info);
