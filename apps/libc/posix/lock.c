/* SPDX-License-Identifier: BSD-2-Clause */
#include "family.h"
#include "layer.h"
#include "platform.h"

#ifdef LAYER_CORES

struct lock layer_mutex;

void layer_lock(void)
{
	if (!lock_try(&layer_mutex)) {
		calls_enter(); /* a handler must not run while the lock is this thread's to pass on */
		lock_wait(&layer_mutex, thread_self()->index);
		calls_leave();
	}
}

void layer_unlock(void)
{
	require(layer_is_locked());
	lock_give(&layer_mutex);
}

#else

_Atomic int layer_held;

void layer_lock(void)
{
	family_enter();
	while (atomic_exchange_explicit(&layer_held, 1, memory_order_acquire))
		platform_yield();
}

void layer_unlock(void)
{
	require(layer_is_locked());
	atomic_store_explicit(&layer_held, 0, memory_order_release);
	family_leave();
}

#endif
