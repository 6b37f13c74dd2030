/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the watching thread (watch.S) and the main thread: offsets of struct watch. */
#pragma once

#define WATCH_ACTIVE  0
#define WATCH_DELAY   8
#define WATCH_LONGEST 16
#define WATCH_WAKES   24
#define WATCH_BEFORE  32
