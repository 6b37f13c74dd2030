/* SPDX-License-Identifier: BSD-2-Clause */
/* Level "off" for the explorer: two cores in a word of a set, so that three cross words. */
#pragma once

#define CORE_SHIFT 1 /* core_set.h */
#include "nothing.h"
