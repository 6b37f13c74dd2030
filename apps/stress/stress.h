/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two programs of the Mach study (Uemura et al., section 3), which press
 * the kernel where systems built of servers do: many small messages, and
 * faults of memory that is shared copy-on-write. The root task of a cluster.
 */
#pragma once

#include "bare.h"

enum {
	STRESS_CORES = 60, /* of a cluster, at most */
	PAGER_PRIORITY = 95,
	TASK_PRIORITY = 90,  /* of clients, servers and writers */
	TASKS_MAX = 60,      /* clients or tasks: a bit each in a notification's word */
};

/* --- messages.c, memory.c --- */

/* `clients` call one server on core 0 with empty messages, `rounds` times each. */
void messages_measure(unsigned clients, unsigned rounds);
/*
 * `tasks` write into each of `pages` pages that all share copy-on-write, `rounds` times anew; `pagers` serve the
 * faults, each those of its tasks: it copies the page and maps the copy.
 */
void memory_measure(unsigned tasks, unsigned pages, unsigned rounds, unsigned pagers);

/* --- tasks.c: threads, most in address spaces of their own --- */

extern const char tasks_start[], tasks_end[], task_client[], task_server[], task_writer[];

/* An address space with the tasks' code; page tables reach to REGION, too. */
#define REGION 0x40000000ull /* 2 MiB: where tasks have the memory they share */
uint64_t space_new(void);
/* A thread in it that starts at a place in tasks.S; not resumed. `fault`: its fault endpoint, or 0. */
uint64_t task_new(uint64_t vspace, unsigned core, const char *entry, struct thread_registers registers, uint64_t fault);
/* A thread in this program's own address space, with a stack and an IPC buffer; not resumed. */
uint64_t thread_new(unsigned core, void (*function)(void *), void *argument, struct ipc_buffer **ipc);
/* Lets all go that were made, and waits until `done` has `bits`. */
void tasks_resume(void);
void wait_all(uint64_t done, uint64_t bits);
/* A page of WINDOW that nobody has. */
unsigned page_new(void);
/* Cycles that the threads made here have run on a core; the main thread's too. */
uint64_t tasks_time(unsigned core);

/* --- clusters.c --- */

void clusters_init(void);
/* Returns when all clusters have come here. */
void clusters_meet(void);

/* --- report.c --- */

/* Begin and end of the measured interval. Nothing is reported before the second has read the cores' counters. */
void report_begin(void);
void report_end(void);
/*
 * `operations` of `tasks` and their servers; what the cores counted before and after; what each did in all:
 * wall, idle and busy cycles, busy being what its threads say that they ran, and how long it took to ask them.
 */
void report_done(const char *program, unsigned tasks, unsigned servers, uint64_t operations);
