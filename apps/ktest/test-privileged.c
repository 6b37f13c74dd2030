/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions that are not a program's: each ends as the exception that belongs to it, and nothing else happens. */
#include <skerry/x86.h>
#include "ktest.h"

enum { DE = 0, DB = 1, BP = 3, UD = 6, SS = 12, GP = 13, PF = 14, MF = 16, NO_OTHER = 255 };

struct attack {
	const char *what;
	void (*code)(void);
	uint8_t vector, other; /* processors differ */
	uint16_t error;        /* of `vector` */
	uint64_t rcx, rax;
};

/* The instruction, and an undefined one behind it, should it do nothing. */
#define ATTACK(id, text)                                                 \
	static __attribute__((naked)) void id(void)                      \
	{                                                                \
		__asm__ volatile(text "\n\tud2\n\tud2");                 \
	}

/* An instruction stands once in a list X(id, text, exception); ATTACKS() makes of it functions and a table. */
#define ONLY(v)                .vector = v, .other = NO_OTHER
#define EITHER(v, o)           .vector = v, .other = o
#define CODE(id, text, ...)    ATTACK(id, text)
#define ENTRY(id, text, ...)   { .what = #id, .code = id, __VA_ARGS__ },
#define ATTACKS(id, instructions) \
	instructions(CODE) static const struct attack id[] = { instructions(ENTRY) };

/*
 * Not tested: INVD, WBINVD, XSAVES, VMXON, INTO and MOV to CS, which the emulator executes as no operations.
 * RDI and RSP point into a mapped page during an attack; RDI is aligned to 1 KiB.
 */
#define OPERAND (WINDOW + 1024)
#define STACK   (WINDOW + 3072)

static struct message run(const struct trial *t, uint64_t rip, uint64_t rax, uint64_t rcx)
{
	struct thread_registers r = { .rip = rip, .rsp = STACK, .rdi = OPERAND, .rsi = OPERAND, .rax = rax,
	                              .rcx = rcx };
	return trial_run(t, &r);
}

static void nothing(struct worker *self) { self->count++; }

static void attack(const struct attack *list, unsigned count)
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	for (unsigned core = 0; core < cores(); core += last_core() ? last_core() : 1) {
		struct trial t = trial_make(nothing, 50, core);
		for (const struct attack *a = list; a < list + count; a++) {
			struct message m = run(&t, (uint64_t)a->code, a->rax, a->rcx);
			uint64_t error = m.word[3] == a->other ? 0 : a->error;
			uint64_t vector = m.word[3] == a->other ? a->other : a->vector;
			check_equal(__FILE_NAME__, __LINE__, a->what, message_label(m.info), FAULT_EXCEPTION);
			check_equal(__FILE_NAME__, __LINE__, a->what, m.word[3] << 16 | IPC->words[4],
			            vector << 16 | error);
			check_equal(__FILE_NAME__, __LINE__, a->what, m.word[0], (uint64_t)a->code);
			check_eq(m.word[1], STACK);
			check_eq(m.word[2] & 0x3000, 0); /* no privilege for ports */
		}
		workers_drop();
	}
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

#define SYSTEM(X) \
	X(cli, "cli", ONLY(GP)) X(sti, "sti", ONLY(GP)) X(hlt, "hlt", ONLY(GP)) X(clts, "clts", ONLY(GP)) \
	X(invlpg, "invlpg (%rdi)", ONLY(GP)) X(lgdt, "lgdt (%rdi)", ONLY(GP)) X(lidt, "lidt (%rdi)", ONLY(GP)) \
	X(lldt, "lldt %ax", ONLY(GP)) X(ltr, "ltr %ax", ONLY(GP)) X(lmsw, "lmsw %ax", ONLY(GP)) \
	X(swapgs, "swapgs", ONLY(GP)) X(sysret, "sysretq", ONLY(GP)) X(sysret32, "sysretl", ONLY(GP)) \
	X(sysexit, ".byte 0x48, 0x0f, 0x35", EITHER(GP, UD)) X(sysenter, "sysenter", EITHER(GP, UD)) \
	X(xsetbv, "xsetbv", ONLY(GP)) X(rsm, "rsm", ONLY(UD)) X(stac, "stac", ONLY(UD)) \
	X(clac, "clac", ONLY(UD)) X(rdpmc, "rdpmc", ONLY(GP)) X(monitor, "monitor", EITHER(UD, GP)) \
	X(mwait, "mwait", EITHER(UD, GP)) X(invpcid, "invpcid (%rdi), %rax", EITHER(GP, UD)) \
	X(rdpkru, "rdpkru", ONLY(UD)) X(getsec, ".byte 0x0f, 0x37", EITHER(UD, GP))
ATTACKS(system, SYSTEM)

TEST(system, 1, 0, "privileged: instructions that run the machine")
{
	attack(system, COUNT(system));
}

ATTACK(rdmsr, "rdmsr") ATTACK(wrmsr, "wrmsr")

TEST(msr, 1, 0, "privileged: model-specific registers")
{
	/* EFER, LSTAR, FMASK, FS and GS bases, APIC base, PAT, SYSENTER_CS, one that no processor has */
	static const uint32_t msr[] = { 0xc0000080, 0xc0000082, 0xc0000084, 0xc0000100, 0xc0000101, 0xc0000102, 0x1b,
	                                0x277, 0x174, 0xdeadbeef };
	struct attack list[2 * COUNT(msr)];
	for (unsigned i = 0; i < COUNT(msr); i++) {
		list[2 * i] = (struct attack){ "rdmsr", rdmsr, GP, NO_OTHER, 0, msr[i], 0 };
		list[2 * i + 1] = (struct attack){ "wrmsr", wrmsr, GP, NO_OTHER, 0, msr[i], 0 };
	}
	attack(list, COUNT(list));
}

#define CONTROL(X) \
	X(from_cr0, "mov %cr0, %rax", ONLY(GP)) X(from_cr2, "mov %cr2, %rax", ONLY(GP)) \
	X(from_cr3, "mov %cr3, %rax", ONLY(GP)) X(from_cr4, "mov %cr4, %rax", ONLY(GP)) \
	X(from_cr8, "mov %cr8, %rax", ONLY(GP)) X(to_cr0, "mov %rax, %cr0", ONLY(GP)) \
	X(to_cr2, "mov %rax, %cr2", ONLY(GP)) X(to_cr3, "mov %rax, %cr3", ONLY(GP)) \
	X(to_cr4, "mov %rax, %cr4", ONLY(GP)) X(to_cr8, "mov %rax, %cr8", ONLY(GP)) \
	X(from_dr0, "mov %db0, %rax", ONLY(GP)) X(from_dr6, "mov %db6, %rax", ONLY(GP)) \
	X(from_dr7, "mov %db7, %rax", ONLY(GP)) X(to_dr0, "mov %rax, %db0", ONLY(GP)) \
	X(to_dr6, "mov %rax, %db6", ONLY(GP)) X(to_dr7, "mov %rax, %db7", ONLY(GP))
ATTACKS(control, CONTROL)

TEST(control, 1, 0, "privileged: control and debug registers")
{
	attack(control, COUNT(control));
}

#define PORTS(X) \
	X(read_port_8, "in $0x80, %al", ONLY(GP)) X(read_port_16, "in %dx, %ax", ONLY(GP)) \
	X(read_port_32, "in %dx, %eax", ONLY(GP)) X(write_port_8, "out %al, $0x80", ONLY(GP)) \
	X(write_port_16, "out %ax, %dx", ONLY(GP)) X(write_port_32, "out %eax, %dx", ONLY(GP)) \
	X(ins, "insb", ONLY(GP)) X(outs, "outsb", ONLY(GP)) X(rep_outs, "rep outsb", ONLY(GP), .rcx = 5)
ATTACKS(ports, PORTS)

TEST(ports, 1, 0, "privileged: port instructions of every size")
{
	attack(ports, COUNT(ports));
}

static bool has_umip(void) { return cpuid(7, 0).ecx >> 2 & 1; }

#define DESCRIPTORS(X) \
	X(sgdt, "sgdt (%rdi)", ONLY(GP)) X(sidt, "sidt (%rdi)", ONLY(GP)) X(sldt, "sldt %rax", ONLY(GP)) \
	X(str, "str %rax", ONLY(GP)) X(smsw, "smsw %rax", ONLY(GP)) X(sldt_memory, "sldt (%rdi)", ONLY(GP)) \
	X(str_memory, "str (%rdi)", ONLY(GP)) X(smsw_memory, "smsw (%rdi)", ONLY(GP))
ATTACKS(descriptors, DESCRIPTORS)

TEST(descriptors, 1, 0, "privileged: SGDT, SIDT, SLDT, STR, SMSW tell no kernel address where the processor has UMIP")
{
	if (has_umip())
		attack(descriptors, COUNT(descriptors));
}

#define VIRTUAL(X) \
	X(vmcall, "vmcall", ONLY(UD)) X(vmmcall, "vmmcall", ONLY(UD)) \
	X(vmrun, ".byte 0x0f, 0x01, 0xd8", EITHER(UD, GP)) X(vmload, ".byte 0x0f, 0x01, 0xda", EITHER(UD, GP)) \
	X(vmsave, ".byte 0x0f, 0x01, 0xdb", EITHER(UD, GP)) X(stgi, ".byte 0x0f, 0x01, 0xdc", EITHER(UD, GP)) \
	X(clgi, ".byte 0x0f, 0x01, 0xdd", EITHER(UD, GP)) X(vmlaunch, "vmlaunch", EITHER(UD, GP))
ATTACKS(virtual, VIRTUAL)

TEST(virtual, 1, 0, "privileged: instructions of virtual machines")
{
	attack(virtual, COUNT(virtual));
}

ATTACK(to_ds, "mov %ax, %ds") ATTACK(to_es, "mov %ax, %es") ATTACK(to_fs, "mov %ax, %fs") ATTACK(to_gs, "mov %ax, %gs")
ATTACK(to_ss, "mov %ax, %ss")

TEST(segments, 1, 0, "privileged: segment registers take no selector but the user's")
{
	/* kernel code and data, task state with and without level 3, behind the table's end */
	static const uint16_t selector[] = { 8, 11, 16, 19, 40, 43, 48, 0xfff8, 0xfffb };
	static void (*const code[])(void) = { to_ds, to_es, to_fs, to_gs, to_ss };
	struct attack list[COUNT(selector) * COUNT(code) + 1];
	unsigned n = 0;
	for (unsigned i = 0; i < COUNT(selector); i++)
		for (unsigned j = 0; j < COUNT(code); j++)
			list[n++] = (struct attack){ "segment", code[j], GP, NO_OTHER, selector[i] & ~3, 0,
			                             selector[i] };
	list[n++] = (struct attack){ "null to ss", to_ss, GP, NO_OTHER, 0, 0, 0 };
	attack(list, n);
}

ATTACK(own_segments, "mov %ax, %ds; mov %ax, %es; mov %ax, %fs; mov %ax, %gs; mov $27, %ax; mov %ax, %ds; mov %ax, %es;"
                     "mov %ax, %fs; mov %ax, %gs; mov %ax, %ss; mov $8, %eax; mov $1, %esi; syscall; int3")

TEST(own_segments, 1, 0, "privileged: null and user selectors are a program's own, and the kernel goes on with its own")
{
	for (unsigned core = 0; core < cores(); core++) {
		struct trial t = trial_make(nothing, 50, core);
		struct thread_registers r = { .rip = (uint64_t)own_segments, .rdi = object(OBJECT_NOTIFICATION, 0) };
		check_eq(trial_run(&t, &r).word[3], BP);
		uint64_t word;
		check_ok(notification_poll(r.rdi, &word));
		check_eq(word, 1);
	}
}

ATTACK(iret, "iretq") ATTACK(far_return, "lretq") ATTACK(far_jump, "rex.w ljmp *(%rdi)")
ATTACK(far_call, "rex.w lcall *(%rdi)")

TEST(gates, 1, 0, "privileged: no return, jump or call leads to another level")
{
	static const uint16_t selector[] = { 8, 16, 40, 48, 0xfff8 };
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	struct trial t = trial_make(nothing, 50, last_core());
	for (unsigned i = 0; i < COUNT(selector); i++) {
		uint64_t *frame = (uint64_t *)STACK, *pointer = (uint64_t *)OPERAND;
		for (unsigned level = 0; level < 4; level += 3) {
			unsigned cs = selector[i] | level;
			frame[0] = (uint64_t)hlt, frame[1] = cs, frame[2] = 2, frame[3] = STACK, frame[4] = 16;
			pointer[0] = (uint64_t)hlt, pointer[1] = cs;
			static void (*const way[])(void) = { iret, far_return, far_jump, far_call };
			for (unsigned w = 0; w < 4; w++) {
				struct message m = run(&t, (uint64_t)way[w], 0, 0);
				check_eq(message_label(m.info) << 16 | w << 8 | i, FAULT_EXCEPTION << 16 | w << 8 | i);
				check_eq(m.word[3], GP);
				check_eq(IPC->words[4], selector[i] & ~3);
				check_eq(m.word[0], (uint64_t)way[w]);
			}
		}
	}
}

ATTACK(look_at_flags, "pushfq; pop %rax; cli")

TEST(iret_flags, 1, 0, "privileged: IRET gains no flag")
{
	map_page(0, RIGHT_READ | RIGHT_WRITE);
	struct trial t = trial_make(nothing, 50, last_core());
	uint64_t *frame = (uint64_t *)STACK;
	frame[0] = (uint64_t)look_at_flags, frame[1] = 35, frame[2] = 0x3f7ed7 & ~0x100ull, frame[3] = STACK,
	           frame[4] = 27;
	struct message m = run(&t, (uint64_t)iret, 0, 0);
	check_eq(m.word[3], GP); /* CLI */
	check_eq(m.word[0], (uint64_t)look_at_flags + 2);
	struct thread_registers r;
	check_ok(tcb_read_registers(IPC, t.worker->tcb, &r));
	check_eq(r.rax & 0x3200, 0x200);
}

TEST(interrupts, 1, 0, "privileged: INT n of every n is exception 13, but INT 3")
{
	uint64_t frame = object(OBJECT_FRAME_4K, 0);
	check_ok(frame_map(IPC, frame, ROOT_SLOT_VSPACE, WINDOW, RIGHT_ALL, 0));
	struct trial t = trial_make(nothing, 50, last_core());
	volatile uint8_t *code = (volatile uint8_t *)WINDOW;
	code[2] = 0x0f, code[3] = 0x0b;
	for (unsigned n = 0; n < 256; n++) {
		code[0] = 0xcd, code[1] = (uint8_t)n;
		struct message m = run(&t, WINDOW, 0, 0);
		check_eq(message_label(m.info), FAULT_EXCEPTION);
		check_eq(m.word[3], n == 3 ? BP : GP);
		check_eq(m.word[0], WINDOW + (n == 3 ? 2 : 0));
		check_eq(IPC->words[4], n == 3 ? 0 : n * 8 + 2);
	}
}

#define UNDEFINED(X) \
	X(too_long, ".fill 15, 1, 0x66; nop", EITHER(GP, UD)) X(lock, ".byte 0xf0, 0x90", ONLY(UD)) \
	X(ud0, ".byte 0x0f, 0xff, 0xc0", ONLY(UD)) X(ud1, ".byte 0x0f, 0xb9, 0xc0", ONLY(UD)) \
	X(push_cs, ".byte 0x0e", ONLY(UD))
ATTACKS(undefined, UNDEFINED)

TEST(undefined, 1, 0, "privileged: what is no instruction")
{
	attack(undefined, COUNT(undefined));
}
