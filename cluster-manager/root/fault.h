/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <skerry/stubs.h>
#include "report.h"

/* A thread of the application faulted: ends the application and reports. */
void fault_handle(uint32_t application, const struct message *m);
/* The primary: to the console and the results. */
void fault_publish(const struct report_fault *fault);
