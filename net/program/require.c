/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug images only. */
#include <skerry/require.h>
#include "program.h"

void require_failed(const char *what) { program_fail(what, 0); }
