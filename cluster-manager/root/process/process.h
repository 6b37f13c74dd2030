/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of this cluster; each is known by its application's index in the map. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <skerry/process.h>
#include "grant.h"
#include "message.h"

/* `endpoint`: programs call it, and their faults go to it, with badges of root.h. */
void processes_init(int endpoint);

/* 0 or an error, which has been printed. */
int process_start(uint32_t application);
/* Its threads stop for good, and its memory and capabilities are the manager's again. */
void process_kill(uint32_t application);

bool process_started(uint32_t application);
int process_tcb(uint32_t application);
/* Bytes that it was given at its last start, with what it was promised. */
uint64_t process_memory(uint32_t application);
/* The record of its process, whether it runs or not. */
struct process *process_of(uint32_t application);
/* Of any process, and its owner (slots.h). The memory that it was given without what of that it has not touched. */
uint64_t process_committed(const struct process *p);
/*
 * Its thread has touched an address where nothing is mapped, for what needs the right. Whether something is now: it was
 * promised, and may be used so; false, too, with an error.
 */
bool process_touches(struct process *p, uint32_t owner, uint64_t address, unsigned needed, int *error);
/* MANAGER_PROTECT (skerry/process.h). Returns the bytes that are done, or an error. */
int64_t process_protect(struct process *p, uint32_t owner, uint64_t address, uint64_t size, uint64_t rights);
/* Returns the kind of memory at the address of a page fault of its thread. */
enum report_place process_place(uint32_t application, uint64_t address, uint64_t stack_pointer);
