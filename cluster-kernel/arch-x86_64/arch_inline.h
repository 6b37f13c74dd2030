/* SPDX-License-Identifier: BSD-2-Clause */
/* The inline half of the port contract (../core/arch.h) for x86-64. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/boot.h>
#include <skerry/syscall.h>
#include <skerry/tsc.h>
#include "x86.h"

static inline uint64_t arch_direct_base(void) { return KERNEL_DIRECT_BASE; }

static inline uint64_t arch_time(void) { return read_tsc(); }
static inline void arch_relax(void) { cpu_pause(); }
static inline void arch_copy(void *to, const void *from, uint64_t size)
{
	uint64_t words = size / 8;
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
}
static inline void arch_flush_tlb(void) { write_cr3(read_cr3()); } /* of the loaded tag; no user page is global */

/* A change of CR4.PGE flushes everything under every tag (SDM 3, 4.10.4.1). */
static inline void arch_flush_kernel(void)
{
	uint64_t cr4 = read_cr4();
	write_cr4(cr4 ^ CR4_PGE);
	write_cr4(cr4);
}

/* Page-table entries (Intel SDM volume 3, 4.5) */
#define PTE_PRESENT  0x001ull
#define PTE_WRITE    0x002ull
#define PTE_USER     0x004ull
#define PTE_PWT      0x008ull
#define PTE_PCD      0x010ull
#define PTE_LARGE    0x080ull
#define PTE_PAT_4K   0x080ull
#define PTE_PAT_LARGE 0x1000ull
#define PTE_ADDRESS  0x000ffffffffff000ull
#define PTE_NX       (1ull << 63)

static inline bool arch_pte_present(uint64_t entry) { return entry & PTE_PRESENT; }
static inline bool arch_pte_is_table(uint64_t entry) { return (entry & (PTE_PRESENT | PTE_LARGE)) == PTE_PRESENT; }
/*@ requires level <= 3;
  @ assigns \nothing;
  @ ensures bits: page: \result % 4096 == 0 && \result < 1 << 52;
  @ ensures bits: same: level == 0 ==> \result == entry / 4096 * 4096 % (1 << 52); */
static inline uint64_t arch_pte_address(uint64_t entry, unsigned level)
{
	return entry & PTE_ADDRESS & (level && (entry & PTE_LARGE) ? ~PTE_PAT_LARGE : ~0ull);
}
/*@ requires paddr % 4096 == 0 && paddr < 1 << 52;
  @ assigns \nothing;
  @ ensures bits: \result == paddr + PTE_PRESENT + PTE_WRITE + PTE_USER; */
static inline uint64_t arch_pte_table(uint64_t paddr) { return paddr | PTE_PRESENT | PTE_WRITE | PTE_USER; }

/*@ requires level <= 2 && rights <= RIGHT_ALL && attributes <= CACHE_WRITE_COMBINING;
  @ requires paddr % (1 << (12 + 9 * level)) == 0 && paddr < 1 << 52;
  @ assigns \nothing;
  @ ensures bits: address: (\result & PTE_ADDRESS & ~(level > 0 ? PTE_PAT_LARGE : 0)) == paddr;
  @ ensures bits: user: (\result & PTE_PRESENT) != 0 && (\result & PTE_USER) != 0;
  @ ensures bits: write: (\result & PTE_WRITE) != 0 <==> (rights & RIGHT_WRITE) != 0;
  @ ensures bits: execute: (\result & PTE_NX) == 0 <==> (rights & RIGHT_EXECUTE) != 0;
  @ ensures bits: large: level > 0 ==> (\result & PTE_LARGE) != 0; */
static inline uint64_t arch_pte_frame(uint64_t paddr, unsigned level, unsigned rights, unsigned attributes)
{
	uint64_t entry = paddr | PTE_PRESENT | PTE_USER;
	if (rights & RIGHT_WRITE)
		entry |= PTE_WRITE;
	if (!(rights & RIGHT_EXECUTE))
		entry |= PTE_NX;
	if (attributes == CACHE_DISABLED)
		entry |= PTE_PCD | PTE_PWT;
	if (attributes == CACHE_WRITE_COMBINING) /* PAT entry 4 */
		entry |= level ? PTE_PAT_LARGE : PTE_PAT_4K;
	return level ? entry | PTE_LARGE : entry;
}
/*@ assigns \nothing;
  @ ensures bits: write: (\result & RIGHT_WRITE) != 0 <==> (entry & PTE_WRITE) != 0;
  @ ensures bits: execute: (\result & RIGHT_EXECUTE) != 0 <==> (entry & PTE_NX) == 0;
  @ ensures bits: no_more: (\result & ~(RIGHT_READ | RIGHT_WRITE | RIGHT_EXECUTE)) == 0; */
static inline unsigned arch_pte_rights(uint64_t entry)
{
	return RIGHT_READ | (entry & PTE_WRITE ? RIGHT_WRITE : 0) | (entry & PTE_NX ? 0 : RIGHT_EXECUTE);
}
/*@ assigns \nothing;
  @ ensures bits: write: (\result & PTE_WRITE) != 0 <==> (rights & RIGHT_WRITE) != 0;
  @ ensures bits: execute: (\result & PTE_NX) == 0 <==> (rights & RIGHT_EXECUTE) != 0;
  @ ensures bits: rest: (\result & ~(PTE_WRITE | PTE_NX)) == (entry & ~(PTE_WRITE | PTE_NX)); */
static inline uint64_t arch_pte_protect(uint64_t entry, unsigned rights)
{
	return (entry & ~(PTE_WRITE | PTE_NX)) | (rights & RIGHT_WRITE ? PTE_WRITE : 0) |
	       (rights & RIGHT_EXECUTE ? 0 : PTE_NX);
}
