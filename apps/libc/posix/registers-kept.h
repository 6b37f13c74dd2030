/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assembly around a CALL that a thread makes where it was interrupted: it keeps all registers. The address where the
 * thread goes on is on its stack, behind the red zone of 128 bytes. The vector state is x87, SSE and AVX, all that the
 * kernel keeps for a thread, in 832 bytes; their header, at 512, must be zero (Intel SDM volume 1, 13.4).
 */
#pragma once

#define REGISTERS_KEPT(CALL) \
	"pushfq\n\t" \
	"cld\n\t" \
	"push %%rax; push %%rbx; push %%rcx; push %%rdx; push %%rsi; push %%rdi; push %%rbp\n\t" \
	"push %%r8; push %%r9; push %%r10; push %%r11; push %%r12; push %%r13; push %%r14\n\t" \
	"push %%r15\n\t" \
	"mov %%rsp, %%rbx\n\t" \
	"sub $896, %%rsp\n\t" \
	"and $-64, %%rsp\n\t" \
	"xor %%eax, %%eax\n\t" \
	"mov %%rax, 512(%%rsp); mov %%rax, 520(%%rsp); mov %%rax, 528(%%rsp)\n\t" \
	"mov %%rax, 536(%%rsp); mov %%rax, 544(%%rsp); mov %%rax, 552(%%rsp)\n\t" \
	"mov %%rax, 560(%%rsp); mov %%rax, 568(%%rsp)\n\t" \
	"mov $7, %%eax\n\t" \
	"xor %%edx, %%edx\n\t" \
	"xsave64 (%%rsp)\n\t" \
	CALL "\n\t" \
	"mov $7, %%eax\n\t" \
	"xor %%edx, %%edx\n\t" \
	"xrstor64 (%%rsp)\n\t" \
	"mov %%rbx, %%rsp\n\t" \
	"pop %%r15; pop %%r14; pop %%r13; pop %%r12; pop %%r11; pop %%r10; pop %%r9; pop %%r8\n\t" \
	"pop %%rbp; pop %%rdi; pop %%rsi; pop %%rdx; pop %%rcx; pop %%rbx; pop %%rax\n\t" \
	"popfq\n\t" \
	"ret $128"
