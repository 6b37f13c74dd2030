/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug images only. */
#include <skerry/require.h>
#include "loader.h"

void require_failed(const char *what) { panic("%s", what); }
