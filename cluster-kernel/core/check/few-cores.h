/* SPDX-License-Identifier: BSD-2-Clause */
/* Level "off" for the explorer: two cores in a word of a set and in a group, so that three cross both. */
#pragma once

#define CORE_SHIFT 1  /* core_set.h */
#define GROUP_SHIFT 1 /* core_group.h */
#include "nothing.h"
