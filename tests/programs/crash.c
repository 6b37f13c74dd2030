/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dies in the way that its argument names, so that a test can see what is left
 * standing. Returning at all is the failure: exit status 1.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <skerry/process.h>

#define KERNEL_ADDRESS 0xffffffff80000000ull
#define DIRECT_MAP     0xffff800000000000ull
#define NOWHERE        0x0000500000000000ull

static void read_from(uint64_t address)
{
	(void)*(volatile uint64_t *)address;
}

static void write_to(uint64_t address)
{
	*(volatile uint64_t *)address = 1;
}

static void null(void) { write_to(0); }
static void unmapped(void) { read_from(NOWHERE); }
static void kernel(void) { read_from(KERNEL_ADDRESS); }
static void direct_map(void) { write_to(DIRECT_MAP); }
static void non_canonical(void) { read_from(0x8000000000000000ull); }
/* Both can be read. */
static void files(void)
{
	read_from(PROCESS_FILES_VADDR);
	write_to(PROCESS_FILES_VADDR);
}

static void hosts(void)
{
	read_from(PROCESS_HOSTS_VADDR);
	write_to(PROCESS_HOSTS_VADDR);
}

static void text(void) { write_to((uint64_t)(uintptr_t)&text); }

static void data(void)
{
	static unsigned char code[] = { 0xc3 }; /* ret */
	void (*call)(void);
	void *address = code;
	memcpy(&call, &address, sizeof(call));
	call();
}

static void divide(void)
{
	/* The compiler knows better ways to divide 1. */
	__asm__ volatile("xor %%edx, %%edx; mov $1, %%eax; xor %%ecx, %%ecx; idivl %%ecx" ::: "eax", "ecx", "edx");
}

static void undefined(void) { __asm__ volatile("ud2"); }
static void halt(void) { __asm__ volatile("hlt"); }
static void port(void) { __asm__ volatile("outb %%al, $0x80" ::"a"(0)); }
static void breakpoint(void) { __asm__ volatile("int3"); }

/* The stack below is its guard page. */
static __attribute__((noinline)) uint64_t stack_from(uint64_t depth)
{
	volatile char frame[4096];
	frame[0] = (char)depth;
	return stack_from(depth + 1) + (uint64_t)frame[0];
}
static void stack(void) { stack_from(0); }

/* SYSCALL with single-step and alignment check set: neither may reach the kernel. */
static void flags(void)
{
	__asm__ volatile("mov $-1, %%rax; pushfq; orq $0x40100, (%%rsp); popfq; syscall; nop; ud2"
			 ::: "rax", "rcx", "r11", "memory");
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "null", null },           { "unmapped", unmapped },   { "kernel", kernel },
	{ "direct-map", direct_map }, { "non-canonical", non_canonical }, { "text", text },
	{ "data", data },           { "divide", divide },       { "undefined", undefined },
	{ "halt", halt },           { "port", port },           { "breakpoint", breakpoint },
	{ "stack", stack },         { "flags", flags },         { "files", files },         { "hosts", hosts },
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			ways[i].run();
	printf("still alive\n");
	return 1;
}
