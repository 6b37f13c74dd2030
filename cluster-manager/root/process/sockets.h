/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Socket ports (skerry/socket_port.h): between a program whose map entry names a
 * stack, and the stack process, which has the program's network port in its
 * place.
 */
#pragma once

#include <skerry/process.h>
#include "grant.h"

/* Gives a program with a stack, or a stack, its end of their port. */
int sockets_attach(uint32_t application, struct process *p, struct process_info *info);
/* Marks this end as ended for the other one, or as never to run. */
void sockets_ended(uint32_t application);
/* Returns whether this side has ended before: it and its peer start together, at a port that is new. */
bool sockets_used(uint32_t application);
/* The application at the other end, or -1: neither a program with a stack nor a stack. */
int sockets_peer(uint32_t application);
