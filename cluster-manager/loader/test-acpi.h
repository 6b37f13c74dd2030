/* SPDX-License-Identifier: BSD-2-Clause */
/* Synthetic firmware. Each table lies in memory of exactly its size, so that AddressSanitizer sees a read past it. */
#pragma once

#include "acpi.h"
#include "host.h"

enum { MAX_PIECES = 16, TABLE_MAX = 32768 };
enum { LENGTH = 4, REVISION = 8, CHECKSUM = 9, HEADER = 36, MADT_FIRST = 44, SRAT_FIRST = 48 };

/* Physical memory: pieces with nothing between them. */
struct piece {
	uint64_t address;
	uint32_t size;
	uint8_t *bytes;
};
extern struct piece piece[MAX_PIECES];
extern unsigned piece_count;
extern struct piece *madt, *srat, *fadt, *spcr, *hpet, *rsdp, *xsdt, *rsdt;
extern struct machine machine;

/* A table being written. */
extern uint8_t draft[TABLE_MAX];
extern uint32_t at;

void put(unsigned bytes, uint64_t value);
void begin(const char *signature, uint32_t size);
void set(uint32_t offset, unsigned bytes, uint64_t value);
void seal(uint8_t *table, uint32_t size);
struct piece *place(uint64_t address, const void *bytes, uint32_t size);
void cpu(uint32_t id, bool enabled);
void io_apic(uint8_t id, uint32_t base, uint32_t first_gsi);
void memory_affinity(uint64_t base, uint64_t size, uint32_t node);
void make_firmware(void);
void drop_firmware(void);
/* The draft in place of a table; bytes of one, its checksum right again. */
void replace(struct piece *p);
void rewrite(struct piece *p, uint32_t offset, unsigned bytes, uint64_t value);
