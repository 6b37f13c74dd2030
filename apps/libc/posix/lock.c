/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer.h"
#include "platform.h"

_Atomic int layer_held;

void layer_lock(void)
{
	while (atomic_exchange_explicit(&layer_held, 1, memory_order_acquire))
		platform_yield();
}

void layer_unlock(void)
{
	require(layer_is_locked());
	atomic_store_explicit(&layer_held, 0, memory_order_release);
}
