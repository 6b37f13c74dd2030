/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "trap.h"
#include <elf.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <ucontext.h>

static bool (*answer)(uint64_t *value);
static struct sigaction before;
static uintptr_t vdso, vdso_end;

static const uint8_t RDTSC[] = { 0x0f, 0x31 }, RDTSCP[] = { 0x0f, 0x01, 0xf9 };

static void trap_tsc(bool on) { prctl(PR_SET_TSC, on ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0); }

/* The kernel's code in our address space computes the host's time from the host's counter. */
static void find_vdso(void)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	if (!header)
		return;
	vdso = vdso_end = (uintptr_t)header;
	const Elf64_Phdr *part = (const Elf64_Phdr *)(vdso + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && vdso + part[i].p_vaddr + part[i].p_memsz > vdso_end)
			vdso_end = vdso + part[i].p_vaddr + part[i].p_memsz;
}

static uint64_t host_counter(uint32_t *processor)
{
	uint32_t low, high;
	trap_tsc(false);
	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(*processor));
	trap_tsc(true);
	return (uint64_t)high << 32 | low;
}

static void pass_to_next(int number, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(number, info, context);
	} else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
		before.sa_handler(number);
	} else { /* the instruction faults again, and the process dies of it */
		struct sigaction usual = { .sa_handler = SIG_DFL };
		sigaction(SIGSEGV, &usual, NULL);
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t at = (uintptr_t)reg[REG_RIP];
	/* general protection only: a fetch from memory that is not there would be another fault */
	bool general = info->si_code == SI_KERNEL;
	size_t size = !general ? 0 : !memcmp((void *)at, RDTSC, sizeof(RDTSC)) ? sizeof(RDTSC)
	              : !memcmp((void *)at, RDTSCP, sizeof(RDTSCP)) ? sizeof(RDTSCP) : 0;
	if (!size) {
		pass_to_next(number, info, context);
		return;
	}
	uint64_t value;
	uint32_t processor = 0;
	if ((at >= vdso && at < vdso_end) || !answer(&value))
		value = host_counter(&processor);
	reg[REG_RAX] = (greg_t)(value & 0xffffffff);
	reg[REG_RDX] = (greg_t)(value >> 32);
	if (size == sizeof(RDTSCP))
		reg[REG_RCX] = (greg_t)processor;
	reg[REG_RIP] += (greg_t)size;
}

bool trap_counter(bool (*counter)(uint64_t *value))
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	answer = counter;
	find_vdso();
	return !sigaction(SIGSEGV, &action, &before) && !prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}
