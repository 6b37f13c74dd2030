/* SPDX-License-Identifier: BSD-2-Clause */
/* The first task of a cluster: takes over what the kernel has and becomes the cluster's manager. */
#include <string.h>
#include "cables.h"
#include "channel.h"
#include "console.h"
#include "device.h"
#include "map.h"
#include "memory.h"
#include "modules.h"
#include "output.h"
#include "ports.h"
#include "power.h"
#include "report.h"
#include "processor.h"
#include "results.h"
#include "root.h"
#include "run.h"
#include "service.h"
#include "slots.h"
#include "stats.h"
#include "timer.h"
#include "vspace.h"
#include "watch.h"

_Noreturn void root_main(void);

/* One of the badges of the main thread's bound notification, in a slot of its own. */
static int badged(int notification, uint64_t badge)
{
	int slot = slots_take(1);
	int error = slot < 0 ? slot : cnode_mint(IPC, ROOT_SLOT_CNODE, (uint64_t)slot, ROOT_SLOT_CNODE,
						 (uint64_t)notification, RIGHT_ALL, badge);
	if (error)
		manager_panic("a notification cannot be badged (error %d)", -error);
	return slot;
}

static void report_boot(void)
{
	struct report_boot body = { .tsc = read_tsc(), .tsc_hz = ROOT->tsc_hz, .cores = ROOT->cpu_count };
	memcpy(body.kernel, ROOT->kernel_name, sizeof(body.kernel));
	body.ledger = ROOT->ledger_count ? ROOT->ledger[0].base : 0;
	if (frame_address(ROOT_SLOT_STAT, &body.stat))
		manager_panic("where the kernel counts is unknown");
	report(REPORT_BOOT, &body, sizeof(body));
	stats_take(STATS_START);
	stats_report();
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
	output_init(is_primary() ? ROOT->console_port : 0, is_primary() ? ROOT->results_port : 0);
	if (is_primary()) {
		results_init();
		processor_report();
	}

	int notification = memory_object(OBJECT_NOTIFICATION, 0);
	if (notification < 0 || tcb_bind(IPC, ROOT_SLOT_TCB, (uint64_t)notification))
		manager_panic("no notification");
	service_init(notification);
	output_start(badged(notification, WAKE_OUTPUT));
	device_init();
	power_init();
	channels_init(badged(notification, WAKE_CHANNEL));
	watch_init();
	timer_init(badged(notification, WAKE_TIMER));
	ports_init();
	cables_init();
	report_boot();
	if (is_primary())
		run_start();
	service_loop();
}
