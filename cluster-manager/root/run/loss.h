/* SPDX-License-Identifier: BSD-2-Clause */
/* What another manager knows of the loss of the primary, and tells its next life (recount.h). */
#pragma once

#include "message.h"

/* The primary is lost, and will be started again. */
void loss_of_primary(const char *text);
/* This cluster had it fenced and loaded again, which took so long. */
void loss_loaded(uint32_t fence_ms, uint32_t load_ms);
/* Returns what is known of the loss that was not told yet; all zero: there is none. */
struct report_recounted loss_take(void);
/* Reports that this cluster has started; `again`: to a later life of the primary. */
void loss_report_boot(bool again);
