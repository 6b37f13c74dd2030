/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Annotations of the object locks for clang's -Wthread-safety (a test runs it): which functions take and
 * release a lock, and which must be called with one held. It follows every path through a function, but not a lock
 * through a pointer that two names lead to. Members cannot be annotated: in C, clang does not find the lock beside
 * them.
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
#define HELD(lock)     ANNOTATION(assert_capability(lock)) /* asserts that the lock is held */
#define NAMES(lock)    ANNOTATION(lock_returned(lock))
/* For a function that takes a lock on some of its paths only. */
#define NO_LOCK_ANALYSIS ANNOTATION(no_thread_safety_analysis)
