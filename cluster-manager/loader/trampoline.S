/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs on a core from its start-up IPI to its kernel's entry point. Copied to a page below 1 MiB; struct trampoline of
 * smp.c lies at its end.
 */
#include "resident.h"
#include "segments.h"
#include "trampoline.h"

	.section .rodata
	.globl trampoline_start, trampoline_long, trampoline_end
	.code16
trampoline_start:
	cli
	cld
	mov %cs, %ax
	mov %ax, %ds
	xor %ebx, %ebx
	mov %ax, %bx
	shl $4, %ebx /* where this page lies */
	lgdtl TRAMPOLINE_GDT_POINTER
	mov $0x620, %eax /* PAE, OSFXSR, OSXMMEXCPT: as boot.S */
	mov %eax, %cr4
	mov TRAMPOLINE_LOADER_CR3, %eax
	mov %eax, %cr3
	mov $0xc0000080, %ecx /* EFER: NXE LME SCE */
	xor %edx, %edx
	mov $0x901, %eax
	wrmsr
	mov $0x80010033, %eax /* PG WP NE ET MP PE, caches on */
	mov %eax, %cr0
	ljmpl *TRAMPOLINE_FAR_POINTER

	.code64
trampoline_long:
	load_data_segments
	mov %ebx, %ebx
	cmpl $0, TRAMPOLINE_X2APIC(%rbx)
	je 1f
	mov $0x1b, %ecx /* IA32_APIC_BASE: EN, EXTD */
	rdmsr
	or $0xc00, %eax
	wrmsr
1:	mov TRAMPOLINE_RESIDENT(%rbx), %rax
	test %rax, %rax
	jz 1f
	jmp *%rax
1:	mov TRAMPOLINE_BOOT_INFO(%rbx), %rdi
	mov TRAMPOLINE_INDEX(%rbx), %esi
	mov TRAMPOLINE_CR3(%rbx), %r8
	mov TRAMPOLINE_ENTRY(%rbx), %r9
	movl $1, TRAMPOLINE_ARRIVED(%rbx) /* the fields above may change from here on */
1:	pause
	cmpl $0, TRAMPOLINE_GO(%rbx)
	je 1b
	mov %r8, %cr3
	xor %ebp, %ebp
	jmp *%r9
trampoline_end:

/*
 * The boot processor of a lost cluster, from its kernel's NMI handler: in a page of its own, which is mapped at one address
 * in that kernel's page table and the loader's.
 */
	.text
	.balign 4096
	.globl resident_park
resident_park:
	cli
	cld
	mov $boot_pml4, %eax
	mov %rax, %cr3
	mov $resident_parked, %eax
	jmp *%rax

/*
 * resident_join(cr3, entry, boot_info, index), called at its address in the direct map: a core enters a kernel that runs,
 * which has given up the identity mapping.
 */
	.globl resident_join
resident_join:
	mov %rdi, %cr3
	mov %rsi, %rax
	mov %rdx, %rdi
	mov %ecx, %esi
	xor %ebp, %ebp
	cld
	jmp *%rax
	.balign 4096

resident_parked:
	mov $0x620, %eax /* as above; without tags or global pages nothing of the kernel's translations stays */
	mov %rax, %cr4
	mov $0x80010033, %eax
	mov %rax, %cr0

/* A core of a lost cluster, from the trampoline or from above: finds its stack by its local APIC id. */
	.globl resident_entry
resident_entry:
	mov $0x1b, %ecx /* IA32_APIC_BASE: below 4 GiB */
	rdmsr
	test $0x400, %eax /* EXTD */
	jz 1f
	mov $0x802, %ecx /* IA32_X2APIC_APICID */
	rdmsr
	jmp 2f
1:	and $0xfffff000, %eax
	mov 0x20(%rax), %eax
	shr $24, %eax
2:	mov $resident_core, %edi
	mov resident_core_count, %ecx
	test %ecx, %ecx
	jz 4f
3:	cmp %eax, RESIDENT_APIC(%rdi)
	je 5f
	add $RESIDENT_CORE_SIZE, %rdi
	dec %ecx
	jnz 3b
4:	hlt /* nobody that is started again */
	jmp 4b
5:	mov RESIDENT_STACK_TOP(%rdi), %rsp
	lgdt gdt_pointer
	push $8
	push $6f
	lretq
6:	load_data_segments
	xor %ebp, %ebp
	call resident_main

/* Discards an interrupt to a core that is on its way to its kernel. */
	.globl resident_interrupt
resident_interrupt:
	iretq

	.section .rodata
gdt_pointer:
	.short 23
	.quad boot_gdt

	.section .note.GNU-stack, "", @progbits
