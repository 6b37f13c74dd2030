/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket ports (net/socket_port.h): between a program whose map entry names a
 * stack, and the stack process, which has the program's network port in its
 * place.
 */
#pragma once

#include <skerry/process.h>
#include "process.h"

/* Gives a program with a stack, or a stack, its end of their port. */
int sockets_attach(uint32_t application, struct process *p, struct process_info *info);
/* It has ended, or will never run: the other end hears of it. */
void sockets_ended(uint32_t application);
