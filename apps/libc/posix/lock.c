/* SPDX-License-Identifier: BSD-2-Clause */
#include "layer.h"
#include "platform.h"

_Atomic int layer_held;

void layer_lock_wait(void)
{
	do
		platform_yield();
	while (atomic_exchange_explicit(&layer_held, 1, memory_order_acquire));
}
