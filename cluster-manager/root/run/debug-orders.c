/* SPDX-License-Identifier: BSD-2-Clause */
#include <skerry/channel.h>
#include <skerry/ledger.h>
#include "console.h"
#include "map.h"
#include "debug-orders.h"
#include "report.h"
#include "root.h"

/* Random numbers (Marsaglia, Xorshift RNGs, 2003) over what other clusters read of this one's words. */
static void memory_spoil(uint64_t *memory, size_t bytes)
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
		memory_spoil((uint64_t *)(CHANNEL_VADDR + i * CHANNEL_STRIDE), CHANNEL_RINGS + 2 * CHANNEL_RING);
	memory_spoil((uint64_t *)&((struct ledger *)ROOT_LEDGER_VADDR)->manager, sizeof(struct ledger_manager));
}

static void report_granularity(uint32_t number, enum granularity target, int error)
{
	const struct report_granularity done = { .number = number, .fine = target, .error = (uint32_t)-error };
	report(REPORT_GRANULARITY, &done, sizeof(done));
}

void debug_orders_apply_map(void)
{
	enum granularity target = map_cluster(map, ROOT->cluster)->granularity;
	if (target == GRANULARITY_COARSE) /* as every kernel begins that has a choice */
		return;
	int error = control_granularity_wait(ROOT_SLOT_CONTROL, target);
	if (error)
		manager_panic("kernel %s cannot have the granularity that the map says (error %d)", ROOT->kernel_name,
		              -error);
	report_granularity(0, target, 0);
}

/* Again at each tick until the kernel says that the change has ended. */
static void granularity_poll(uint64_t word)
{
	static uint64_t obeyed;
	int target = ledger_granularity(word);
	if (target < 0 || target > GRANULARITY_FINE || word == obeyed)
		return;
	bool under_way;
	int error = control_granularity(ROOT_SLOT_CONTROL, (enum granularity)target, &under_way);
	if (!error && under_way)
		return;
	obeyed = word;
	report_granularity((uint32_t)word >> 8, (enum granularity)target, error);
}

void debug_orders_tick(void)
{
	static bool is_done;
	if (!ROOT->ledger_count || is_done)
		return;
	const struct ledger *own = (const struct ledger *)ROOT_LEDGER_VADDR;
	granularity_poll(atomic_load_explicit(&own->kernel.granularity, memory_order_relaxed));
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
