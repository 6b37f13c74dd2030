/* SPDX-License-Identifier: BSD-2-Clause */
/* File ports (skerry/file_port.h): between a program and the volume server of each of its volumes. */
#pragma once

#include <skerry/process.h>
#include "grant.h"

/*
 * Gives a program the ports of its volumes, or a volume server its port, for each life, and each process of a family
 * the family's. After ports_attach().
 */
int volumes_attach(uint32_t application, struct process *p, struct process_info *info);
/* A process of a family has ended, whose locks are free: wakes one that waits for its turn at each volume. */
void volumes_left(uint32_t application);
/* A program has ended, or could not start: the port of a volume server is marked, and its program woken. */
void volumes_ended(uint32_t application);
