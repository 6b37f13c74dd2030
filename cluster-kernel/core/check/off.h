/* SPDX-License-Identifier: BSD-2-Clause */
/* Level "off": assertions must compile, and leave no code. */
#pragma once

#define CORE_SHIFT 6 /* core_set.h */
#include "nothing.h"
