/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/* From the processor where it has RDRAND; else mixed from the time, which is a weak seed. */
uint64_t random_word(void);
