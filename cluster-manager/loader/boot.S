/* SPDX-License-Identifier: BSD-2-Clause */
/* Entry from GRUB (multiboot2) or QEMU -kernel (PVH), 32-bit, to loader_main in long mode. */
#include "segments.h"

#define MULTIBOOT2_MAGIC 0xe85250d6
#define PVH_ENTRY_NOTE   18 /* XEN_ELFNOTE_PHYS32_ENTRY */

	.section .multiboot2, "a"
	.balign 8
header:
	.long MULTIBOOT2_MAGIC, 0, header_end - header, -(MULTIBOOT2_MAGIC + header_end - header)
	.short 1, 1 /* wanted, not required: command line, memory map, screen, RSDP old and new, EFI memory map */
	.long 8 + 6 * 4, 1, 6, 8, 14, 15, 17
	.balign 8
	.short 5, 1 /* a frame buffer, if there is one; any */
	.long 20, 0, 0, 0
	.balign 8
	.short 6, 0 /* modules on page boundaries */
	.long 8
	.short 0, 0
	.long 8
header_end:

	.section .note.pvh, "a", @note
	.balign 4
	.long 4, 8, PVH_ENTRY_NOTE
	.asciz "Xen"
	.quad pvh_start

	.text
	.code32
/* Returns where the processor has 64-bit mode; elsewhere says so on COM1 and stops, as panic() does. Uses all but EDI, ESI. */
check_long_mode:
	pushf /* CPUID is there if EFLAGS.ID can be changed (SDM 1, 3.4.3.3) */
	pop %eax
	mov %eax, %edx
	xor $0x200000, %eax
	push %eax
	popf
	pushf
	pop %eax
	cmp %eax, %edx
	je 1f
	mov $0x80000000, %eax
	cpuid
	cmp $0x80000001, %eax
	jb 1f
	mov $0x80000001, %eax
	cpuid
	bt $29, %edx
	jnc 1f
	ret

1:	mov $uart_settings, %ebx
2:	movzwl (%ebx), %edx
	mov 2(%ebx), %al
	out %al, %dx
	add $3, %ebx
	cmp $uart_settings_end, %ebx
	jb 2b
	mov $no_long_mode, %ebx
3:	mov $0x3fd, %dx
	mov $100000, %ecx
4:	in %dx, %al /* the line status register: room, or no UART at all */
	test $0x20, %al
	loopz 4b
	mov (%ebx), %al
	mov $0x3f8, %dx
	out %al, %dx
	inc %ebx
	cmpb $0, (%ebx)
	jne 3b
	mov $0x31, %al /* isa-debug-exit: 99 */
	out %al, $0xf4
5:	cli
	hlt
	jmp 5b

	.globl multiboot2_start
multiboot2_start:
	mov %eax, %edi
	jmp start

pvh_start:
	xor %edi, %edi

start:	/* edi: multiboot2's magic or 0 for PVH; ebx: its information */
	cli
	cld
	mov %ebx, %esi
	mov $boot_stack_top, %esp
	call check_long_mode

	/* 0 .. 4 GiB at their own addresses, 2 MiB pages */
	mov $boot_pd, %edx
	mov $0x83, %eax
	mov $2048, %ecx
1:	mov %eax, (%edx)
	movl $0, 4(%edx)
	add $0x200000, %eax
	add $8, %edx
	loop 1b
	mov $boot_pd + 3, %eax
	mov $boot_pdpt, %edx
	mov $4, %ecx
1:	mov %eax, (%edx)
	add $4096, %eax
	add $8, %edx
	loop 1b
	movl $boot_pdpt + 3, boot_pml4

	mov $0x620, %eax /* PAE; OSFXSR and OSXMMEXCPT because libfdt's compiler may use SSE */
	mov %eax, %cr4
	mov $boot_pml4, %eax
	mov %eax, %cr3
	mov $0xc0000080, %ecx /* EFER */
	rdmsr
	or $0x100, %eax /* LME; main.c adds NXE and SCE once CPUID allows them */
	wrmsr
	mov $0x80010033, %eax /* PG WP NE ET MP PE */
	mov %eax, %cr0
	lgdt boot_gdt_pointer
	ljmp $0x08, $1f

	.code64
1:	load_data_segments
	mov $boot_stack_top, %esp
	mov %edi, %edi
	mov %esi, %esi
	call loader_main
1:	hlt
	jmp 1b

	.section .rodata
no_long_mode:
	.asciz "skerry loader: refused: this CPU has no 64-bit mode; choose a CPU model that has it: -cpu max in QEMU, -cpu host under KVM\r\n"
	.macro setting port, value
	.short \port
	.byte \value
	.endm
uart_settings: /* COM1: no interrupts, 115200 baud, 8N1, FIFOs */
	setting 0x3f9, 0
	setting 0x3fb, 0x80
	setting 0x3f8, 1
	setting 0x3f9, 0
	setting 0x3fb, 3
	setting 0x3fa, 7
uart_settings_end:
	.balign 4
boot_gdt_pointer:
	.short 23
	.long boot_gdt

	.bss
	.balign 16
boot_stack: .skip 64 * 1024
boot_stack_top:

	.section .note.GNU-stack, "", @progbits
