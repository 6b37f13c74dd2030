/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/stubs.h>
#include "message.h"

/* Describes the fault of a thread of the application; `m` is the kernel's message about it. */
struct report_fault fault_of(uint32_t application, const struct message *m);
/* The primary: to the console and the results. */
void fault_publish(const struct report_fault *fault);
/* Returns Linux's signal for a fault, FAULT_*, and the vector of an exception (Intel SDM volume 3, table 6-1). */
uint32_t fault_signal(uint64_t fault, uint64_t vector);
