/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock seam (lock.h) as the regime defines it: what locks a core holds is not recorded. */
#pragma once

#include "../kernel.h"
