/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/channel.h>
#include <skerry/ledger.h>
#include "console.h"
#include "obey.h"
#include "root.h"

/* Random numbers (Marsaglia, Xorshift RNGs, 2003) over what other clusters read of this one's words. */
static void spoil(uint64_t *memory, size_t bytes)
{
	static uint64_t x = 88172645463325252ull;
	for (size_t i = 0; i < bytes / sizeof(*memory); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		((volatile uint64_t *)memory)[i] = x;
	}
}

static void spoil_all(void)
{
	for (uint32_t i = 0; i < ROOT->channel_count; i++)
		spoil((uint64_t *)(CHANNEL_VADDR + i * CHANNEL_STRIDE), CHANNEL_RINGS + 2 * CHANNEL_RING);
	spoil((uint64_t *)&((struct ledger *)ROOT_LEDGER_VADDR)->manager, sizeof(struct ledger_manager));
}

void obey_tick(void)
{
	static bool is_done;
	if (!ROOT->ledger_count || is_done)
		return;
	const struct ledger *own = (const struct ledger *)ROOT_LEDGER_VADDR;
	switch (ledger_order(atomic_load_explicit(&own->kernel.order, memory_order_relaxed))) {
	case LEDGER_ORDER_MANAGER:
		__builtin_trap();
	case LEDGER_ORDER_GARBAGE:
		is_done = true;
		spoil_all();
		break;
	default:
		break;
	}
}
