/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor's exceptions in the loader itself: each stops it with a line that names the place. */
#pragma once

#define EXCEPTION_COUNT       32
#define EXCEPTION_NMI         2
#define EXCEPTION_ENTRY_SIZE  16
/* vectors with which the processor pushes an error code: 8, 10-14, 17, 21, 29, 30 */
#define EXCEPTIONS_WITH_ERROR 0x60227d00

#ifndef __ASSEMBLER__
/* On this core. Interrupts stay off; the kernels load tables of their own. */
void exceptions_init(void);
/* The same tables on a core that comes later. Non-maskable interrupts reach it from then on. */
void exceptions_load(void);
/* From now on an NMI takes a core to the resident part anew, and interrupts have no effect. */
void exceptions_stay(void);
#endif
