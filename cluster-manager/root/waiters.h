/* SPDX-License-Identifier: BSD-2-Clause */
/* Callers who are answered later: each is held by a reply object that is kept for it. */
#pragma once

#include <stdint.h>

enum wait_kind { WAIT_NOTHING, WAIT_BARRIER, WAIT_SERVING, WAIT_SAMPLE };

/* The reply object for the next receive. Makes one when none is at hand; panics when that fails. */
int reply_take(void);
/* A reply object that holds nobody. */
void reply_put(int reply);

/* `reply` holds a caller of `application` until `key` comes: a barrier's number, an application's index, 0 of samples. */
int waiter_add(enum wait_kind kind, uint32_t key, uint32_t application, int reply);
/* Answers all who wait for this with `error` (errors.h, positive). */
void waiters_wake(enum wait_kind kind, uint32_t key, uint64_t error);
/* The application's threads are suspended: nobody waits any more. */
void waiters_forget(uint32_t application);
