/* SPDX-License-Identifier: BSD-2-Clause */
/* ACPI tables into struct machine. They come from firmware: whatever they say must do no harm. */
#pragma once

#include "machine.h"

/* acpi.c: finds the tables and reads all that are of use. Without RSDP or MADT it dies. */
void acpi_read(struct machine *m);

/* Bytes of physical memory, mapped; NULL where that cannot be. The loader's memory.c has one, its test another. */
const void *acpi_memory(uint64_t address, uint64_t size);

/*
 * acpi_tables.c: each reads one kind of table into *m. `length` is the table's, header included; the caller has checked
 * that so many bytes are mapped and that their sum is right.
 */
void acpi_read_madt(struct machine *m, const uint8_t *table, uint32_t length);
void acpi_read_srat(struct machine *m, const uint8_t *table, uint32_t length);
void acpi_read_fadt(struct machine *m, const uint8_t *table, uint32_t length);
void acpi_read_spcr(struct machine *m, const uint8_t *table, uint32_t length);
void acpi_read_hpet(struct machine *m, const uint8_t *table, uint32_t length);
