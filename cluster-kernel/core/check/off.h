/* SPDX-License-Identifier: BSD-2-Clause */
/* Level "off": assertions must compile, and leave no code. */
#pragma once

#define CORE_SHIFT 6  /* core_set.h */
#define GROUP_SHIFT 4 /* core_group.h */
#include "nothing.h"
