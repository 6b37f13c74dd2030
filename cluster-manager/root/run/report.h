/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends reports to the primary and orders to managers; what is for the own manager goes to its mailbox. */
#pragma once

#include "message.h"

/* Sends a report to the primary. Returns 0, or an error: it is lost. */
int report(enum message_type type, const void *body, size_t size);
/* report() of a struct about_application. */
int report_about(enum message_type type, uint32_t application, uint32_t value);

/* Sends an order to the manager of one cluster. Only the primary does. Returns 0, or an error: it is lost. */
int order(uint32_t cluster, enum message_type type, const void *body, size_t size);
/* The same to all managers, this one included. */
void order_all(enum message_type type, const void *body, size_t size);
