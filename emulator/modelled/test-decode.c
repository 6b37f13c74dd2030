/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions as an assembler writes them, and what they cost. */
#include "decode.h"
#include "test-common.h"

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

enum { CPI = 1, ATOMIC_PRICE = 18, FENCE = 33, SYSCALL = 45, SYSRET = 46, IRET = 250, SWAPGS = 20, BASE = 15, CR3 = 130,
       WRMSR = 100, RDTSC = 24, CPUID = 101, XSAVE = 80, PAUSE = 9, DIVIDE = 30, IO = 1500 };

static struct prices price = {
	.cpi_kernel = UNIT, .cpi_user = 2 * UNIT, .atomic = ATOMIC_PRICE * UNIT, .fence = FENCE * UNIT,
	.syscall = SYSCALL * UNIT, .sysret = SYSRET * UNIT, .iret = IRET * UNIT, .swapgs = SWAPGS * UNIT,
	.segment_base = BASE * UNIT, .cr3 = CR3 * UNIT,
	.wrmsr = WRMSR * UNIT, .rdtsc = RDTSC * UNIT, .cpuid = CPUID * UNIT, .xsave = XSAVE * UNIT,
	.pause = PAUSE * UNIT, .divide = DIVIDE * UNIT, .repeat = UNIT / 2, .io = IO * UNIT,
};

static const struct {
	const char *text;
	const uint8_t *bytes;
	size_t size;
	unsigned cycles, is;
} cases[] = {
	{ "mov %rsi,%r13", BYTES(0x49, 0x89, 0xf5), CPI, 0 },
	{ "mov $0x90,%eax", BYTES(0xb8, 0x90, 0x0f, 0x05, 0xf0), CPI, 0 },
	{ "nop", BYTES(0x90), CPI, 0 },
	{ "pause", BYTES(0xf3, 0x90), CPI + PAUSE, IS_PAUSE },
	{ "xchg %rax,(%rdx)", BYTES(0x48, 0x87, 0x02), CPI + ATOMIC_PRICE, IS_LOCKED },
	{ "xchg %rax,%rdx", BYTES(0x48, 0x87, 0xc2), CPI, 0 },
	{ "lock xadd %eax,(%rdi)", BYTES(0xf0, 0x0f, 0xc1, 0x07), CPI + ATOMIC_PRICE, IS_LOCKED },
	{ "lock cmpxchg16b (%rdi)", BYTES(0xf0, 0x48, 0x0f, 0xc7, 0x0f), CPI + ATOMIC_PRICE, IS_LOCKED },
	{ "lock incq %gs:0x10", BYTES(0xf0, 0x65, 0x48, 0xff, 0x04, 0x25, 0x10, 0, 0, 0), CPI + ATOMIC_PRICE,
	  IS_LOCKED },
	{ "mfence", BYTES(0x0f, 0xae, 0xf0), CPI + FENCE, IS_DRAIN },
	{ "lfence", BYTES(0x0f, 0xae, 0xe8), CPI, 0 },
	{ "syscall", BYTES(0x0f, 0x05), CPI + SYSCALL, 0 },
	{ "sysretq", BYTES(0x48, 0x0f, 0x07), CPI + SYSRET, IS_KERNEL_EXIT },
	{ "iretq", BYTES(0x48, 0xcf), CPI + IRET, IS_KERNEL_EXIT | IS_DRAIN },
	{ "swapgs", BYTES(0x0f, 0x01, 0xf8), CPI + SWAPGS, IS_KERNEL_ENTRY },
	{ "wrfsbase %rax", BYTES(0xf3, 0x48, 0x0f, 0xae, 0xd0), CPI + BASE, 0 },
	{ "rdgsbase %rcx", BYTES(0xf3, 0x48, 0x0f, 0xae, 0xc9), CPI + BASE, 0 },
	{ "mov %rax,%cr3", BYTES(0x0f, 0x22, 0xd8), CPI + CR3, IS_DRAIN | IS_FLUSH },
	{ "mov %rax,%cr0", BYTES(0x0f, 0x22, 0xc0), CPI, IS_REMAP },
	{ "mov %cr3,%rax", BYTES(0x0f, 0x20, 0xd8), CPI, 0 },
	{ "invlpg (%r9)", BYTES(0x41, 0x0f, 0x01, 0x39), CPI, IS_REMAP },
	{ "invpcid (%rdi),%rax", BYTES(0x66, 0x0f, 0x38, 0x82, 0x07), CPI, IS_REMAP },
	{ "lgdt (%rdi)", BYTES(0x0f, 0x01, 0x17), CPI, 0 },
	{ "crc32b %al,%ecx", BYTES(0xf2, 0x0f, 0x38, 0xf0, 0xc8), CPI, 0 },
	{ "wrmsr", BYTES(0x0f, 0x30), CPI + WRMSR, IS_DRAIN },
	{ "rdtsc", BYTES(0x0f, 0x31), CPI + RDTSC, IS_CLOCK },
	{ "rdtscp", BYTES(0x0f, 0x01, 0xf9), CPI + RDTSC, IS_CLOCK },
	{ "cpuid", BYTES(0x0f, 0xa2), CPI + CPUID, IS_DRAIN },
	{ "xsave64 0x240(%rsi)", BYTES(0x48, 0x0f, 0xae, 0xa6, 0x40, 2, 0, 0), CPI + XSAVE, IS_SAVE },
	{ "xrstor64 0x240(%rcx)", BYTES(0x48, 0x0f, 0xae, 0xa9, 0x40, 2, 0, 0), CPI + XSAVE, IS_RESTORE },
	{ "xsaveopt64 (%rsi)", BYTES(0x48, 0x0f, 0xae, 0x36), CPI + XSAVE, 0 },
	{ "xsavec64 (%rsi)", BYTES(0x48, 0x0f, 0xc7, 0x26), CPI + XSAVE, 0 },
	{ "fxsave64 (%rsi)", BYTES(0x48, 0x0f, 0xae, 0x06), CPI, 0 },
	{ "div %rcx", BYTES(0x48, 0xf7, 0xf1), CPI + DIVIDE, 0 },
	{ "not %rcx", BYTES(0x48, 0xf7, 0xd1), CPI, 0 },
	{ "in (%dx),%al", BYTES(0xec), CPI + IO, IS_DRAIN | IS_IN },
	{ "in $0x60,%eax", BYTES(0xe5, 0x60), CPI + IO, IS_DRAIN | IS_IN },
	{ "out %eax,(%dx)", BYTES(0xef), CPI + IO, IS_DRAIN },
	{ "out %al,$0xf4", BYTES(0xe6, 0xf4), CPI + IO, IS_DRAIN },
	{ "jmp, whose displacement looks like syscall", BYTES(0xe9, 0x0f, 0x05, 0, 0), CPI, 0 },
	{ "fifteen prefixes", BYTES(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
	                            0x66), CPI, 0 },
};

/* Where XSAVE saves; scale and displacement; NO_REGISTER: none. */
static const struct {
	const char *text;
	const uint8_t *bytes;
	size_t size;
	struct operand at;
} operand_cases[] = {
	{ "xsave64 0x280(%rcx)", BYTES(0x48, 0x0f, 0xae, 0xa1, 0x80, 2, 0, 0), { true, 1, NO_REGISTER, 0, 0x280 } },
	{ "xsave64 (%rsi)", BYTES(0x48, 0x0f, 0xae, 0x26), { true, 6, NO_REGISTER, 0, 0 } },
	{ "xrstor64 0x280(%r12)", BYTES(0x49, 0x0f, 0xae, 0xac, 0x24, 0x80, 2, 0, 0),
	  { true, 12, NO_REGISTER, 0, 0x280 } },
	{ "xrstor64 -0x40(%r13)", BYTES(0x49, 0x0f, 0xae, 0x6d, 0xc0), { true, 13, NO_REGISTER, 0, -0x40 } },
	{ "xsave64 0x8(%rsp)", BYTES(0x48, 0x0f, 0xae, 0x64, 0x24, 8), { true, 4, NO_REGISTER, 0, 8 } },
	{ "xsave64 0x40(%rax,%r9,8)", BYTES(0x4a, 0x0f, 0xae, 0x64, 0xc8, 0x40), { true, 0, 9, 3, 0x40 } },
	{ "xsave64 0x40(%rip)", BYTES(0x48, 0x0f, 0xae, 0x25, 0x40, 0, 0, 0), { .known = false } },
	{ "xsave64 %gs:(%rsi)", BYTES(0x65, 0x48, 0x0f, 0xae, 0x26), { .known = false } },
};

static void operands(void)
{
	for (size_t i = 0; i < sizeof(operand_cases) / sizeof(operand_cases[0]); i++) {
		struct operand at = decode(&price, operand_cases[i].bytes, operand_cases[i].size, true).operand,
		               expected = operand_cases[i].at;
		bool same = at.base == expected.base && at.index == expected.index && at.scale == expected.scale &&
		            at.displacement == expected.displacement;
		if (at.known != expected.known || (at.known && !same)) {
			fprintf(stderr, "%s: base %u, index %u << %u, displacement %d\n", operand_cases[i].text,
			        at.base, at.index, at.scale, at.displacement);
			exit(1);
		}
	}
}

int main(void)
{
	operands();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct decoded d = decode(&price, cases[i].bytes, cases[i].size, true);
		if (d.price != cases[i].cycles * UNIT || d.is != cases[i].is) {
			fprintf(stderr, "%s: costs %g cycles and is %#x, not %u and %#x\n", cases[i].text,
			        (double)d.price / UNIT, d.is,
			        cases[i].cycles, cases[i].is);
			return 1;
		}
	}
	struct decoded d = decode(&price, BYTES(0x0f, 0x1f, 0x84, 0x00, 0x02, 0x01, 0x4b, 0x53), true);
	EXPECT(d.is, IS_MARK);
	EXPECT(d.mark, 0x102);
	EXPECT(decode(&price, BYTES(0x0f, 0x1f, 0x84, 0x00, 0, 0, 0, 0), true).is, 0);     /* a no-op of eight bytes */
	EXPECT(decode(&price, BYTES(0xf3, 0xa4), true).price, UNIT / 2);                   /* rep movsb */
	EXPECT(decode(&price, BYTES(0x90), false).price, 2 * UNIT);                        /* a program's */
	/* the loader's IRET leaves no kernel */
	EXPECT(decode(&price, BYTES(0x48, 0xcf), false).is, IS_DRAIN);
	return 0;
}
