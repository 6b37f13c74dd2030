/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of a process's start, for processes that another one forks, too (family.h). Each returns 0 or an error, with
 * what it has taken left to owner_now().
 */
#pragma once

#include "cores.h"
#include "grant.h"
#include "map.h"

struct shield;

/* Makes its CNode, address space, thread and untyped memory of its own. */
int process_objects(struct process *p);
/* Gives it the capabilities that every process has. `number`: its badge. */
int process_give_first(struct process *p, uint32_t number, uint32_t core);
/* Gives it its untyped memory, which process_stop() takes back with all that the process made of it. */
int process_give_memory(const struct process *p);
/* Fills what the information page says of every program, files, memory and devices left out. */
void process_describe(uint32_t application, struct gained_core core, struct process_info *info);
int process_map_info(const struct process_info *info, int vspace);
/* Gives its first thread an IPC buffer, a core, and the cores of its threads. *step: what failed. */
int process_thread(struct process *p, uint32_t application, struct gained_core core, const char **step);
/* Ends all of its threads, for good. */
void process_stop(struct process *p);
/* Returns a page for the rights of its pages, or null without memory. */
struct shield *process_shield(uint32_t owner);
/* Makes sure that the allocator's records suffice for one more process of this application. */
void process_reserve_records(const struct map_application *a);
