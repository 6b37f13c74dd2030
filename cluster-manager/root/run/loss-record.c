/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <skerry/format.h>
#include "loss-record.h"
#include "map.h"
#include "report.h"
#include "root.h"
#include "watch.h"

static uint64_t lost_at; /* TSC; 0: the primary was not lost, or its loss was reported */
static struct report_recovery loss_record;

void report_boot(bool again)
{
	struct report_boot body = { .tsc = read_tsc(), .tsc_hz = ROOT->tsc_hz, .cores = ROOT->cpu_count,
	                            .again = again };
	memcpy(body.kernel, ROOT->kernel_name, sizeof(body.kernel));
	body.ledger = ROOT->ledger_count ? ROOT->ledger[0].base : 0;
	if (frame_address(ROOT->stat_slot, &body.stat))
		manager_panic("where the kernel counts is unknown");
	body.core_words = map_cluster(map, ROOT->cluster)->spare_cores ? ROOT->core_control : 0;
	body.memory_words = ROOT->memory_control;
	report(REPORT_BOOT, &body, sizeof(body));
}

void loss_record_primary(const char *text)
{
	const struct watch_verdict *v = watch_verdict(map->primary);
	struct text t = TEXT(loss_record.text);
	loss_record = (struct report_recovery){ .reason = v ? v->reason : WATCH_ALIVE,
	                                        .core = v ? v->core : WATCH_NO_CORE,
	                                        .silent_ms = v ? v->silent_ms : 0 };
	text_format(&t, "%s", text);
	lost_at = read_tsc();
}

void loss_record_loaded(uint32_t fence_ms, uint32_t load_ms)
{
	loss_record.is_ours = 1;
	loss_record.fence_ms = fence_ms;
	loss_record.load_ms = load_ms;
}

struct report_recovery loss_record_take(void)
{
	struct report_recovery record = loss_record;
	record.lost_ms = lost_at ? (uint32_t)((read_tsc() - lost_at) / (ROOT->tsc_hz / 1000)) + 1 : 0;
	loss_record = (struct report_recovery){ 0 };
	lost_at = 0;
	return record;
}
