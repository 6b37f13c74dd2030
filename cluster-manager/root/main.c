/* SPDX-License-Identifier: BSD-2-Clause */
/* The first task of a cluster: takes over what the kernel has and becomes the cluster's manager. */
#include <string.h>
#include "cables.h"
#include "channel.h"
#include "console.h"
#include "console-turn.h"
#include "device.h"
#include "loss-record.h"
#include "map.h"
#include "memory.h"
#include "memory-moves.h"
#include "modules.h"
#include "debug-orders.h"
#include "message.h"
#include "output.h"
#include "ports.h"
#include "power.h"
#include "processor.h"
#include "results.h"
#include "root.h"
#include "run.h"
#include "sample.h"
#include "service.h"
#include "slots.h"
#include "stats.h"
#include "timer.h"
#include "vspace.h"
#include "watch.h"

_Noreturn void root_main(void);

/* One of the badges of the main thread's bound notification, in a slot of its own. */
static int badged_notification(int notification, uint64_t badge)
{
	int slot = slots_take(1);
	int error = slot < 0 ? slot : cnode_mint(IPC, ROOT_SLOT_CNODE, (uint64_t)slot, ROOT_SLOT_CNODE,
						 (uint64_t)notification, RIGHT_ALL, badge);
	if (error)
		manager_panic("a notification cannot be badged (error %d)", -error);
	return slot;
}

_Noreturn void root_main(void)
{
	manager_before_panic = output_drain; /* what was printed before comes before */
	if (ROOT->magic != ROOT_INFO_MAGIC)
		manager_panic("the kernel speaks another version of root_info");
	slots_init();
	memory_init();
	slots_table(own_memory(slots_table_size()));
	modules_init();
	const struct module module = module_find("map");
	if (module.index < 0)
		manager_panic("there is no module \"map\"");
	map_init(module.data, module.size);
	sample_begin();
	output_init(is_primary() ? ROOT->console_port : 0, is_primary() ? ROOT->results_port : 0);
	if (is_primary()) {
		results_init();
		if (ROOT->life <= 1)
			processor_report();
	}

	int notification = memory_object(OBJECT_NOTIFICATION, 0);
	if (notification < 0 || tcb_bind(IPC, ROOT_SLOT_TCB, (uint64_t)notification))
		manager_panic("no notification");
	service_init(notification);
	output_start(badged_notification(notification, WAKE_OUTPUT), console_turn_take, console_turn_end);
	device_init();
	power_init();
	channels_init(badged_notification(notification, WAKE_CHANNEL), sizeof(struct report_brief));
	watch_init();
	timer_init(badged_notification(notification, WAKE_TIMER), badged_notification(notification, WAKE_ALARM));
	ports_init();
	cables_init();
	memory_moves_begin();
	if (is_primary() && ROOT->life > 1) {
		debug_orders_apply_map();
		run_resume(); /* it reports its boot when it knows what the others do */
	} else {
		report_boot(false);
		stats_take(STATS_START);
		stats_report();
		debug_orders_apply_map();
		if (is_primary())
			run_start();
	}
	service_loop();
}
