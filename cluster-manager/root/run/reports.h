/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports of all clusters, on the primary: they are checked, published, and passed to the run. */
#pragma once

#include <stdbool.h>
#include "message.h"

/* `body` is private memory, aligned to 8 bytes. False: it cannot be believed, and is ignored. */
bool report_take(uint32_t cluster, enum message_type type, const void *body, size_t size);
