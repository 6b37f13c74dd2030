/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions that C has no words for. */
#pragma once

#include <stdint.h>

static inline void out8(uint16_t port, uint8_t value) { __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port)); }

static inline uint8_t in8(uint16_t port)
{
	uint8_t value;
	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline uint32_t in32(uint16_t port)
{
	uint32_t value;
	__asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline void out32(uint16_t port, uint32_t value) { __asm__ volatile("outl %0, %1" ::"a"(value), "Nd"(port)); }

static inline uint64_t read_msr(uint32_t msr)
{
	uint32_t low, high;
	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (uint64_t)high << 32 | low;
}

static inline void write_msr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

static inline uint64_t read_tsc(void)
{
	uint32_t low, high;
	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

struct cpuid {
	uint32_t a, b, c, d;
};

static inline struct cpuid cpuid(uint32_t leaf)
{
	struct cpuid r;
	__asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(0));
	return r;
}

static inline uint64_t read_cr2(void)
{
	uint64_t value;
	__asm__ volatile("mov %%cr2, %0" : "=r"(value));
	return value;
}

static inline uint64_t read_cr3(void)
{
	uint64_t value;
	__asm__ volatile("mov %%cr3, %0" : "=r"(value));
	return value;
}

static inline void pause(void) { __asm__ volatile("pause" ::: "memory"); }
