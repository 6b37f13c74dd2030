/* SPDX-License-Identifier: BSD-2-Clause */
/* Offsets in the trampoline's page; smp.c asserts that its struct agrees. */
#pragma once

#define TRAMPOLINE_FIELDS      0xe00
#define TRAMPOLINE_FAR_POINTER 0xe00
#define TRAMPOLINE_GDT_POINTER 0xe08
#define TRAMPOLINE_LOADER_CR3  0xe10
#define TRAMPOLINE_X2APIC      0xe14
#define TRAMPOLINE_BOOT_INFO   0xe18
#define TRAMPOLINE_CR3         0xe20
#define TRAMPOLINE_ENTRY       0xe28
#define TRAMPOLINE_INDEX       0xe30
#define TRAMPOLINE_ARRIVED     0xe34
#define TRAMPOLINE_GO          0xe38
#define TRAMPOLINE_RESIDENT    0xe3c
