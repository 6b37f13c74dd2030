/* SPDX-License-Identifier: BSD-2-Clause */
/* The cores that an emulated machine has at most, as a map has (skerry/map_limits.h). */
#pragma once

enum { MOST_CORES = 1024 };
