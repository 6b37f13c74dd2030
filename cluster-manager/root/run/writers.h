/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The output of this cluster's programs (MANAGER_WRITE, MANAGER_RESULT). At most WRITERS_WINDOW bytes of it are queued
 * for the ports. Text beyond that stays here, in a buffer of its program, while the writer waits for its answer; it
 * leaves line by line, programs in turn. The primary reports to the other managers how much of their text it has
 * written (ORDER_WRITTEN).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <skerry/process.h>

enum {
	WRITERS_WINDOW = 4096,
	/* the primary: so much of another cluster's may wait; a manager's own lines know no window */
	WRITERS_OWED_MAX = 65536,
};

/*
 * 0: it was passed on. 1: it is kept, and WAIT_CONSOLE with the application as key comes when it has been.
 * NO_RESOURCE: WAITERS_EACH texts of the application are kept already; nothing of this one is.
 */
int writers_add(uint32_t application, enum manager_request label, const char *text, size_t length);

/* The application ended: passes on all that it has written. */
void writers_flush(uint32_t application);

/* Passes on what there is room for; after WAKE_OUTPUT, at every tick, and when the primary has written. */
void writers_pass_on(void);

/* The primary has written these bytes of the texts that were sent to it: sends what there is room for now. */
void writers_written(uint32_t bytes);
/* The primary is lost: nothing waits for it any more. */
void writers_primary_lost(void);

/* The primary: a text of another cluster came. False: that cluster was not allowed to send it yet. */
bool writers_came(uint32_t cluster, size_t length);
/* A cluster has started again: what its former life was owed is forgotten. */
void writers_cluster_restarted(uint32_t cluster);
/* A report of another kind came that makes lines of results; `counters`: such as come again. The same. */
bool writers_report_came(uint32_t cluster, size_t size, bool counters);
