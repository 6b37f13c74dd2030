/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that the processes of a family share (skerry/family_area.h): a frame that a fork does not copy; a notification
 * for each place, which the process there sleeps on and all others can signal. Frame and notifications are the first
 * process's, with whose end all processes end.
 */
#pragma once

#include <stdint.h>
#include <skerry/process.h>
#include "grant.h"

/*
 * Makes them for the first process of a program that may be several, and gives it its part; does nothing for other
 * programs. Returns 0 or an error.
 */
int area_make(uint32_t application, struct process *p, struct process_info *info);
/* Gives a child its part, its PROCESS_SLOT_WAKE among it. Returns 0 or an error. */
int area_give(uint32_t application, uint32_t place, struct process *p, struct process_info *info);
/* Gives the child, which does not run yet, all ends of rings that its parent has. */
void area_inherit(uint32_t application, uint32_t from, uint32_t to);
/* Takes what the process at `place` has, whose threads are stopped, and wakes those that shared something with it. */
void area_left(uint32_t application, uint32_t place);
/* Forgets what memory_return() takes back when the first process has ended. */
void area_forget(uint32_t application);
