/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/ledger.h>
#include "root.h"
#include "signs.h"

static struct ledger_manager *page; /* null before the main loop begins */

void signs_begin(void)
{
	if (!ROOT->ledger_count)
		return;
	struct ledger_manager *own = &((struct ledger *)ROOT_LEDGER_VADDR)->manager;
	atomic_store_explicit(&own->magic, LEDGER_MAGIC, memory_order_relaxed);
	__atomic_store_n(&page, own, __ATOMIC_RELEASE);
}

bool signs_are_spoilt(void) { return page && atomic_load_explicit(&page->magic, memory_order_relaxed) != LEDGER_MAGIC; }

/* Each has one author. */
static void counter_grow(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

void sign_pass(void)
{
	if (page)
		counter_grow(&page->passes);
}

void sign_tick(void)
{
	struct ledger_manager *own = __atomic_load_n(&page, __ATOMIC_ACQUIRE);
	if (own)
		counter_grow(&own->ticks);
}
