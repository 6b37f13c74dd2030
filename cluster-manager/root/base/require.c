/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug images only. */
#include <skerry/require.h>
#include "root.h"

void require_failed(const char *what) { manager_panic("%s", what); }
