/* SPDX-License-Identifier: BSD-2-Clause */
/* File ports (skerry/file_port.h): between a program and the volume server of each of its volumes. */
#pragma once

#include <skerry/process.h>
#include "grant.h"

/* Gives a program the ports of its volumes, or a volume server its port, for each life. After ports_attach(). */
int volumes_attach(uint32_t application, struct process *p, struct process_info *info);
/* A program has ended, or could not start: the port of a volume server is marked, and its program woken. */
void volumes_ended(uint32_t application);
