/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of a hosted machine: each thread that runs a function of the tests is a fiber, which goes on while its
 * thread is current on a core and stops at each system call. It is not preempted between them but where it calls
 * program_turn(). kernel_check() runs between system calls.
 *
 * program.c knows the kernel and no test, port.c the tests and no kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CALL_RESULT, CALL_CPTR, CALL_INFO, CALL_WORD, CALL_REPLY = CALL_WORD + 4, CALL_REGISTERS };

/* For programs: SYSCALL with these registers (hosted.h: number, cptr, info, four words, reply), which are then its
 * answer. */
void program_call(uint64_t *registers);
/* The same with all registers, in the order of struct registers (ktest.h). */
void program_call_all(uint64_t *registers);
uint64_t program_time(void);
/* From now on the kernel is checked after each system call, at first, then less often; once now. */
void program_check(void);
/* Localities are drawn while the programs run. */
bool program_localities(void);
/* The machine's last program is over. */
_Noreturn void program_over(void);

/* in port.c: the first program, and the function that a thread with RIP program_entry() begins with */
void program_main(const char *word);
uint64_t program_entry(void);
/* The RIP of a thread that does nothing. */
uint64_t program_stays(void);
_Noreturn void program_thread(uint64_t argument);
