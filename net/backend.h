/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sockets that a program has: lwIP's within it (lwip/), or those of a stack
 * process beside it (remote/). Both stand behind the POSIX layer's one seam
 * (skerry/posix.h), where the operations are explained; their sockets are
 * files with the same operations.
 */
#pragma once

#include <stdbool.h>
#include <skerry/posix.h>

struct net_backend {
	int (*start)(void);               /* once, before the others; 0 or a negative errno */
	int (*socket)(struct file **out); /* a new TCP socket */
	int (*datagram)(struct file **out); /* a new UDP socket; null: it has none */
	bool (*poll)(void);
	uint64_t (*deadline)(void);
	bool (*prepare_sleep)(void);
};

extern const struct net_backend lwip_backend, remote_backend;
