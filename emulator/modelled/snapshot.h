/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of the whole machine as it is at one moment: QEMU's process, forked with all its threads. A copy goes on where
 * the machine was, in each bit, so that its clocks need no correction; memory is shared until one of the two writes.
 *
 * fork() copies the calling thread alone. Each other thread is stopped by a signal, whose frame on its stack has all
 * its registers; in the copy a new thread of the host, with the old one's thread-local storage, returns from that
 * signal.
 */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/* Orders for a copy: a line each, in this order. */
struct snapshot_request {
	uint64_t salt;
	char folder[PATH_MAX]; /* the copy's files and its monitor are there, by the names that the machine's have */
	char prices[PATH_MAX]; /* a machine file; empty: the prices that there are */
};

/*
 * Connects to the socket at `path`, and makes a copy for each request that comes from there; it answers each with the
 * copy's process id and, when that has ended, with its wait status, a line each. The process ends with the connection.
 * Returns in each copy, NULL, or in the machine, which must end then, what is wrong. `moved` is called in a copy for
 * each thread.
 */
const char *snapshot_serve(const char *path, struct snapshot_request *request, void (*moved)(pid_t was, pid_t is));
