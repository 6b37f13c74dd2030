/* SPDX-License-Identifier: BSD-2-Clause */
/* A manager's record of the loss of the primary, which it reports to the primary's next life (state-recovery.h). */
#pragma once

#include "message.h"

/* The primary is lost, and will be started again. */
void loss_record_primary(const char *text);
/* This cluster fenced the primary and had it loaded again, which took so long. */
void loss_record_loaded(uint32_t fence_ms, uint32_t load_ms);
/* Returns the record if it was not reported yet, and clears it; all zero: there is none. */
struct report_recovery loss_record_take(void);
/* Reports that this cluster has started; `again`: to a later life of the primary. */
void report_boot(bool again);
