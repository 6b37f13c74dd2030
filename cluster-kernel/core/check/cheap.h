/* SPDX-License-Identifier: BSD-2-Clause */
/* Level "cheap": what takes constant time, and the record of held locks (locking.h). */
#pragma once

#define CORE_SHIFT 1  /* core_set.h: three cores have two words */
#define GROUP_SHIFT 1 /* core_group.h: ... and two groups */
#include "held.h"

#define kernel_assert(expression)      ((expression) ? (void)0 : assertion_failed(#expression, __FILE__, __LINE__))
#define kernel_assert_deep(expression) ((void)sizeof(!(expression)))
#define assert_held(lock)              held_check(lock, #lock, (struct place){ __FILE__, __LINE__ })
#define assert_entered()               held_check_entered((struct place){ __FILE__, __LINE__ })
#define assert_exclusive()             held_check_exclusive((struct place){ __FILE__, __LINE__ })

#define HELD_RECORD    struct held
#define LOCKING_HEADER "check/locking.h"
