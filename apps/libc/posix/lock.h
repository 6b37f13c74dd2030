/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/* The layer's lock itself, for platform_thread_end(), which releases it without a stack. */
extern _Atomic int layer_held;
