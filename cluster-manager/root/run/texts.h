/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and results of programs on their way to the ports: the primary publishes
 * them, the other managers send them to it. They do not go through the mailbox,
 * since writers.h bounds them by what the ports and the primary have written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "message.h"

/* Passes a line (REPORT_CONSOLE) or a result (REPORT_RESULT) of an application, or of ABOUT_MANAGER, on. */
void text_pass(enum message_type type, uint32_t application, const char *text, size_t length);

/* The primary: publishes a text of this cluster. False: it may not send that. */
bool text_publish(uint32_t cluster, enum message_type type, const struct about_application *about, const char *text,
		  size_t length);

/* Returns whether texts go to the primary by a channel: this manager is another one, and the primary is alive. */
bool texts_go_to_primary(void);

/* Returns how much a text of this length counts against the window of writers.h. */
uint32_t text_cost(size_t length);
/* Returns the cost of all texts that were sent to the primary and that it has not written. */
uint32_t texts_sent(void);
/* The primary has written so many bytes of them; UINT32_MAX: all. */
void texts_written(uint32_t bytes);
