/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bell words (skerry/bell.h) of the programs of this cluster that have a network port or cables, or are a switch. A
 * program's word is the same in all its lives: its peers need not be told of another one.
 */
#pragma once

#include <stdint.h>
#include <skerry/process.h>
#include "grant.h"

/* Makes the word of a program of this cluster, once. */
void bell_make(uint32_t application);
/* Gives a program, in this life, its own word, which it may write. */
int bell_give_own(uint32_t application, struct process *);
/* Gives it the word of `peer`, a program of this cluster that has one, read-only, in this page (process.h). */
int bell_give(uint32_t peer, struct process *, unsigned page);
