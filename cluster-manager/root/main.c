/* SPDX-License-Identifier: BSD-2-Clause */
/* The first task of a cluster: takes over what the kernel has and becomes the cluster's manager. */
#include <stdarg.h>
#include "channel.h"
#include "console.h"
#include "device.h"
#include "memory.h"
#include "modules.h"
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
#include "string.h"
#include "text.h"
#include "timer.h"

_Noreturn void root_main(void);

_Noreturn void manager_panic(const char *format, ...)
{
	static char buffer[512];
	struct text t = TEXT(buffer);
	va_list arguments;
	text_format(&t, "[manager %u] fatal: ", ROOT->cluster);
	va_start(arguments, format);
	text_vformat(&t, format, arguments);
	va_end(arguments);
	text_format(&t, "\n");
	for (size_t i = 0; i < t.length; i++)
		debug_put(buffer[i]);
	for (;;)
		tcb_suspend(ROOT_SLOT_TCB);
}

/* What the compiler's stack protector in libfdt.a reads lies at FS base + 0x28. */
static void set_thread_pointer(void)
{
	static _Alignas(16) uint64_t block[8];
	block[0] = (uint64_t)block;
	block[5] = 0x9d3f6a1c5be70200ull;
	if (tcb_set_tls(ROOT_SLOT_TCB, (uint64_t)block))
		manager_panic("no thread pointer");
}

static void read_map(void)
{
	const struct module module = module_find("map");
	const char *culprit;
	if (module.index < 0)
		manager_panic("there is no module \"map\"");
	const char *wrong = map_parse(&map, module.data, module.size, &culprit);
	if (wrong)
		manager_panic("the cluster map: %s: %s", culprit, wrong);
}

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
	if (frame_address(ROOT_SLOT_STAT, &body.stat))
		manager_panic("where the kernel counts is unknown");
	report(REPORT_BOOT, &body, sizeof(body));
	stats_take(STATS_START);
	stats_report();
}

_Noreturn void root_main(void)
{
	set_thread_pointer();
	if (ROOT->magic != ROOT_INFO_MAGIC)
		manager_panic("the kernel speaks another version of root_info");
	slots_init();
	memory_init();
	modules_init();
	read_map();
	console_init();
	if (is_primary()) {
		results_init();
		processor_report();
	}

	int notification = memory_object(OBJECT_NOTIFICATION, 0);
	if (notification < 0 || tcb_bind(IPC, ROOT_SLOT_TCB, (uint64_t)notification))
		manager_panic("no notification");
	service_init();
	device_init();
	power_init();
	channels_init(badged(notification, WAKE_CHANNEL));
	timer_init(badged(notification, WAKE_TIMER));
	ports_init();
	report_boot();
	if (is_primary())
		run_start();
	service_loop();
}
