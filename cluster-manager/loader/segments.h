/* SPDX-License-Identifier: BSD-2-Clause */
/* The data segments of 64-bit code, by the loader's GDT: 0x10 is its data; FS and GS are null. Changes EAX. For
 * assembly. */
#pragma once

#ifdef __ASSEMBLER__
.macro load_data_segments
	mov $0x10, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %fs
	mov %eax, %gs
.endm
#endif
