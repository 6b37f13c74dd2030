/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cables (skerry/port.h) between the stacks of two programs of this cluster,
 * where the map names them. One that is named by an application is mapped in
 * the process that has its lwIP, and the two of them wake each other.
 */
#pragma once

#include <stdint.h>
#include <skerry/process.h>
#include "grant.h"

/* After ports_init(). */
void cables_init(void);
/* Gives a program its cables, for each of its lives anew, as ports_attach() does, after which it comes. */
int cables_attach(uint32_t application, struct process *, struct process_info *);
/* As ports_close(): takes its ends of cables away and closes them. The program at the other end resets its
 * connections. */
void cables_close(uint32_t application);
