/* SPDX-License-Identifier: BSD-2-Clause */
/* From one thread to another at once, for the fast path; see ../arch-x86_64/arch_switch.h. */
#pragma once

struct cpu;
struct thread;
struct vspace;

/* Panics where what the fast path must have checked is not so. */
void arch_switch(struct cpu *cpu, struct thread *from, struct thread *to, struct vspace *vspace);
