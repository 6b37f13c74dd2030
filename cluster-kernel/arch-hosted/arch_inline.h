/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inline half of the port contract (../core/arch.h) for the hosted port.
 *
 * "This core" is the one whose kernel entry the calling thread is playing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <skerry/syscall.h>

/* Physical address 0 of all machines in this process (arena.h). */
extern uint64_t hosted_direct_base;

uint64_t hosted_time(void);
void hosted_relax(void);
void hosted_flush_tlb(void);         /* what is under the loaded address space's tag */
void hosted_flush_tag(uint64_t tag);
void hosted_flush_kernel(void);

static inline uint64_t arch_direct_base(void) { return hosted_direct_base; }
static inline uint64_t arch_time(void) { return hosted_time(); }
static inline void arch_relax(void) { hosted_relax(); }
static inline void arch_copy(void *to, const void *from, uint64_t size) { memcpy(to, from, size); }
static inline void arch_flush_tlb(void) { hosted_flush_tlb(); }
static inline void arch_flush_kernel(void) { hosted_flush_kernel(); }

/* A page-table format of its own: what core/ keeps to only by chance shows here. */
#define PTE_PRESENT    0x001ull
#define PTE_TABLE      0x002ull
#define PTE_KERNEL     0x004ull /* the kernel's half of a root table; not present to user level */
#define PTE_RIGHTS     4        /* shift of RIGHT_* */
#define PTE_ATTRIBUTES 8        /* shift of CACHE_* */
#define PTE_ADDRESS    0x000ffffffffff000ull

static inline bool arch_pte_present(uint64_t entry) { return entry & PTE_PRESENT; }
static inline bool arch_pte_is_table(uint64_t entry)
{
	return (entry & (PTE_PRESENT | PTE_TABLE)) == (PTE_PRESENT | PTE_TABLE);
}
static inline uint64_t arch_pte_address(uint64_t entry, unsigned level)
{
	(void)level;
	return entry & PTE_ADDRESS;
}
static inline uint64_t arch_pte_table(uint64_t paddr) { return paddr | PTE_PRESENT | PTE_TABLE; }
static inline uint64_t arch_pte_frame(uint64_t paddr, unsigned level, unsigned rights, unsigned attributes)
{
	(void)level;
	return paddr | PTE_PRESENT | (uint64_t)(rights & RIGHT_ALL) << PTE_RIGHTS |
	       (uint64_t)attributes << PTE_ATTRIBUTES;
}
static inline unsigned arch_pte_rights(uint64_t entry) { return entry >> PTE_RIGHTS & RIGHT_ALL; }
static inline uint64_t arch_pte_protect(uint64_t entry, unsigned rights)
{
	return (entry & ~((uint64_t)RIGHT_ALL << PTE_RIGHTS)) | (uint64_t)(rights & RIGHT_ALL) << PTE_RIGHTS;
}
