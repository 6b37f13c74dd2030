/* SPDX-License-Identifier: BSD-2-Clause */
/* One manager's cluster-manager/root/link/console-turn.c (a copy, so that it finds our root.h), under names with
 * INSTANCE. */
#include <skerry/ledger.h>

struct ledger *model_ledger(uint32_t i);

#define JOIN_(name, instance) name##_##instance
#define JOIN(name, instance)  JOIN_(name, instance)
#define console_turn_take     JOIN(console_turn_take, INSTANCE)
#define console_turn_end      JOIN(console_turn_end, INSTANCE)

#include "manager-console-turn.h"
