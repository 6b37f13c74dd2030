/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader's descriptor table and page tables, and the way from them into a kernel. Nothing here calls the loader. */

/* enter_kernel(cr3, entry, boot_info, index): the last thing that a core does here */
	.text
	.globl enter_kernel
enter_kernel:
	mov %rdi, %cr3
	mov %rsi, %rax
	mov %rdx, %rdi
	mov %ecx, %esi
	xor %ebp, %ebp
	cld
	jmp *%rax

	.section .rodata
	.balign 8
	.globl boot_gdt
boot_gdt: /* code at selector 8, data at 16 */
	.quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff

/* boot.S fills them: 0 to 4 GiB at their own addresses; memory.c maps more below boot_pml4. */
	.bss
	.balign 4096
	.globl boot_pml4, boot_pdpt, boot_pd
boot_pml4: .skip 4096
boot_pdpt: .skip 4096
boot_pd:   .skip 4 * 4096

	.section .note.GNU-stack, "", @progbits
