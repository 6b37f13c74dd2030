/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments, interrupt gates and the SYSCALL registers (SDM 3, 3.4, 6.14, 5.8.8). */
#include "descriptors.h"
#include "arch_context.h"
#include "assert.h"
#include "core_local.h"
#include "core_set.h"
#include "x86.h"

enum { SELECTOR_TSS = 40, IST_NMI = 1, IST_DOUBLE_FAULT = 2, IST_MACHINE_CHECK = 3 };
enum { GATE_INTERRUPT = 0x8e };

struct gate {
	uint16_t offset_low, selector;
	uint8_t ist, type;
	uint16_t offset_middle;
	uint32_t offset_high, reserved;
};

struct __attribute__((packed)) table_register {
	uint16_t limit;
	uint64_t base;
};

static struct gate idt[256];
extern uint8_t entry_stubs[][16];
extern void entry_syscall(void), entry_syscall_slow_only(void);

static void fill_idt(void)
{
	for (unsigned v = 0; v < 256; v++) {
		uint64_t entry = (uint64_t)entry_stubs[v];
		idt[v] = (struct gate){
			.offset_low = entry, .offset_middle = entry >> 16, .offset_high = entry >> 32,
			.selector = SELECTOR_KERNEL_CODE, .type = GATE_INTERRUPT,
			.ist = v == 2 ? IST_NMI : v == 8 ? IST_DOUBLE_FAULT : v == 18 ? IST_MACHINE_CHECK : 0,
		};
	}
	idt[3].type |= 3 << 5; /* INT3 is for user programs, too */
}

static void fill_gdt(struct core_local *local)
{
	uint64_t tss = (uint64_t)&local->tss;
	local->gdt[1] = 0x00af9b000000ffffull; /* kernel code, 64 bit */
	local->gdt[2] = 0x00cf93000000ffffull; /* kernel data */
	local->gdt[3] = 0x00cff3000000ffffull; /* user data: SYSRET wants it before the code */
	local->gdt[4] = 0x00affb000000ffffull; /* user code, 64 bit */
	local->gdt[5] = (sizeof(struct tss) - 1) | (tss & 0xffffff) << 16 | 0x89ull << 40 | (tss >> 24 & 0xff) << 56;
	local->gdt[6] = tss >> 32;
}

void descriptors_init(struct core_local *local)
{
	kernel_assert(local->index < CORES_MAX);
	struct table_register gdtr = { sizeof(local->gdt) - 1, (uint64_t)local->gdt };
	struct table_register idtr = { sizeof(idt) - 1, (uint64_t)idt };
	if (local->index == 0)
		fill_idt();
	fill_gdt(local);
	for (unsigned i = 0; i < KERNEL_FAULT_STACKS; i++)
		local->tss.ist[i] = core_stack_top(local->index) + (i + 1) * FAULT_STACK_SIZE;
	local->tss.io_map = sizeof(struct tss); /* no port for user mode */

	asm volatile("lgdt %0" ::"m"(gdtr));
	asm volatile("push %0; lea 1f(%%rip), %%rax; push %%rax; lretq; 1:" ::"i"(SELECTOR_KERNEL_CODE) : "rax",
	             "memory");
	asm volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%ss; mov %1, %%fs; mov %1, %%gs" ::"r"(SELECTOR_KERNEL_DATA),
	             "r"(0));
	asm volatile("lidt %0" ::"m"(idtr));
	asm volatile("ltr %w0" ::"r"(SELECTOR_TSS));
	asm volatile("lldt %w0" ::"r"(0)); /* after a reset there is one, at address 0 */
	write_msr(MSR_SYSENTER_CS, 0);    /* SYSENTER faults */
	write_msr(MSR_GS_BASE, (uint64_t)local);
	write_msr(MSR_KERNEL_GS_BASE, 0);
	write_msr(MSR_STAR, (uint64_t)(SELECTOR_USER_DATA - 8) << 48 | (uint64_t)SELECTOR_KERNEL_CODE << 32);
	/* the fast path sets segment bases by instruction */
	write_msr(MSR_LSTAR, (uint64_t)(cpuid(7, 0).ebx & 1 ? entry_syscall : entry_syscall_slow_only));
	write_msr(MSR_FMASK, RFLAGS_IF | RFLAGS_TF | RFLAGS_DF | RFLAGS_AC | RFLAGS_NT | RFLAGS_IOPL);
}
