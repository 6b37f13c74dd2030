/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What clang's -Wthread-safety checks of the object locks (check-locks.sh runs it): which functions take and release a
 * lock, and which are called with one held. It follows every path through a function, but not a lock through a pointer
 * that two names lead to. Members cannot be annotated: in C, clang does not find the lock beside them.
 */
#pragma once

#ifdef __clang__
#define ANNOTATION(attribute) __attribute__((attribute))
#else
#define ANNOTATION(attribute)
#endif

#define IS_LOCK        ANNOTATION(capability("lock"))
#define TAKES(...)     ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASES(...)  ANNOTATION(release_capability(__VA_ARGS__))
#define NEEDS(...)     ANNOTATION(requires_capability(__VA_ARGS__))
#define HELD(lock)     ANNOTATION(assert_capability(lock)) /* the function ends the cluster where it is not */
#define NAMES(lock)    ANNOTATION(lock_returned(lock))
/* Of a function that takes a lock on some of its paths only. */
#define NO_LOCK_ANALYSIS ANNOTATION(no_thread_safety_analysis)
