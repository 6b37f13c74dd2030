/* SPDX-License-Identifier: BSD-2-Clause */
/* Assertions that must compile, and leave no code. */
#pragma once

#define kernel_assert(expression)      ((void)sizeof(!(expression)))
#define kernel_assert_deep(expression) ((void)sizeof(!(expression)))
#define assert_held(lock)              ((void)sizeof(lock))
#define assert_entered()               ((void)0)
#define assert_exclusive()             ((void)0)

/* In struct cpu. */
struct held_nothing {
};
#define HELD_RECORD struct held_nothing

#define LOCKING_HEADER "check/unrecorded.h"
