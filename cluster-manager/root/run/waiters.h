/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Callers that are answered later: each is held by a reply object that is kept
 * for it. Each program has WAITERS_EACH places of its own, so that none takes
 * those of others.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { WAITERS_EACH = 8 };

enum wait_kind { WAIT_NOTHING, WAIT_BARRIER, WAIT_SERVING, WAIT_SAMPLE, WAIT_CONSOLE, WAIT_CHILD, WAIT_STOPPED };

/* Makes what reply_holds() needs; panics where that fails. Called once, before the others. */
void waiters_init(void);

/* Returns a reply object for the next receive, or an error. Makes one where none is spare. */
int reply_take(void);
/* Takes back a reply object: answered, or one that reply_holds() has found empty. */
void reply_put(int reply);

/* Returns whether a thread waits for this reply: false after a message that was sent, not called. */
bool reply_holds(int reply);
/* Returns the bits of the bound notification that reply_holds() has taken since the last call; the caller must act on
 * them. */
uint64_t waiters_woken(void);

/*
 * `reply` holds a caller of `application` until `key` comes: a barrier's number, an application's index, 0 of samples,
 * the application itself of WAIT_CONSOLE, and with it its process's place of WAIT_CHILD and WAIT_STOPPED.
 * NO_RESOURCE: WAITERS_EACH threads of the application wait already.
 */
int waiter_add(enum wait_kind kind, uint32_t key, uint32_t application, int reply);
/* Answers all callers that wait for this with `error` (errors.h, positive). */
void waiters_wake(enum wait_kind kind, uint32_t key, uint64_t error);
/* The application's threads are suspended: none waits any more. */
void waiters_forget(uint32_t application);
