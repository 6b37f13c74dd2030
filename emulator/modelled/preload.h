/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between preload.c, which is put in front of the C library in QEMU's process, and the plugin, which QEMU loads later:
 * what QEMU asks the C library for, and the plugin may answer.
 */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

typedef int (*poll_fn)(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask);
typedef int (*cond_wait_fn)(pthread_cond_t *cond, pthread_mutex_t *mutex);

/* The plugin's. */
struct hooks {
	bool (*monotonic)(struct timespec *time); /* CLOCK_MONOTONIC, if the caller is to see another than the host's */
	poll_fn poll;
	cond_wait_fn cond_wait;
	void (*cond_wake)(pthread_cond_t *cond);   /* before it is signalled or broadcast */
	void (*write)(int file, size_t size);      /* before bytes are written */
};

/* The C library's own functions. */
struct originals {
	poll_fn poll;
	cond_wait_fn cond_wait;
	int (*cond_signal)(pthread_cond_t *cond), (*cond_broadcast)(pthread_cond_t *cond);
	ssize_t (*write)(int file, const void *bytes, size_t size);
};

/* The plugin looks for this name; from then on its hooks are called. Returns what they stand in front of. */
#define PRELOAD_TAKE "skerry_preload_take"
typedef const struct originals *(*preload_take_fn)(const struct hooks *hooks);
