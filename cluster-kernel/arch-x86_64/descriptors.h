/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct core_local;

/* Loads this core's GDT, TSS, IDT and system-call registers. */
void descriptors_init(struct core_local *local);
